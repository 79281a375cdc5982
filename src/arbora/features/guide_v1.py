"""guide-v1: features of the tree of another parser, the guide; added to any other set.

After [nivre-2008]: whether the guide has an arc, and its label, with the tags of the arc. Beyond the paper:
how its tree relates to an arc that it does not have, and the head that it gives instead (q). Few templates
are better than many: the more features agree with the guide, the less those that could correct it learn.

For transition parsers: where the heads that the guide gives to the two words in focus are (the other word,
ahead, below or gone), and their labels. Beyond the paper: how many dependents are still in the buffer, for
which a word must wait, or on the stack, which must be uncovered first.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from arbora.features._templates import Templates, TemplateSet
from arbora.features.clusters_v1 import (
    CLUSTERED_CUBE_V1,
    CLUSTERED_GRAPH_V1,
    CLUSTERED_NIVRE_V1,
    CLUSTERED_ZHANG_NIVRE_V1,
)
from arbora.features.cube_v1 import CUBE_V1
from arbora.features.graph_v1 import GRAPH_V1
from arbora.features.nivre_v1 import NIVRE_V1
from arbora.features.zhang_nivre_v1 import ZHANG_NIVRE_V1

T = TypeVar("T", bound=Templates)

SUFFIX = "+guide-v1"  # Ends the name of a set with these templates

ARCS = "d.guide h.tag d.tag; d.guide q.tag".replace("; ", "\n")
LABELS = "d.guide; d.guide h.tag d.tag; d.guide d.lemma; d.guide q.tag d.tag".replace("; ", "\n")

MOVES = """
l.headplace r.headplace; l.headplace r.headplace l.label; l.headplace r.headplace l.tag r.tag
l.headplace r.headplace l.ahead r.ahead l.behind r.behind; l.headplace l.guide r.headplace r.guide
l.headplace l.guide l.tag r.tag; r.headplace r.guide l.tag r.tag; l.headplace lq.tag l.tag
r.headplace rq.tag r.tag
""".replace("; ", "\n")

MOVE_LABELS = """
d.headplace d.guide; d.headplace d.guide h.tag d.tag; d.headplace d.guide d.lemma
d.headplace d.guide dq.tag d.tag
""".replace("; ", "\n")


def guided(base: T) -> T:
    """A set with the templates of guide-v1 added."""
    own, labels = (ARCS, LABELS) if isinstance(base, TemplateSet) else (MOVES, MOVE_LABELS)
    name, summary = base.name + SUFFIX, f"{base.name}, and the trees of a guide"
    return replace(base, name=name, summary=summary, guides=own, guide_labels=labels)


GUIDED_GRAPH_V1, GUIDED_CUBE_V1 = guided(GRAPH_V1), guided(CUBE_V1)
GUIDED_ZHANG_NIVRE_V1, GUIDED_NIVRE_V1 = guided(ZHANG_NIVRE_V1), guided(NIVRE_V1)
GUIDED_CLUSTERED_GRAPH_V1, GUIDED_CLUSTERED_CUBE_V1 = guided(CLUSTERED_GRAPH_V1), guided(CLUSTERED_CUBE_V1)
GUIDED_CLUSTERED_ZHANG_NIVRE_V1 = guided(CLUSTERED_ZHANG_NIVRE_V1)
GUIDED_CLUSTERED_NIVRE_V1 = guided(CLUSTERED_NIVRE_V1)
