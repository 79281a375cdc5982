"""clusters-v1: features of clusters of words, added to any other set.

After [koo-2008]: short prefixes of clusters in place of tags, long ones in place of words, and both mixed.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from arbora.features._templates import Templates, TransitionTemplates
from arbora.features.cube_v1 import CUBE_V1
from arbora.features.graph_v1 import GRAPH_V1
from arbora.features.nivre_v1 import NIVRE_V1
from arbora.features.zhang_nivre_v1 import ZHANG_NIVRE_V1

T = TypeVar("T", bound=Templates)

SUFFIX = "+clusters-v1"  # Ends the name of a set with these templates

ARCS = """
h.cluster4 d.cluster4; h.cluster6 d.cluster6; h.cluster8 d.cluster8; h.cluster d.cluster
h.cluster4 d.tag; h.tag d.cluster4; h.cluster6 d.tag; h.tag d.cluster6; h.cluster d.tag; h.tag d.cluster
h.cluster4 h.tag d.cluster4 d.tag; h.cluster6 h.tag d.cluster6 d.tag
h.cluster d.lemma; h.lemma d.cluster; h.cluster; d.cluster; h.cluster6 h.tag; d.cluster6 d.tag
""".replace("; ", "\n")

SIBLINGS = """
h.cluster4 s.cluster4 d.cluster4; h.cluster6 s.cluster6 d.cluster6; s.cluster6 d.cluster6
h.tag s.cluster4 d.cluster4; h.cluster4 s.tag d.cluster4; h.cluster4 s.cluster4 d.tag
""".replace("; ", "\n")

GRANDPARENTS = """
g.cluster4 h.cluster4 d.cluster4; g.cluster6 h.cluster6 d.cluster6; g.cluster6 d.cluster6
g.tag h.cluster4 d.cluster4; g.cluster4 h.tag d.cluster4; g.cluster4 h.cluster4 d.tag
""".replace("; ", "\n")

LABELS = """
d.cluster; d.cluster6 d.tag; h.cluster6 d.cluster6; h.cluster d.tag; h.tag d.cluster; h.cluster d.cluster
h.cluster4 d.cluster4 h.tag d.tag; h.lemma d.cluster; h.cluster d.lemma
""".replace("; ", "\n")

MOVES = """
l.cluster; r.cluster; l.cluster6 r.cluster6; l.cluster r.cluster; l.cluster6 r.tag; l.tag r.cluster6
l.cluster r.tag; l.tag r.cluster; l.cluster4 r.cluster4 l.tag r.tag; n.cluster6
l.cluster4 r.cluster4 n.cluster4
u.cluster6 r.cluster6; u.cluster4 l.cluster4 r.cluster4
""".replace("; ", "\n")


PAIRED_MOVES = "l.cluster; l.cluster6; r.cluster; r.cluster6; n.cluster6".replace("; ", "\n")
"""For sets that use all pairs of templates."""


def clustered(base: T) -> T:
    """A set with the templates of clusters-v1 added after its own."""
    added = {"labels": LABELS}
    if isinstance(base, TransitionTemplates):
        added["moves"] = PAIRED_MOVES if base.quadratic else MOVES
    else:
        added |= {"arcs": ARCS, "siblings": SIBLINGS, "grandparents": GRANDPARENTS}
    texts: dict[str, Any] = {kind: f"{getattr(base, kind)}\n{more}" for kind, more in added.items()}
    return replace(base, name=base.name + SUFFIX, summary=f"{base.name}, and clusters of words", **texts)


CLUSTERED_GRAPH_V1, CLUSTERED_CUBE_V1 = clustered(GRAPH_V1), clustered(CUBE_V1)
CLUSTERED_ZHANG_NIVRE_V1, CLUSTERED_NIVRE_V1 = clustered(ZHANG_NIVRE_V1), clustered(NIVRE_V1)
