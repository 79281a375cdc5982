"""Template sets of transition parsers: what they look at in a state, written down as text.

One template per line, a conjunction of atoms `role.field`, as in `_templates`. An arc may be made between two
words, l and r: the stack's top and the buffer's front in the arc-eager system, the two topmost words of the
stack in others. So one set serves all systems.

    roles    l, r; u the word on the stack below l; n, m the next two words in the buffer; lh the head of l,
             lg the head of that; ll, lr the outermost dependents of l on its left and right, ll2, lr2 the
             next ones inwards; rl, rr, rl2, rr2 those of r
    labels   besides: h and d, the head and dependent of the arc; s, the outermost dependent of h on that
             side; dl, dr, the outermost dependents of d
    fields   those of words; label (of the arc above a node), lefts and rights (how many dependents l, r, h or
             d has on a side), leftset and rightset (which labels they have), distance (l.distance: from l
             to r)

Templates about a guide, a parser whose trees are given, have three more roles: lq, rq and, of labels, dq, the
heads that it gives to l, r and d. And four more fields: guide, the label that it gives to a word; headplace,
where the head stands that it gives to l, r, h or d (the other word in focus, root, ahead in the buffer, below
on the stack, found already, or gone); ahead and behind, how many of the dependents that it gives to such a
word are still in the buffer, or wait on the stack, apart from the two words in focus.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from arbora.errors import InputError, UnknownNameError
from arbora.features._templates import FIELDS, LARGEST_OFFSET, Atom, Template

STACK_AND_BUFFER = ("l", "r", "u", "n", "m")
ABOVE = ("lh", "lg")
DEPENDENTS = ("ll", "ll2", "lr", "lr2", "rl", "rl2", "rr", "rr2")
LABEL_ROLES = ("h", "d", "s", "dl", "dr")
MOVE_ROLES = (*STACK_AND_BUFFER, *ABOVE, *DEPENDENTS)
MOVE_GUIDE_ROLES = ("lq", "rq")
LABEL_GUIDE_ROLES = ("dq",)
ROLES = {
    name: number
    for number, name in enumerate((*MOVE_ROLES, *MOVE_GUIDE_ROLES, *LABEL_ROLES, *LABEL_GUIDE_ROLES))
}
"""Numbered as in core/transition."""
STATE_FIELDS = ("label", "lefts", "rights", "leftset", "rightset", "distance")
GUIDE_STATE_FIELDS = ("headplace", "ahead", "behind")
EXTRA_FIELDS = (*STATE_FIELDS, *GUIDE_STATE_FIELDS)
ALL_FIELDS = {name: number for number, name in enumerate((*FIELDS, "guide", *EXTRA_FIELDS))}
GUIDE_FIELDS = ("guide", *GUIDE_STATE_FIELDS)
COUNTED = ("l", "r", "h", "d")
"""Roles whose dependents are known to the last."""
UNLABELLED = ("n", "m", "lg", *MOVE_GUIDE_ROLES, *LABEL_GUIDE_ROLES)
"""Roles whose arcs are not known yet, or no more."""

_ATOM = re.compile(r"([a-z]+2?)([+-]\d+)?\.([a-z]+)")


@dataclass(frozen=True)
class TransitionTemplates:
    """A named, versioned set of templates. Saved models name it, so a released set is never changed."""

    name: str
    summary: str
    moves: str
    labels: str
    quadratic: bool = False
    """Moves: not the templates alone, but all pairs of them, too."""
    guides: str = ""
    """Of moves, about a guide; never in pairs."""
    guide_labels: str = ""

    @property
    def needs_guide(self) -> bool:
        """Whether it looks at the trees of another parser."""
        return bool(self.guides or self.guide_labels)

    @property
    def texts(self) -> dict[str, str]:
        """The templates by what they score."""
        return {
            "moves": self.moves,
            "labels": self.labels,
            "guides": self.guides,
            "guide_labels": self.guide_labels,
        }

    @cached_property
    def compiled(self) -> dict[str, list[Template]]:
        """Atoms as (role, offset, field) numbers; InputError at the first that is none."""
        of_labels = (*MOVE_ROLES, *LABEL_ROLES)
        moves = _compile(self.moves, MOVE_ROLES, f"{self.name}: moves")
        if self.quadratic:
            moves += [[*a, *b] for a, b in combinations(moves, 2)]
        labels = _compile(self.labels, of_labels, f"{self.name}: labels")
        # After all others, which so keep the weights that they have without a guide.
        moves += _compile(
            self.guides, (*MOVE_ROLES, *MOVE_GUIDE_ROLES), f"{self.name}: guides", tuple(ALL_FIELDS)
        )
        labels += _compile(self.guide_labels, tuple(ROLES), f"{self.name}: guide_labels", tuple(ALL_FIELDS))
        return {"moves": moves, "labels": labels}


PLAIN_FIELDS = tuple(name for name in ALL_FIELDS if name not in GUIDE_FIELDS)


def _compile(
    text: str, roles: tuple[str, ...], where: str, fields: tuple[str, ...] = PLAIN_FIELDS
) -> list[Template]:
    templates = []
    for number, line in enumerate(text.strip().splitlines(), start=1):
        atoms = line.partition("#")[0].split()
        if atoms:
            place = f"{where}, template {number}"
            templates.append([_atom(atom, roles, fields, place) for atom in atoms])
    return templates


def _atom(atom: str, roles: tuple[str, ...], fields: tuple[str, ...], where: str) -> Atom:
    match = _ATOM.fullmatch(atom)
    if match is None:
        raise InputError(f"expected an atom such as l.form or n+1.tag, got {atom!r}", field=where)
    role, offset, field = match[1], int(match[2] or 0), match[3]
    if role not in roles:
        raise UnknownNameError("role", role, list(roles), where=where)
    if field not in fields:
        raise UnknownNameError("field", field, list(fields), where=where)
    if abs(offset) > LARGEST_OFFSET:
        raise InputError(f"expected an offset of at most {LARGEST_OFFSET} words, got {atom!r}", field=where)
    if field in EXTRA_FIELDS:
        _check_extra(atom, role, field, offset, where)
    return ROLES[role], offset, ALL_FIELDS[field]


def _check_extra(atom: str, role: str, field: str, offset: int, where: str) -> None:
    """InputError where a node does not have such a field."""
    if field == "distance":
        fits = role in ("l", "h")
    elif field == "label":
        fits = role not in UNLABELLED
    else:
        fits = role in COUNTED
    if not fits or offset:
        raise InputError(f"{role} has no {field} there, got {atom!r}", field=where)
