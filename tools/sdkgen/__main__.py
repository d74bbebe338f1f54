"""python3 tools/sdkgen [--check] [LANGUAGE...]: writes the generated files of the SDKs from docs/openapi.json.

--check writes nothing and names the files that are not current (exit code 1)."""
import argparse
import importlib
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE))

import model  # noqa: E402

LANGUAGES = ("typescript", "python", "rust", "c")


def emitters(wanted):
    return [importlib.import_module(f"emit_{name}") for name in wanted if (HERE / f"emit_{name}.py").exists()]


def main():
    parser = argparse.ArgumentParser(prog="sdkgen", description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("language", nargs="*", metavar="LANGUAGE", help=" ".join(LANGUAGES))
    args = parser.parse_args()
    unknown = [name for name in args.language if name not in LANGUAGES]
    if unknown:
        parser.error(f"unknown language {unknown[0]}; there are: {' '.join(LANGUAGES)}")
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
