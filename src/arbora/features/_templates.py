"""Template sets: what a parser looks at, written down as text and compiled for the core.

One template per line, a conjunction of atoms `role.field`; `#` starts a comment. A role may have an offset:
`h-1.tag` is the coarse tag of the word before the head.

    roles    h head, d dependent, s the next dependent towards the head, g the head's head, b each tag between
             h and d, l and r the dependent's own outermost dependents (labels only)
    fields   form, lemma (where there is none, the form in small letters), tag (coarse, UPOS), fine (XPOS),
             feats, prefix (4 letters), suffix (3), ending (2), shape

Direction is part of every template, and distance of all about arcs: a weight without and one with it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from arbora.errors import InputError, unknown

Atom: TypeAlias = tuple[int, int, int]
Template: TypeAlias = list[Atom]

ROLES = {"h": 0, "d": 1, "s": 2, "b": 3, "g": 4, "l": 5, "r": 6}
FIELDS = {
    name: number
    for number, name in enumerate(
        ("form", "lemma", "tag", "fine", "feats", "prefix", "suffix", "ending", "shape")
    )
}
LARGEST_OFFSET = 2

_ATOM = re.compile(r"([a-z])([+-]\d+)?\.([a-z]+)")


@dataclass(frozen=True)
class TemplateSet:
    """A named, versioned set of templates. Saved models name it, so a released set is never changed."""

    name: str
    summary: str
    arcs: str
    siblings: str = ""
    grandparents: str = ""
    labels: str = ""

    @cached_property
    def compiled(self) -> dict[str, list[Template]]:
        """Atoms as (role, offset, field) numbers, by kind of part; InputError at the first that is none."""
        return {
            "arcs": compile_templates(self.arcs, "hdb", f"{self.name}: arcs"),
            "siblings": compile_templates(self.siblings, "hds", f"{self.name}: siblings"),
            "grandparents": compile_templates(self.grandparents, "hdg", f"{self.name}: grandparents"),
            "labels": compile_templates(self.labels, "hdsglr", f"{self.name}: labels"),
        }


def compile_templates(text: str, roles: str, where: str) -> list[Template]:
    """The templates of a text, one per line that is not empty."""
    templates = []
    for number, line in enumerate(text.strip().splitlines(), start=1):
        atoms = line.partition("#")[0].split()
        if atoms:
            templates.append([_compile_atom(atom, roles, f"{where}, template {number}") for atom in atoms])
    return templates


def _compile_atom(atom: str, roles: str, where: str) -> Atom:
    match = _ATOM.fullmatch(atom)
    if match is None:
        raise InputError(f"{where}: expected an atom such as h.form or d-1.tag, got {atom!r}")
    role, offset, field = match[1], int(match[2] or 0), match[3]
    if role not in roles:
        raise InputError(f"{where}: {unknown('role', role, list(roles))}")
    if field not in FIELDS:
        raise InputError(f"{where}: {unknown('field', field, list(FIELDS))}")
    if abs(offset) > LARGEST_OFFSET:
        raise InputError(f"{where}: expected an offset of at most {LARGEST_OFFSET} words, got {atom!r}")
    return ROLES[role], offset, FIELDS[field]
