"""guide-v1: what a parser looks at in the tree of another one, its guide; joined to any other set.

After [nivre-2008]: whether the guide has an arc, and its label, with the tags of the arc. Beyond the paper:
how its tree stands to an arc that it does not have, and the head that it gives instead (q). Few templates are
better than many: the more features agree with the guide, the less is learned by those that could correct it.
"""

from __future__ import annotations

from dataclasses import replace

from arbora.features._templates import TemplateSet

SUFFIX = "+guide-v1"
"""What the name of a set with these templates ends in."""

ARCS = """
d.guide h.tag d.tag
d.guide q.tag
"""

LABELS = """
d.guide
d.guide h.tag d.tag
d.guide d.lemma
d.guide q.tag d.tag
"""


def guided(base: TemplateSet) -> TemplateSet:
    """A set, with what guide-v1 looks at besides."""
    return replace(
        base,
        name=base.name + SUFFIX,
        summary=f"{base.name}, and the trees of a guide",
        guides=ARCS,
        guide_labels=LABELS,
    )
