"""Try the wheels of `dist/` in empty environments: `python scripts/check_wheel.py PYTHON...`.

Installs the wheel and pytest for each interpreter, and runs the blocks of the README and the tests of tree
inference. `make check-dist` calls this. Exits with 1 if one fails.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NEEDED = ("pytest", "pytest-xdist", "hypothesis", "scipy")


def run(*command: object, folder: Path) -> bool:
    """Whether a command succeeds in the folder."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run([str(part) for part in command], cwd=folder, env=environment).returncode == 0


def check(python: str, wheels: Path) -> bool:
    """Whether the wheel for this interpreter passes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = folder / "env"
        own = environment / "bin" / "python"
        install = (own, "-m", "pip", "install", "-q", "--only-binary", ":all:")
        tests = (own, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib")
        readme = (
            *tests,
            "--noconftest",
            "-c",
            os.devnull,
            "--rootdir",
            folder,
            ROOT / "tests/docs/test_docs.py",
        )
        return (
            run(python, "-m", "venv", environment, folder=folder)
            and run(*install, "--no-index", "--no-deps", "--find-links", wheels, "arbora-nlp", folder=folder)
            and run(*install, "--find-links", wheels, "arbora-nlp", *NEEDED, folder=folder)
            and run(*readme, "-k", "test_blocks_run and README", folder=folder)
            and run(*tests, "-c", ROOT / "pyproject.toml", ROOT / "tests/inference", folder=folder)
        )


def main() -> int:
    """Try all interpreters; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pythons", nargs="+", metavar="PYTHON")
    parser.add_argument("--wheels", type=Path, default=ROOT / "dist")
    options = parser.parse_args()
    failed = [python for python in options.pythons if not check(python, options.wheels.resolve())]
    for python in options.pythons:
        print(f"{python}: {'failed' if python in failed else 'passed'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
