"""What a parser is asked besides the sentences, when it is to say how sure it is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from arbora.confidence import Decode, Judgement, Temperatures


@dataclass(frozen=True, kw_only=True)
class Question:
    """What `judge` is asked besides the sentences; see `Parser.judge`."""

    decode: Decode | Literal["given"] = "argmax"
    k: int = 0
    arc_table: bool = False
    label_table: bool = False
    keep_heads: bool = False
    threads: int = 1


Judge: TypeAlias = Callable[[Temperatures], Judgement]
"""Probabilities at temperatures: what does not depend on these is computed once."""
