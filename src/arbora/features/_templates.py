"""Template sets: what a parser looks at, written down as text and compiled for the core.

One template per line, a conjunction of atoms `role.field`; `#` starts a comment. A role may have an offset:
`h-1.tag` is the coarse tag of the word before the head.

    roles    h head, d dependent, s the next dependent towards the head, g the head's head, b each tag between
             h and d, l and r the dependent's own outermost dependents (labels only)
    fields   form, lemma (where there is none, the form in small letters), tag (coarse, UPOS), fine (XPOS),
             feats, prefix (4 letters), suffix (3), ending (2), shape

Direction is part of every template, and distance of all about arcs: a weight without and one with it.

Templates about a guide, a parser whose trees are given, have one more role, q, the head that it gives to the
dependent, and one more field, `guide`, the label that it gives to a node. How the guide's tree stands to the
arc is part of each: whether it has the arc, has it turned round, or which other head it has instead.

Contexts, for parsers of higher order, look at up to four nodes of a tree at once, and also at labels and
numbers of dependents, which are fields there: `d.label`, `l.count`. They come in three kinds, see
`CONTEXT_ROLES`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from arbora.errors import InputError, UnknownNameError

Atom: TypeAlias = tuple[int, int, int]
Template: TypeAlias = list[Atom]

ROLES = {"h": 0, "d": 1, "s": 2, "b": 3, "g": 4, "l": 5, "r": 6, "q": 7}
FIELDS = {
    name: number
    for number, name in enumerate(
        ("form", "lemma", "tag", "fine", "feats", "prefix", "suffix", "ending", "shape")
    )
}
GUIDE_FIELDS = {**FIELDS, "guide": len(FIELDS)}
LARGEST_OFFSET = 2

ContextKind: TypeAlias = Literal["chains", "lineages", "closings"]
CONTEXT_ROLES: dict[ContextKind, str] = {
    # An arc h -> d is made: s and t are the next dependents towards the head; h.count: with d, on this side.
    "chains": "hdst",
    # h is given its head g: each dependent d of h, and s, the next one towards h.
    "lineages": "ghds",
    # d is complete: its outermost dependents l and r; l.count, r.count: how many there are on each side.
    "closings": "hdlr",
}
WITH_LABEL: dict[ContextKind, str] = {"chains": "ds", "lineages": "hds", "closings": "dlr"}
WITH_COUNT: dict[ContextKind, str] = {"chains": "h", "lineages": "", "closings": "lr"}
CONTEXT_FIELDS = {**FIELDS, "label": len(FIELDS), "count": len(FIELDS) + 1}

_ATOM = re.compile(r"([a-z])([+-]\d+)?\.([a-z]+)")


@dataclass(frozen=True)
class ContextGroup:
    """Some context templates under a name, so that they can be left out together."""

    name: str
    kind: ContextKind
    order: Literal[2, 3]
    """Of the parsers that have it."""
    templates: str

    def compiled(self, *, labelled: bool) -> list[Template]:
        """Atoms as (role, offset, field) numbers; only templates without labels unless `labelled`."""
        found = []
        for number, line in enumerate(self.templates.strip().splitlines(), start=1):
            atoms = line.partition("#")[0].split()
            if labelled or not any(atom.endswith(".label") for atom in atoms):
                found.append([self._atom(atom, f"{self.name}, template {number}") for atom in atoms])
        return [atoms for atoms in found if atoms]

    def _atom(self, atom: str, where: str) -> Atom:
        roles = CONTEXT_ROLES[self.kind]
        _, offset, field = _compile_atom(atom, roles, where, CONTEXT_FIELDS)
        known = {"label": WITH_LABEL[self.kind], "count": WITH_COUNT[self.kind]}
        name = atom.rpartition(".")[2]
        if name in known and (atom[0] not in known[name] or offset):
            one_of = ", ".join(f"{role}.{name}" for role in known[name]) or "none"
            raise InputError(f"expected a {name} of these: {one_of}; got {atom!r}", field=where)
        return roles.index(atom[0]), offset, field


@dataclass(frozen=True)
class TemplateSet:
    """A named, versioned set of templates. Saved models name it, so a released set is never changed."""

    name: str
    summary: str
    arcs: str
    siblings: str = ""
    grandparents: str = ""
    labels: str = ""
    contexts: tuple[ContextGroup, ...] = ()
    guides: str = ""
    """Of arcs, about a guide."""
    guide_labels: str = ""

    @property
    def needs_guide(self) -> bool:
        """Whether it looks at the trees of another parser."""
        return bool(self.guides or self.guide_labels)

    @property
    def texts(self) -> dict[str, str]:
        """The templates by what they score."""
        return {
            "arcs": self.arcs,
            "siblings": self.siblings,
            "grandparents": self.grandparents,
            "labels": self.labels,
            "guides": self.guides,
            "guide_labels": self.guide_labels,
            **{group.name: group.templates for group in self.contexts},
        }

    @cached_property
    def compiled(self) -> dict[str, list[Template]]:
        """Atoms as (role, offset, field) numbers, by kind of part; InputError at the first that is none."""
        return {
            "arcs": compile_templates(self.arcs, "hdb", f"{self.name}: arcs"),
            "siblings": compile_templates(self.siblings, "hds", f"{self.name}: siblings"),
            "grandparents": compile_templates(self.grandparents, "hdg", f"{self.name}: grandparents"),
            "labels": compile_templates(self.labels, "hdsglr", f"{self.name}: labels"),
            **(self._compiled_guides if self.needs_guide else {}),
        }

    @property
    def _compiled_guides(self) -> dict[str, list[Template]]:
        where = f"{self.name}: guides", f"{self.name}: guide_labels"
        return {
            "guides": compile_templates(self.guides, "hdq", where[0], GUIDE_FIELDS),
            "guide_labels": compile_templates(self.guide_labels, "hdsglrq", where[1], GUIDE_FIELDS),
        }

    def compiled_contexts(
        self, order: int, *, labelled: bool, without: Sequence[str] = ()
    ) -> dict[ContextKind, list[Template]]:
        """The contexts of parsers of an order, without some groups, by kind; InputError for unknown ones."""
        names = [group.name for group in self.contexts]
        for name in without:
            if name not in names:
                raise UnknownNameError("group of features", name, names, where=self.name)
        wanted = [group for group in self.contexts if group.order <= order and group.name not in without]
        return {
            kind: [t for group in wanted if group.kind == kind for t in group.compiled(labelled=labelled)]
            for kind in CONTEXT_ROLES
        }


def compile_templates(
    text: str, roles: str, where: str, fields: Mapping[str, int] = FIELDS
) -> list[Template]:
    """The templates of a text, one per line that is not empty."""
    templates = []
    for number, line in enumerate(text.strip().splitlines(), start=1):
        atoms = line.partition("#")[0].split()
        if atoms:
            place = f"{where}, template {number}"
            templates.append([_compile_atom(atom, roles, place, fields) for atom in atoms])
    return templates


def _compile_atom(atom: str, roles: str, where: str, fields: Mapping[str, int] = FIELDS) -> Atom:
    match = _ATOM.fullmatch(atom)
    if match is None:
        raise InputError(f"expected an atom such as h.form or d-1.tag, got {atom!r}", field=where)
    role, offset, field = match[1], int(match[2] or 0), match[3]
    if role not in roles:
        raise UnknownNameError("role", role, list(roles), where=where)
    if field not in fields:
        raise UnknownNameError("field", field, list(fields), where=where)
    if abs(offset) > LARGEST_OFFSET:
        raise InputError(f"expected an offset of at most {LARGEST_OFFSET} words, got {atom!r}", field=where)
    return ROLES.get(role, -1), offset, fields[field]
