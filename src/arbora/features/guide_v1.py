"""guide-v1: what a parser looks at in the tree of another one, its guide; joined to any other set.

After [nivre-2008]: whether the guide has an arc, and its label, with the tags of the arc. Beyond the paper:
how its tree stands to an arc that it does not have, and the head that it gives instead (q). Few templates are
better than many: the more features agree with the guide, the less is learned by those that could correct it.

Transition parsers look at where the guide's heads of the two words in focus stand: at the other word, ahead,
below or gone, and at its labels. Beyond the paper: whether dependents are still to come, for which a word
must wait, or are on the stack, for whose sake what covers them must go.
"""

from __future__ import annotations

from dataclasses import replace

from arbora.features._templates import TemplateSet
from arbora.features._transitions import TransitionTemplates

SUFFIX = "+guide-v1"  # What the name of a set with these templates ends in

ARCS = """
d.guide h.tag d.tag; d.guide q.tag
""".replace("; ", "\n")

LABELS = """
d.guide; d.guide h.tag d.tag; d.guide d.lemma; d.guide q.tag d.tag
""".replace("; ", "\n")


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


def guided(base: TemplateSet) -> TemplateSet:
    """A set, with what guide-v1 looks at besides."""
    return replace(
        base,
        name=base.name + SUFFIX,
        summary=f"{base.name}, and the trees of a guide",
        guides=ARCS,
        guide_labels=LABELS,
    )


def guided_transitions(base: TransitionTemplates) -> TransitionTemplates:
    """The same for transition parsers."""
    return replace(
        base,
        name=base.name + SUFFIX,
        summary=f"{base.name}, and the trees of a guide",
        guides=MOVES,
        guide_labels=MOVE_LABELS,
    )
