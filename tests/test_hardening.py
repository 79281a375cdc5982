"""The native module is built with the compiler's defences against memory errors."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from arbora import _core

SCRIPT = Path(__file__).resolve().parents[1] / "scripts" / "check_hardening.py"
needs_readelf = pytest.mark.skipif(
    sys.platform != "linux" or shutil.which("readelf") is None, reason="reads ELF files with readelf"
)


def check(path):
    command = [sys.executable, str(SCRIPT), str(path)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@needs_readelf
def test_the_native_module_is_hardened():
    result = check(_core.__file__)
    assert result.returncode == 0, result.stdout


def test_a_missing_file_is_named(tmp_path):
    result = check(tmp_path / "none.so")
    assert (result.returncode, result.stderr) == (1, "")
    assert "none.so" in result.stdout


@needs_readelf
@pytest.mark.skipif(shutil.which("cc") is None, reason="compiles a module")
def test_a_module_without_defences_is_found(tmp_path):
    source, module = tmp_path / "weak.c", tmp_path / "weak.so"
    source.write_text("int answer(void) { return 42; }\n", encoding="utf-8")
    options = ["-shared", "-fPIC", "-Wl,-z,norelro", "-Wl,-z,lazy", "-Wl,-z,execstack"]
    subprocess.run(["cc", *options, "-o", str(module), str(source)], check=True, timeout=60)
    result = check(module)
    assert result.returncode == 1
    assert "executable stack" in result.stdout
    assert "relro" in result.stdout
