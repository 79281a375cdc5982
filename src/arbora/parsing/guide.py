"""Names of a guided parser, whose features look at the trees of another parser, the guide."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from arbora._core import Encoded
from arbora.data.columns import Columns
from arbora.data.encode import Names

if TYPE_CHECKING:
    from arbora.parsing.parser import Parser


@dataclass(frozen=True, slots=True)
class GuidedNames(Names):
    """Names whose batches hold the trees of a guide beside the words [nivre-2008]."""

    guide: Parser = field(kw_only=True)

    @classmethod
    def over(cls, names: Names, guide: Parser) -> GuidedNames:
        """The same names with a guide."""
        return cls(names.tags, names.labels, names.columns, guide=guide)

    @property
    def guides(self) -> tuple[Parser, ...]:
        return (self.guide,)

    def rounded(self) -> GuidedNames:
        return replace(self, guide=self.guide.rounded())

    def encode(self, columns: Columns, *, threads: int = 1) -> Encoded:
        encoded = Names.encode(self, columns)
        heads, labels = self.guide.trees(columns, threads=threads)
        encoded.set_guide(heads, labels, self.guide.names.labels)
        return encoded
