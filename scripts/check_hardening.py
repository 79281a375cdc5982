"""Check that a native module is hardened: `python scripts/check_hardening.py FILE...` (modules or wheels).

Reads ELF files with readelf: relocations are read-only, the stack is not executable, functions guard their
stack and call the checking versions of C functions. Prints what is missing, and exits with 1 if anything is.
"""

import re
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# What must be in the output of readelf, and what must not be.
REQUIRED = {
    "read-only relocations (-z relro)": r"GNU_RELRO",
    "immediate binding (-z now)": r"BIND_NOW|Flags: NOW",
    "stack protector": r"__stack_chk_fail",
    "checked C functions (_FORTIFY_SOURCE)": r"\b__\w+_chk@",
}
FORBIDDEN = {
    "executable stack": r"GNU_STACK.*RWE",
    "relocations in code": r"TEXTREL",
    "library search path": r"\((RPATH|RUNPATH)\)",
}


@contextmanager
def modules_of(path: Path) -> Iterator[list[Path]]:
    """The module itself, or all modules of a wheel."""
    if path.suffix != ".whl":
        yield [path]
        return
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(path) as wheel:
        names = [name for name in wheel.namelist() if name.endswith(".so")]
        yield [Path(wheel.extract(name, folder)) for name in names]


def weaknesses(module: Path) -> list[str]:
    """The defences that a module lacks."""
    command = ["readelf", "--wide", "--program-headers", "--dynamic", "--dyn-syms", str(module)]
    text = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    missing = [f"no {name}" for name, pattern in REQUIRED.items() if not re.search(pattern, text)]
    return missing + [name for name, pattern in FORBIDDEN.items() if re.search(pattern, text)]


def main(paths: list[str]) -> int:
    """Check all files; returns the exit status."""
    found = 0
    for path in map(Path, paths):
        if not path.is_file():
            print(f"{path}: no such file")
            found += 1
            continue
        with modules_of(path) as modules:
            if not modules:
                print(f"{path}: no native module")
                found += 1
            for module in modules:
                problems = weaknesses(module)
                print(f"{path}: {module.name}: {', '.join(problems) or 'hardened'}")
                found += len(problems)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
