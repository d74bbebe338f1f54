"""The commands of ./dev: their options, and the steps each of them is. A step is a command line; the last one takes the place of this
process. Steps that begin with ./dev are what the shell script does itself: `need GROUP…` installs missing packages, `configure FOLDER`
runs meson where it has to look again, `compile [TARGET…]` builds build/.

A new command is a row of COMMANDS: a function that makes its parser, and one that makes steps of what was parsed."""
import importlib
import os
import pathlib
import shlex
import subprocess
import sys

from devargs import Parser, nearest

ROOT = pathlib.Path(__file__).resolve().parent.parent
# As in packages() of ./dev, which has the packages of each.
GROUPS = ("build", "test", "test-all", "dist", "deb", "fuzz", "bench", "docker", "vm", "readme")
FUZZ_OPTIONS = ("-Dfuzz=true", "-Db_lundef=false", "-Db_sanitize=address,undefined", "-Db_pie=false")
BENCH = "build/bench/iii-bench"


def need(*groups):
    return ["./dev", "need", *groups]


def build(*targets):
    return ["./dev", "compile", *targets]


def python(tool, rest):
    return [sys.executable, tool, *rest]


def of_tool(module):
    """The parser of a program in tools/, which reads the same options again."""
    return lambda: importlib.import_module(module).parser()


def setup_parser():
    found = Parser("setup", "Install the packages that are missing. Every other command installs its own.", "./dev setup", "./dev setup build deb")
    found.add_argument("group", nargs="*", metavar="GROUP", help=f"one of: {' '.join(GROUPS)} (default: build test)")
    return found


def setup_steps(args, rest):
    for group in args.group:
        if group not in GROUPS:
            setup_parser().error(f"unknown group {group!r}{nearest(group, GROUPS)}")
    return [need(*(args.group or ("build", "test")))]


def build_parser():
    found = Parser("build", "Build build/iii and build/iii-sandbox.", "./dev build", "./dev build iii", "./dev build bench/iii-bench")
    found.add_argument("target", nargs="*", metavar="TARGET", help="targets of ninja (default: everything)")
    return found


def serve_parser():
    return Parser("serve", "Build, then run the server: REST on 127.0.0.1:3111, engine on 127.0.0.1:49134.\n"
                  "All other options are the server's: docs/configuration.md has them, and `build/iii serve --help`.", "./dev serve",
                  "./dev serve --port 0 --engine-port 0 --data-dir /tmp/iii --log-level debug")


def test_steps(args, rest):
    return [need("test"), *([need("test-all")] if args.all or "packages" in args.only else []), python("tools/run_tests.py", rest)]


def dist_steps(args, rest):
    from dist import WITH_SERVER
    is_server = any(kind in WITH_SERVER for kind in args.only) and args.binary == ROOT / "build" / "iii"
    return [need("build", "dist"), *([build()] if is_server else []), python("tools/dist.py", rest)]


def bench_parser():
    found = Parser("bench", "Measure the server, a bare floor in C and the peers on this host in the same run; print ratios, write build/bench.json.",
                   "./dev bench", "./dev bench --quick --with-docker", "./dev bench --only create,exec_true", "./dev bench --backend=docker",
                   "./dev bench --pull --mb 100", "./dev bench --neighbours --only inotify,ptys")
    found.add_argument("--quick", action="store_true", help="3 rounds instead of 10")
    found.add_argument("--only", metavar="ROW,ROW", help="these rows only; docs/benchmarks.md has all")
    found.add_argument("--backend", choices=("native", "docker", "qemu"), default="native", help="what the server runs sandboxes on (default: native)")
    found.add_argument("--with-docker", action="store_true", help="a Docker engine of the benchmark's own as a further peer of the native backend")
    found.add_argument("--bin", metavar="FILE", help="server to measure (default: build/iii)")
    found.add_argument("--floor", metavar="FILE", help="program of the floor (default: build/bench/iii-floor)")
    found.add_argument("--out", metavar="FILE", help="where the numbers go (default: build/bench.json)")
    found.add_argument("--pull", action="store_true", help="instead: pull and unpack of an image against skopeo and umoci; build/bench-pull.json")
    found.add_argument("--neighbours", action="store_true", help="instead: calls of one sandbox beside another that takes all of a kernel resource; build/bench-neighbours.json")
    found.add_argument("--rounds", type=int, metavar="N", help="rounds of --pull (default: 5)")
    found.add_argument("--mb", type=int, metavar="N", help="size of --pull's image (default: 300)")
    return found


def bench_steps(args, rest):
    def given(*names):
        return [word for name in names if getattr(args, name) is not None for word in (f"--{name}", str(getattr(args, name)))]

    refuse = bench_parser().error
    if args.pull:
        wrong = next((name for name in ("quick", "only", "with_docker", "floor", "out", "neighbours") if getattr(args, name)), args.backend != "native" and "backend")
        if wrong:
            refuse(f"--{wrong.replace('_', '-')} does not go with --pull")
        return [need("bench", "test"), build(), python("bench/pull.py", given("rounds", "mb") + (["--binary", args.bin] if args.bin else []))]
    if args.neighbours:
        wrong = next((name for name in ("quick", "with_docker", "floor", "out", "rounds", "mb") if getattr(args, name)), args.backend != "native" and "backend")
        if wrong:
            refuse(f"--{wrong.replace('_', '-')} does not go with --neighbours")
        return [need("bench", "test"), build(), python("bench/neighbours.py", given("only") + (["--binary", args.bin] if args.bin else []))]
    if given("rounds", "mb"):
        refuse(f"{given('rounds', 'mb')[0]} goes with --pull only")
    if args.with_docker and args.backend == "qemu":
        refuse("--with-docker is a peer of the native backend, not of qemu")
    run = [BENCH, *(["--quick"] if args.quick else []), *given("only", "bin", "floor", "out")]
    run += ["--backend", args.backend] if args.backend != "native" else []
    if args.with_docker or args.backend == "docker":
        groups, run = ("bench", "docker"), python("bench/with_docker.py", run)
    elif args.backend == "qemu":
        groups, run = ("bench", "vm"), python("bench/with_vm.py", run)
    else:
        groups = ("bench",)
    return [need(*groups), build(), build("bench/iii-bench", "bench/iii-floor"), run]


def fmt_parser():
    return Parser("fmt", "Lay out the C files with clang-format.", "./dev fmt")


def record_parser():
    return Parser("record", "Make the terminal recording of the README (docs/pictures/tour.svg) from a real run.", "./dev record")


COMMANDS = {
    "setup": (setup_parser, setup_steps),
    "build": (build_parser, lambda args, rest: [need("build"), build(*args.target)]),
    "serve": (serve_parser, lambda args, rest: [need("build"), build(), ["build/iii", "serve", *rest]]),
    "test": (of_tool("run_tests"), test_steps),
    "dist": (of_tool("dist"), dist_steps),
    "bench": (bench_parser, bench_steps),
    "sdkgen": (of_tool("sdkgen.__main__"), lambda args, rest: [python("tools/sdkgen", rest)]),
    "lint": (of_tool("lint"), lambda args, rest: [need("test"), python("tools/lint.py", rest)]),
    "fmt": (fmt_parser, lambda args, rest: [need("test"), python("tools/lint.py", ["--only", "layout", "--fix"])]),
    "fuzz": (of_tool("fuzz"), lambda args, rest: [need("fuzz"), ["env", "CC=clang", "./dev", "configure", "build/fuzz", *FUZZ_OPTIONS],
                                                  python("tools/fuzz.py", rest)]),
    "record": (record_parser, lambda args, rest: [need("build"), build(), python("tools/record.py", [])]),
    "mutate": (of_tool("mutate"), lambda args, rest: [need("test"), python("tools/mutate.py", rest)]),
}
PASSES_ON = ("serve",)  # options that ./dev does not know are those of the program


def overview():
    print("usage: ./dev COMMAND [OPTIONS]\n\ncommands:")
    for name, (parser, _) in COMMANDS.items():
        print(f"  {name:8}{parser().description.splitlines()[0]}")
    print("\n./dev COMMAND --help has the options and examples of each. Every command takes --print-command: print its steps, run none.")


def steps(name, words):
    parser, make = COMMANDS[name][0](), COMMANDS[name][1]
    parser.add_argument("--print-command", action="store_true", help="print the steps of this command, run none")
    if name in PASSES_ON:
        args, rest = parser.parse_known_args(words)
    else:
        args, rest = parser.parse_args(words), [word for word in words if word != "--print-command"]
    return make(args, rest), args.print_command


def main(words):
    name, words = (words[0], words[1:]) if words else ("help", [])
    if name in ("help", "-h", "--help"):
        name, words = (words[0], ["--help"]) if words else (None, [])
    if name is None:
        return overview()
    if name not in COMMANDS:
        print(f"dev: there is no command {name!r}{nearest(name, COMMANDS)}\n./dev help lists them", file=sys.stderr)
        sys.exit(2)
    todo, is_printed = steps(name, words)
    if is_printed:
        return print("\n".join(shlex.join(step) for step in todo))
    for step in todo[:-1]:
        code = subprocess.run(step, check=False).returncode
        if code:
            sys.exit(code)
    sys.stdout.flush()
    os.execvp(todo[-1][0], todo[-1])


if __name__ == "__main__":
    os.chdir(ROOT)
    main(sys.argv[1:])
