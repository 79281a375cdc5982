"""Names of treebanks and their files.

UD_Danish-DDT            a treebank, and its folder
UD_Danish-DDT_r2.14      one release of it, in a folder of its own
UD_Danish-DDT/test       a part: train, dev or test
da_ddt-ud-test.conllu    the file of a part; large parts have several (cs_pdt-ud-train-c.conllu)
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
"""Also matches files of other treebanks: `train.conllu`, `danish_ddt_test.conll`."""
EXAMPLE = "UD_Danish-DDT"


@dataclass(frozen=True, slots=True)
class TreebankName:
    """The name of a treebank of Universal Dependencies; no release means the newest."""

    repository: str
    release: str | None = None

    @classmethod
    def parse(cls, text: str) -> TreebankName:
        """Read `UD_Danish-DDT` or `UD_Danish-DDT_r2.14`; InputError for other names."""
        repository, _, release = text.rpartition("_")
        if not RELEASE.fullmatch(release):
            repository, release = text, ""
        if not TREEBANK.fullmatch(repository):
            examples = f"{EXAMPLE} or {EXAMPLE}_r2.14"
            raise InputError(f"expected a treebank such as {examples}, got {text!r}; see `arbora data list`")
        return cls(repository, release or None)

    @property
    def folder(self) -> str:
        """The name of its folder."""
        return self.repository if self.release is None else f"{self.repository}_{self.release}"


def language_of(name: str) -> str:
    """`Ancient Greek` for `UD_Ancient_Greek-PROIEL`; empty for other names."""
    match = TREEBANK.match(name)
    return "" if match is None else match[1].replace("_", " ")


def part_of(file: str) -> Part | None:
    """The part of a treebank that a file belongs to."""
    match = FILE.fullmatch(file)
    return None if match is None else cast("Part", match[2])


def code_of(file: str) -> str | None:
    """The prefix of a file's name, such as `da_ddt`."""
    match = FILE.fullmatch(file)
    return None if match is None else match[1]


def release_order(release: str) -> tuple[int, ...]:
    """A sort key: r2.9 is before r2.10."""
    return tuple(map(int, release[1:].split(".")))
