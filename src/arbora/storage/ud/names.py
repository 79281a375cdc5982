"""What treebanks and their files are called.

UD_Danish-DDT            a treebank, and the folder that holds it
UD_Danish-DDT_r2.14      the same as of one release, in a folder of its own
UD_Danish-DDT/test       a part of it: train, dev or test
da_ddt-ud-test.conllu    the file of that part; large parts have several (cs_pdt-ud-train-c.conllu)
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast, get_args

from arbora.errors import InputError

Part: TypeAlias = Literal["train", "dev", "test"]
PARTS: tuple[Part, ...] = get_args(Part)

TREEBANK = re.compile(r"(?a:UD_([A-Z][A-Za-z_]*[A-Za-z])-([A-Za-z0-9]+))")
RELEASE = re.compile(r"(?a:r\d+\.\d+(?:\.\d+)?)")
FOLDER = re.compile(r"(?a:\w[\w.+-]*)")
RELEASED_FILE = re.compile(r"(?a:\w+-ud-(?:train|dev|test)(?:-[\w-]+)?\.conllu)")
FILE = re.compile(r"(?:([^\s/]*?)(?:-ud)?[-_])?(train|dev|test)(?:[-_][^\s/]+)?\.conll[ux]?(?:\.gz)?")
"""Also as other treebanks have them: `train.conllu`, `danish_ddt_test.conll`."""
EXAMPLE = "UD_Danish-DDT"


@dataclass(frozen=True, slots=True)
class TreebankName:
    """The name of a treebank of Universal Dependencies, of its newest release or of a given one."""

    repository: str
    release: str | None = None

    @classmethod
    def parse(cls, text: str) -> TreebankName:
        """InputError where it is no such name."""
        repository, underscore, release = text.rpartition("_")
        if not (underscore and RELEASE.fullmatch(release)):
            repository, release = text, ""
        if not TREEBANK.fullmatch(repository):
            raise InputError(
                f"{text!r} is no name of a treebank; expected one such as {EXAMPLE}, or {EXAMPLE}_r2.14 for "
                "that release (`arbora data list` names them)"
            )
        return cls(repository, release or None)

    @property
    def folder(self) -> str:
        """The folder that holds it."""
        return self.repository if self.release is None else f"{self.repository}_{self.release}"


def is_treebank(repository: str) -> bool:
    """Whether a repository of Universal Dependencies is a treebank: some are documentation or tools."""
    return TREEBANK.fullmatch(repository) is not None


def language_of(name: str) -> str:
    """`Ancient Greek` for `UD_Ancient_Greek-PROIEL`; nothing for names of another form."""
    match = TREEBANK.match(name)
    return "" if match is None else match[1].replace("_", " ")


def is_released(file: str) -> bool:
    """Whether a file of a repository is a part of a treebank."""
    return RELEASED_FILE.fullmatch(file) is not None


def part_of(file: str) -> Part | None:
    """Which part of a treebank a file is; None for other files."""
    match = FILE.fullmatch(file)
    return None if match is None else cast("Part", match[2])


def code_of(file: str) -> str | None:
    """What the names of a treebank's files begin with: `da_ddt`; None where there is nothing such."""
    match = FILE.fullmatch(file)
    return None if match is None else match[1]


def release_order(release: str) -> tuple[int, ...]:
    """To sort releases by: r2.9 comes before r2.10."""
    return tuple(map(int, release[1:].split(".")))
