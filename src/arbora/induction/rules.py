"""Rules: which tags tend to depend on which, known in advance [naseem-2010].

A file of rules has one per line, `HEAD -> DEPENDENT`; `#` starts a comment. `HEAD` may be ROOT. Either side
may list several tags, with commas.

    VERB, AUX -> NOUN, PROPN     # four rules
    ROOT -> VERB
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from arbora.errors import InputError
from arbora.types import Doubles

ROOT = "ROOT"


@dataclass(frozen=True)
class Rules:
    """Pairs of tags, head first."""

    pairs: frozenset[tuple[str, str]]

    @classmethod
    def parse(cls, text: str, source: str = "rules") -> Rules:
        """Read the rules of a text; InputError at the first malformed line."""
        pairs = set()
        for number, line in enumerate(text.splitlines(), start=1):
            rule = line.partition("#")[0].strip()
            if not rule:
                continue
            head, _, dependent = rule.partition("->")
            heads, dependents = _tags(head), _tags(dependent)
            if not (heads and dependents) or ROOT in dependents:
                raise InputError(
                    f"{source}:{number}: expected a rule such as `VERB -> NOUN, PRON` or `ROOT -> VERB`, "
                    f"got {rule[:60]!r}"
                )
            pairs |= {(h, d) for h in heads for d in dependents}
        if not pairs:
            raise InputError(f"{source}: expected at least one rule such as `VERB -> NOUN`, got none")
        return cls(frozenset(pairs))

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Rules:
        try:
            with Path(path).open(encoding="utf-8") as stream:
                text = stream.read(1_000_000)
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(f"{os.fspath(path)}: expected a file of rules in UTF-8, got: {error}") from None
        return cls.parse(text, os.fspath(path))

    def table(self, tags: Sequence[str]) -> Doubles:
        """1 where a rule has the pair, 0 elsewhere: (tags + 1, tags), [head, dependent], the root last."""
        return np.array([[float((h, d) in self.pairs) for d in tags] for h in (*tags, ROOT)])

    def to_list(self) -> list[list[str]]:
        return [list(pair) for pair in sorted(self.pairs)]


def _tags(text: str) -> list[str]:
    parts = [part.strip() for part in text.split(",")]
    return parts if all(part and not any(c.isspace() for c in part) for part in parts) else []


TEXTS = {
    "universal": """\
# For UD's tags and trees, after the twelve rules of [cai-2017].
# Content words are heads: prepositions, auxiliaries, conjunctions and particles depend on them. If a noun or
# an adjective is the predicate, copula and subject depend on it, and on an adjective all that depends on
# predicates. Possessive pronouns depend on nouns.
ROOT -> VERB
VERB -> VERB, NOUN, PROPN, PRON, ADV, ADJ, AUX, ADP, SCONJ, PART, CONJ, CCONJ
NOUN, PROPN -> NOUN, PROPN, PRON, ADJ, DET, NUM, AUX, ADP, PART, CONJ, CCONJ
PRON -> ADP
ADJ -> ADJ, ADV, PRON, AUX, SCONJ, PART, CONJ, CCONJ
ADV -> ADV
""",
    "table-2": """\
# The twelve rules of [cai-2017], Table 2, in UD's tags.
# Proper nouns count as nouns, auxiliaries as verbs, and what was CONJ is CONJ or CCONJ.
VERB, AUX -> VERB, AUX, NOUN, PROPN, PRON, ADV, ADP
NOUN, PROPN -> NOUN, PROPN, ADJ, DET, NUM, CONJ, CCONJ
ADJ -> ADV
ADP -> NOUN, PROPN
""",
}  # The built-in rules as files; the first line is a summary
NO_RULES = Rules(frozenset())
RULES = {name: Rules.parse(text, name) for name, text in TEXTS.items()}
