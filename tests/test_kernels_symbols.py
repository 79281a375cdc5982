"""Code for newer CPUs stays in its own namespace.

Kernels are compiled once per instruction set. A function that several objects define as a weak symbol is kept
once by the linker, from any of them: were one of those compiled for a newer CPU, an older one would meet its
instructions. So the objects for newer sets define nothing outside their own namespace.
"""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

BUILD = Path(__file__).resolve().parents[1] / "build"
SETS = ("avx2", "avx512", "int8_avx2", "int8_avxvnni", "int8_avx512", "int8_avx512vnni")


def object_files(isa):
    """The shipped build's objects; the sanitizers' own symbols are only in test builds."""
    paths = BUILD.glob(f"**/arbora_kernels_{isa}.dir/**/*.o")
    return sorted(path for path in paths if not {"sanitize", "fuzz"} & set(path.relative_to(BUILD).parts))


def defined_symbols(path):
    """The mangled names that an object offers to others: strong, weak and unique ones."""
    command = ["nm", "--defined-only", "--extern-only", "--format=posix", str(path)]
    lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [line.split()[0] for line in lines]


def in_namespace(symbol, isa):
    """Functions, variables, and the tables and guards that belong to them."""
    return re.match(rf"_Z(?:GV|TV|TI|TS|TC|TT|GR)?N[KVRO]*6arbora{len(isa)}{isa}", symbol) is not None


def test_what_counts_as_inside():
    inside = [
        "_ZN6arbora4avx25tableE",
        "_ZN6arbora4avx210inside_arcINS0_8MaxLanesEEEvv",
        "_ZTVN6arbora4avx21XE",
    ]
    outside = [
        "_ZN6arbora4kindE",
        "_ZStplv",
        "_ZN6arbora6avx5125tableE",
        "_ZNSt6vectorIN6arbora4avx21XEE4sizeEv",
    ]
    assert all(in_namespace(symbol, "avx2") for symbol in inside)
    assert not any(in_namespace(symbol, "avx2") for symbol in outside)


@pytest.mark.skipif(shutil.which("nm") is None, reason="nm (binutils) is not installed")
@pytest.mark.parametrize("isa", SETS)
def test_kernels_share_no_symbol(isa):
    paths = object_files(isa)
    if not paths:
        pytest.skip(f"no objects of the {isa} kernels below {BUILD}: built elsewhere, or not for x86-64")
    for path in paths:
        symbols = defined_symbols(path)
        assert any(in_namespace(symbol, isa) for symbol in symbols), f"{path} defines no kernel"
        foreign = [symbol for symbol in symbols if not in_namespace(symbol, isa)]
        assert not foreign, f"{path} defines {foreign}: mark them ARBORA_INLINE (core/base/attributes.hpp)"
