"""Template sets of transition parsers: the features of a state, written as text.

One template per line, a conjunction of atoms `role.field`, as in `_templates`. The next arc joins two words,
l and r: the stack's top and the buffer's front in the arc-eager system, the two topmost words of the stack in
others. So one set serves all systems. docs/transition.md lists all roles and fields. `ahead` and `behind`
do not count the two words in focus.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from arbora.features._templates import FIELDS, GuidedTemplates, Template, compile_templates

STACK_AND_BUFFER = ("l", "r", "u", "n", "m", "lh", "lg")
DEPENDENTS = ("ll", "ll2", "lr", "lr2", "rl", "rl2", "rr", "rr2")
MOVE_ROLES = (*STACK_AND_BUFFER, *DEPENDENTS)
MOVE_GUIDE_ROLES = ("lq", "rq")
LABEL_ROLES = ("h", "d", "s", "dl", "dr")
ALL_ROLES = (*MOVE_ROLES, *MOVE_GUIDE_ROLES, *LABEL_ROLES, "dq")
ROLES = {name: number for number, name in enumerate(ALL_ROLES)}
"""Numbered as in core/search/transition."""

COUNT_FIELDS = ("lefts", "rights", "leftset", "rightset")
GUIDE_COUNT_FIELDS = ("headplace", "ahead", "behind")
NAMES = (*FIELDS, "guide", "label", *COUNT_FIELDS, "distance", *GUIDE_COUNT_FIELDS)
ALL_FIELDS = {name: number for number, name in enumerate(NAMES)}
PLAIN_FIELDS = {name: n for name, n in ALL_FIELDS.items() if name not in ("guide", *GUIDE_COUNT_FIELDS)}
RESTRICTED_FIELDS = {
    "distance": ("l", "h"),
    # The arcs of the others are not known yet, or no longer.
    "label": tuple(role for role in ROLES if role not in ("n", "m", "lg", "lq", "rq", "dq")),
    **dict.fromkeys((*COUNT_FIELDS, *GUIDE_COUNT_FIELDS), ("l", "r", "h", "d")),
}
"""The roles that have a field."""


@dataclass(frozen=True)
class TransitionTemplates(GuidedTemplates):
    """A named, versioned set of templates. Saved models name it, so a released set never changes."""

    name: str
    summary: str
    moves: str
    labels: str
    quadratic: bool = False
    """Also use all pairs of templates of moves."""
    guides: str = ""
    """For moves, about a guide; never in pairs."""
    guide_labels: str = ""

    kinds = ("moves", "labels", "guides", "guide_labels")

    @cached_property
    def compiled(self) -> dict[str, list[Template]]:
        """Atoms as (role, offset, field) numbers; InputError for a malformed one."""
        moves = self._compile("moves", MOVE_ROLES)
        if self.quadratic:
            moves += [[*a, *b] for a, b in combinations(moves, 2)]
        labels = self._compile("labels", (*MOVE_ROLES, *LABEL_ROLES))
        # After all others, which so keep the weights that they have without a guide.
        moves += self._compile("guides", (*MOVE_ROLES, *MOVE_GUIDE_ROLES))
        labels += self._compile("guide_labels", ALL_ROLES)
        return {"moves": moves, "labels": labels}

    def _compile(self, kind: str, roles: Iterable[str]) -> list[Template]:
        fields = ALL_FIELDS if kind.startswith("guide") else PLAIN_FIELDS
        known = {role: ROLES[role] for role in roles}
        return compile_templates(
            getattr(self, kind), known, f"{self.name}: {kind}", fields, RESTRICTED_FIELDS
        )
