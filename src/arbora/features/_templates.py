"""Template sets: the features of a parser, written as text and compiled for the core.

One template per line, a conjunction of atoms `role.field`; `#` starts a comment. A role may have an offset:
`h-1.tag` is the coarse tag of the word before the head. docs/extending.md lists all roles and fields.

Direction is part of every template, and distance of all templates of arcs: one weight without it, one with
it. Each template about a guide, a parser whose trees are given, includes how the guide's tree relates to the
arc: it has the arc, has it reversed, or has another head instead, and which.

Contexts, for higher-order parsers, look at up to four nodes of a tree at once, and also at labels and numbers
of dependents: `d.label`, `l.count`. There are three kinds, see `CONTEXT_ROLES`.

Sets of transition parsers describe a state. The next arc joins two words, l and r: the stack's top and the
buffer's front in the arc-eager system, the two topmost words of the stack in others. So one set serves all
systems. docs/transition.md lists all roles and fields. `ahead` and `behind` do not count the two words in
focus.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from types import MappingProxyType
from typing import ClassVar, Literal, TypeAlias

from arbora.errors import InputError, UnknownNameError

Atom: TypeAlias = tuple[int, int, int]
Template: TypeAlias = list[Atom]
Restricted: TypeAlias = Mapping[str, Collection[str]]
"""The only roles that have a field."""

ROLES = {role: number for number, role in enumerate("hdsbglrq")}
NAMES = ("form", "lemma", "tag", "fine", "feats", "prefix", "suffix", "ending", "shape")
CLUSTER_NAMES = ("cluster", "cluster4", "cluster6", "cluster8")
"""All branches of a word's cluster, and the first ones."""
ALL_FIELDS = {name: number for number, name in enumerate((*NAMES, "guide", *CLUSTER_NAMES))}
"""Numbered as in core/features."""
FIELDS = {name: number for name, number in ALL_FIELDS.items() if name != "guide"}
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
CONTEXT_FIELDS = {**FIELDS, "label": len(ALL_FIELDS), "count": len(ALL_FIELDS) + 1}
CONTEXT_RESTRICTED: dict[ContextKind, Restricted] = {
    "chains": {"label": "ds", "count": "h"},
    "lineages": {"label": "hds", "count": ""},
    "closings": {"label": "dlr", "count": "lr"},
}

STACK_AND_BUFFER = ("l", "r", "u", "n", "m", "lh", "lg")
DEPENDENTS = ("ll", "ll2", "lr", "lr2", "rl", "rl2", "rr", "rr2")
MOVE_ROLES = (*STACK_AND_BUFFER, *DEPENDENTS)
MOVE_GUIDE_ROLES = ("lq", "rq")
LABEL_ROLES = ("h", "d", "s", "dl", "dr")
STATE_ROLES = (*MOVE_ROLES, *MOVE_GUIDE_ROLES, *LABEL_ROLES, "dq")
"""Numbered as in core/search/transition."""
COUNT_FIELDS = ("lefts", "rights", "leftset", "rightset")
GUIDE_COUNT_FIELDS = ("headplace", "ahead", "behind")
STATE_NAMES = (*ALL_FIELDS, "label", *COUNT_FIELDS, "distance", *GUIDE_COUNT_FIELDS)
STATE_FIELDS = {name: number for number, name in enumerate(STATE_NAMES)}

_ATOM = re.compile(r"([a-z]+2?)([+-]\d+)?\.([a-z]+\d?)")
_CLUSTER = re.compile(r"\.cluster")


@dataclass(frozen=True)
class ContextGroup:
    """Context templates under a name, so that they can be left out together."""

    name: str
    kind: ContextKind
    order: Literal[2, 3]  # The lowest order of parsers that have it
    templates: str

    def compiled(self, *, labelled: bool) -> list[Template]:
        """Atoms as (role, offset, field) numbers; only templates without labels unless `labelled`."""
        roles = {role: number for number, role in enumerate(CONTEXT_ROLES[self.kind])}
        restricted = CONTEXT_RESTRICTED[self.kind]
        templates = compile_templates(self.templates, roles, self.name, CONTEXT_FIELDS, restricted)
        label = CONTEXT_FIELDS["label"]
        return [each for each in templates if labelled or all(field != label for _, _, field in each)]


@dataclass(frozen=True, kw_only=True)
class Templates:
    """A named, versioned set of templates. Saved models name it, so a released set never changes."""

    name: str
    summary: str
    labels: str = ""
    guides: str = ""
    """For arcs or moves, about a guide."""
    guide_labels: str = ""

    kinds: ClassVar[Mapping[str, Sequence[str]]]
    """The roles that the templates of each kind may have."""
    roles: ClassVar[Mapping[str, int]]
    fields: ClassVar[Mapping[str, int]]
    guide_fields: ClassVar[Mapping[str, int]]
    restricted: ClassVar[Restricted] = MappingProxyType({})

    @property
    def needs_guide(self) -> bool:
        """Whether it looks at the trees of another parser."""
        return bool(self.guides or self.guide_labels)

    @property
    def needs_clusters(self) -> bool:
        """Whether it looks at clusters of words."""
        return any(_CLUSTER.search(text) for text in self.texts.values())

    @property
    def texts(self) -> dict[str, str]:
        """The templates by what they score."""
        return {kind: getattr(self, kind) for kind in self.kinds}

    def compile_kind(self, kind: str) -> list[Template]:
        """Atoms as (role, offset, field) numbers; InputError for a malformed one."""
        roles = {role: self.roles[role] for role in self.kinds[kind]}
        fields = self.guide_fields if kind.startswith("guide") else self.fields
        return compile_templates(getattr(self, kind), roles, f"{self.name}: {kind}", fields, self.restricted)


@dataclass(frozen=True, kw_only=True)
class TemplateSet(Templates):
    """The templates of a graph parser."""

    arcs: str
    siblings: str = ""
    grandparents: str = ""
    contexts: tuple[ContextGroup, ...] = ()

    kinds: ClassVar = {
        "arcs": "hdb",
        "siblings": "hds",
        "grandparents": "hdg",
        "labels": "hdsglr",
        "guides": "hdq",
        "guide_labels": "hdsglrq",
    }
    roles = ROLES
    fields = FIELDS
    guide_fields = ALL_FIELDS

    @property
    def texts(self) -> dict[str, str]:
        return {**super().texts, **{group.name: group.templates for group in self.contexts}}

    @cached_property
    def compiled(self) -> dict[str, list[Template]]:
        """The templates by kind of part; InputError for a malformed one."""
        kinds = [kind for kind in self.kinds if self.needs_guide or not kind.startswith("guide")]
        return {kind: self.compile_kind(kind) for kind in kinds}

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


@dataclass(frozen=True, kw_only=True)
class TransitionTemplates(Templates):
    """The templates of a transition parser."""

    moves: str
    quadratic: bool = False
    """Also use all pairs of templates of moves, without those about a guide."""

    kinds: ClassVar = {
        "moves": MOVE_ROLES,
        "labels": (*MOVE_ROLES, *LABEL_ROLES),
        "guides": (*MOVE_ROLES, *MOVE_GUIDE_ROLES),
        "guide_labels": STATE_ROLES,
    }
    roles: ClassVar = {name: number for number, name in enumerate(STATE_ROLES)}
    fields: ClassVar = {
        name: n for name, n in STATE_FIELDS.items() if name not in ("guide", *GUIDE_COUNT_FIELDS)
    }
    guide_fields = STATE_FIELDS
    restricted: ClassVar = {
        "distance": ("l", "h"),
        # The arcs of the others are not known yet, or no longer.
        "label": set(STATE_ROLES) - {"n", "m", "lg", "lq", "rq", "dq"},
        **dict.fromkeys((*COUNT_FIELDS, *GUIDE_COUNT_FIELDS), ("l", "r", "h", "d")),
    }

    @cached_property
    def compiled(self) -> dict[str, list[Template]]:
        """The templates of moves and labels; InputError for a malformed one."""
        moves, labels = self.compile_kind("moves"), self.compile_kind("labels")
        if self.quadratic:
            moves += [[*a, *b] for a, b in combinations(moves, 2)]
        # After all others, which so keep the weights that they have without a guide.
        return {
            "moves": moves + self.compile_kind("guides"),
            "labels": labels + self.compile_kind("guide_labels"),
        }


def compile_templates(
    text: str, roles: Mapping[str, int], where: str, fields: Mapping[str, int], restricted: Restricted
) -> list[Template]:
    """Compile one template per line; `restricted`: the only roles that have a field, without offset."""
    templates = []
    for number, line in enumerate(text.strip().splitlines(), start=1):
        place = f"{where}, template {number}"
        words = line.partition("#")[0].split()
        if words:
            templates.append([_compile_atom(word, roles, place, fields, restricted) for word in words])
    return templates


def _compile_atom(
    atom: str, roles: Mapping[str, int], where: str, fields: Mapping[str, int], restricted: Restricted
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
