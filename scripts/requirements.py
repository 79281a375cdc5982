"""Prints the requirements in pyproject.toml, for pip: those of the package, of its build, and of extras.

python scripts/requirements.py [EXTRA...]               as declared; `make audit` checks them
python scripts/requirements.py --lowest [EXTRA...]      the lowest versions; `make lowest` tests them
"""

import argparse
import re
import sys
import tomllib
from pathlib import Path

PYPROJECT = tomllib.loads(
    (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text(encoding="utf-8")
)
BOUND = re.compile(r"([\w.-]+)>=([\w.]+)")


def lowest(requirement: str) -> str:
    """The lowest version that a requirement allows."""
    match = BOUND.match(requirement)
    if match is None:
        sys.exit(f"pyproject.toml: {requirement}: expected a lower bound, NAME>=VERSION")
    return f"{match[1]}=={match[2]}"


def main() -> None:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("extras", nargs="*", metavar="EXTRA")
    parser.add_argument("--lowest", action="store_true")
    options = parser.parse_args()
    project = PYPROJECT["project"]
    groups = [PYPROJECT["build-system"]["requires"], project["dependencies"]]
    groups += [project["optional-dependencies"][extra] for extra in options.extras]
    for requirement in sorted({each for group in groups for each in group}):
        print(lowest(requirement) if options.lowest else requirement)


if __name__ == "__main__":
    main()
