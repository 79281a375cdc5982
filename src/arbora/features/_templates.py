"""Template sets: the features of a parser, written as text and compiled for the core.

One template per line, a conjunction of atoms `role.field`; `#` starts a comment. A role may have an offset:
`h-1.tag` is the coarse tag of the word before the head. docs/extending.md lists all roles and fields.

Direction is part of every template, and distance of all templates of arcs: one weight without it, one with
it. Each template about a guide, a parser whose trees are given, includes how the guide's tree relates to the
arc: it has the arc, has it reversed, or has another head instead, and which.

Contexts, for higher-order parsers, look at up to four nodes of a tree at once, and also at labels and numbers
of dependents: `d.label`, `l.count`. There are three kinds, see `CONTEXT_ROLES`.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from arbora.errors import InputError, UnknownNameError

Atom: TypeAlias = tuple[int, int, int]
Template: TypeAlias = list[Atom]

ROLES = {"h": 0, "d": 1, "s": 2, "b": 3, "g": 4, "l": 5, "r": 6, "q": 7}
NAMES = ("form", "lemma", "tag", "fine", "feats", "prefix", "suffix", "ending", "shape")
FIELDS = {name: number for number, name in enumerate(NAMES)}
GUIDE_FIELDS = {**FIELDS, "guide": len(FIELDS)}
LARGEST_OFFSET = 2

ContextKind: TypeAlias = Literal["chains", "lineages", "closings"]
CONTEXT_ROLES: dict[ContextKind, str] = {
    # An arc h -> d is made: s and t are the next dependents towards the head; h.count: with d, on this side.
    "chains": "hdst",
    # h gets its head g: each dependent d of h, and s, the next one towards h.
    "lineages": "ghds",
    # d is complete: its outermost dependents l and r; l.count, r.count: how many there are on each side.
    "closings": "hdlr",
}
CONTEXT_FIELDS = {**FIELDS, "label": len(FIELDS), "count": len(FIELDS) + 1}
RESTRICTED_FIELDS: dict[ContextKind, dict[str, str]] = {
    "chains": {"label": "ds", "count": "h"},
    "lineages": {"label": "hds", "count": ""},
    "closings": {"label": "dlr", "count": "lr"},
}
"""The roles that have a label or a count."""

_ATOM = re.compile(r"([a-z]+2?)([+-]\d+)?\.([a-z]+)")


@dataclass(frozen=True)
class ContextGroup:
    """Context templates under a name, so that they can be left out together."""

    name: str
    kind: ContextKind
    order: Literal[2, 3]
    """The lowest order of parsers that have it."""
    templates: str

    def compiled(self, *, labelled: bool) -> list[Template]:
        """Atoms as (role, offset, field) numbers; only templates without labels unless `labelled`."""
        roles = {role: number for number, role in enumerate(CONTEXT_ROLES[self.kind])}
        restricted = RESTRICTED_FIELDS[self.kind]
        templates = compile_templates(self.templates, roles, self.name, CONTEXT_FIELDS, restricted)
        label = CONTEXT_FIELDS["label"]
        return [each for each in templates if labelled or all(field != label for _, _, field in each)]


class GuidedTemplates:
    """What sets of graph and of transition templates share."""

    guides: str
    guide_labels: str
    kinds: tuple[str, ...]

    @property
    def needs_guide(self) -> bool:
        """Whether it looks at the trees of another parser."""
        return bool(self.guides or self.guide_labels)

    @property
    def texts(self) -> dict[str, str]:
        """The templates by what they score."""
        return {kind: getattr(self, kind) for kind in self.kinds}


@dataclass(frozen=True)
class TemplateSet(GuidedTemplates):
    """A named, versioned set of templates. Saved models name it, so a released set never changes."""

    name: str
    summary: str
    arcs: str
    siblings: str = ""
    grandparents: str = ""
    labels: str = ""
    contexts: tuple[ContextGroup, ...] = ()
    guides: str = ""
    """For arcs, about a guide."""
    guide_labels: str = ""

    kinds = ("arcs", "siblings", "grandparents", "labels", "guides", "guide_labels")

    @property
    def texts(self) -> dict[str, str]:
        return {**super().texts, **{group.name: group.templates for group in self.contexts}}

    @cached_property
    def compiled(self) -> dict[str, list[Template]]:
        """Atoms as (role, offset, field) numbers, by kind of part; InputError for a malformed one."""
        roles = {"arcs": "hdb", "siblings": "hds", "grandparents": "hdg", "labels": "hdsglr"}
        if self.needs_guide:
            roles |= {"guides": "hdq", "guide_labels": "hdsglrq"}
        return {
            kind: compile_templates(
                getattr(self, kind),
                {role: ROLES[role] for role in known},
                f"{self.name}: {kind}",
                GUIDE_FIELDS if kind.startswith("guide") else FIELDS,
            )
            for kind, known in roles.items()
        }

    def compiled_contexts(
        self, order: int, *, labelled: bool, without: Sequence[str] = ()
    ) -> dict[ContextKind, list[Template]]:
        """The contexts of parsers of an order, without some groups, by kind; InputError for unknown ones."""
        names = [group.name for group in self.contexts]
        for name in without:
            if name not in names:
                raise UnknownNameError("group of features", name, names, where=self.name)
        used = [group for group in self.contexts if group.order <= order and group.name not in without]
        return {
            kind: [t for group in used if group.kind == kind for t in group.compiled(labelled=labelled)]
            for kind in CONTEXT_ROLES
        }


def compile_templates(
    text: str,
    roles: Mapping[str, int],
    where: str,
    fields: Mapping[str, int],
    restricted: Mapping[str, Collection[str]] | None = None,
) -> list[Template]:
    """Compile one template per line; `restricted`: the only roles that have a field, without offset."""
    templates = []
    for number, line in enumerate(text.strip().splitlines(), start=1):
        place = f"{where}, template {number}"
        words = line.partition("#")[0].split()
        if words:
            templates.append([_compile_atom(word, roles, place, fields, restricted or {}) for word in words])
    return templates


def _compile_atom(
    atom: str,
    roles: Mapping[str, int],
    where: str,
    fields: Mapping[str, int],
    restricted: Mapping[str, Collection[str]],
) -> Atom:
    match = _ATOM.fullmatch(atom)
    if match is None:
        some = next(iter(roles))
        raise InputError(f"expected an atom such as {some}.form or {some}-1.tag, got {atom!r}", field=where)
    role, offset, field = match[1], int(match[2] or 0), match[3]
    if role not in roles:
        raise UnknownNameError("role", role, list(roles), where=where)
    if field not in fields:
        raise UnknownNameError("field", field, list(fields), where=where)
    if abs(offset) > LARGEST_OFFSET:
        raise InputError(f"expected an offset of at most {LARGEST_OFFSET} words, got {atom!r}", field=where)
    if field in restricted and (role not in restricted[field] or offset):
        allowed = ", ".join(f"{each}.{field}" for each in roles if each in restricted[field]) or "none"
        raise InputError(f"expected a {field} of these: {allowed}; got {atom!r}", field=where)
    return roles[role], offset, fields[field]
