"""Writes the generated files of the SDKs, and the tables of their pages, from docs/openapi.json: ./dev sdkgen, or python3 tools/sdkgen."""
import importlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path[:0] = [str(HERE), str(HERE.parent)]

import devargs  # noqa: E402
import model  # noqa: E402

LANGUAGES = ("typescript", "python", "rust", "c", "go", "docs")


def emitters(wanted):
    return [importlib.import_module(f"emit_{name}") for name in wanted if (HERE / f"emit_{name}.py").exists()]


def parser():
    found = devargs.Parser("sdkgen", "Write the generated files of the SDKs from docs/openapi.json.", "./dev sdkgen", "./dev sdkgen --check", "./dev sdkgen rust c")
    found.add_argument("--check", action="store_true", help="write nothing, name the files that are not current")
    found.add_argument("language", nargs="*", metavar="LANGUAGE", help=f"one of: {' '.join(LANGUAGES)} (default: all)")
    return found


def main():
    args = parser().parse_args()
    for name in args.language:
        if name not in LANGUAGES:
            parser().error(f"unknown language {name!r}{devargs.nearest(name, LANGUAGES)}")
    table, stale = model.read(ROOT / "docs" / "openapi.json"), 0
    for emitter in emitters(args.language or LANGUAGES):
        for name, text in emitter.files(table).items():
            path = ROOT / name
            if path.exists() and path.read_text(encoding="utf-8") == text:
                continue
            stale += 1
            if args.check:
                print(f"{name} is not what docs/openapi.json makes: run ./dev sdkgen")
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    return 1 if args.check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
