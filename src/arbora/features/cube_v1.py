"""cube-v1: the set of parsers of higher order: graph-v1's arcs, siblings and grandparents, and contexts.

Contexts after [zhang-2012] and [zhang-2013]: grand-siblings and tri-siblings, valency, the outermost
dependents of a dependent on both sides at once, and the labels of all of these.
"""

from arbora.features import graph_v1
from arbora.features._templates import ContextGroup, TemplateSet

TRI_SIBLINGS = """
h.tag d.tag s.tag t.tag; d.tag s.tag t.tag; h.fine d.fine s.fine t.fine; h.lemma d.tag s.tag t.tag
h.tag d.lemma s.tag t.tag; h.tag d.tag s.lemma t.tag; h.tag d.tag s.tag t.lemma
""".replace("; ", "\n")

VALENCY = """
h.tag h.count; h.lemma h.count; h.tag h.count d.tag; h.lemma h.count d.tag; h.tag h.count d.label
h.lemma h.count d.label
""".replace("; ", "\n")

LABELLED_SIBLINGS = """
d.label s.label; d.label s.label h.tag; d.label s.label h.lemma; d.label s.label h.tag d.tag s.tag
d.label s.tag h.tag d.tag; d.label s.lemma h.tag d.tag; d.label s.tag h.lemma d.tag
d.label s.label t.tag h.tag
""".replace("; ", "\n")

GRAND_SIBLINGS = """
g.tag h.tag d.tag s.tag; g.fine h.fine d.fine s.fine; g.lemma h.tag d.tag s.tag; g.tag h.lemma d.tag s.tag
g.tag h.tag d.lemma s.tag; g.tag h.tag d.tag s.lemma; g.tag d.tag s.tag
""".replace("; ", "\n")

LABELLED_GRANDPARENTS = """
d.label g.tag h.tag d.tag; d.label g.lemma h.tag d.tag; d.label g.tag h.lemma d.tag
d.label g.tag h.tag d.lemma; h.label d.label; h.label d.label h.tag d.tag; h.label d.label h.lemma d.tag
h.label d.label g.tag h.tag; h.label d.tag h.tag
""".replace("; ", "\n")

OUTERMOST = """
h.tag d.tag l.tag r.tag; h.fine d.fine l.fine r.fine; d.label d.tag l.tag r.tag; d.label h.tag d.tag l.tag
d.label h.tag d.tag r.tag; d.label h.tag d.tag l.lemma; d.label h.tag d.tag r.lemma; d.label d.lemma l.form
d.label d.tag l.lemma; d.label h.lemma d.tag l.lemma; d.label l.label r.label d.tag
""".replace("; ", "\n")

VALENCIES = """
d.tag l.count r.count; d.lemma l.count r.count; d.label d.tag l.count r.count
d.label d.lemma l.count r.count
""".replace("; ", "\n")

CUBE_V1 = TemplateSet(
    name="cube-v1",
    summary="graph-v1's arcs, siblings and grandparents, with contexts of third order, valency and labels",
    arcs=graph_v1.ARCS,
    siblings=graph_v1.SIBLINGS,
    grandparents=graph_v1.GRANDPARENTS,
    labels=graph_v1.ARC_LABELS,
    contexts=(
        ContextGroup("labelled-siblings", "chains", 2, LABELLED_SIBLINGS),
        ContextGroup("labelled-grandparents", "lineages", 2, LABELLED_GRANDPARENTS),
        ContextGroup("tri-siblings", "chains", 3, TRI_SIBLINGS),
        ContextGroup("grand-siblings", "lineages", 3, GRAND_SIBLINGS),
        ContextGroup("valency", "chains", 3, VALENCY),
        ContextGroup("valencies", "closings", 3, VALENCIES),
        ContextGroup("outermost", "closings", 3, OUTERMOST),
    ),
)
