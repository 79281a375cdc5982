"""guide-v1: what a parser looks at in the tree of another one, its guide; joined to any other set.

After [nivre-2008]: whether the guide has an arc, and its label, with the tags of the arc. Beyond the paper:
how its tree stands to an arc that it does not have, the head that it gives instead (q), and the labels that
it gives to head and neighbours.
"""

from __future__ import annotations

from dataclasses import replace

from arbora.features._templates import TemplateSet

SUFFIX = "+guide-v1"
"""What the name of a set with these templates ends in."""

ARCS = """
d.guide
d.tag
h.tag
h.tag d.tag
h.fine d.fine
h.lemma d.tag
h.tag d.lemma
d.guide d.tag
d.guide h.tag
d.guide h.tag d.tag
d.guide h.fine d.fine
d.guide d.lemma
d.guide h.lemma
h.guide d.guide
h.guide d.guide h.tag d.tag
q.tag h.tag d.tag
q.lemma d.tag
q.tag d.lemma
d.guide q.tag h.tag
"""

LABELS = """
d.guide
d.guide d.tag
d.guide h.tag
d.guide h.tag d.tag
d.guide h.fine d.fine
d.guide d.lemma
d.guide h.lemma
d.guide h.guide
d.guide h.guide h.tag
d.guide q.tag d.tag
d-1.guide d.guide
d.guide d+1.guide
s.guide d.guide
l.guide r.guide d.guide
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
