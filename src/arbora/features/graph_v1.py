"""graph-v1: the standard set of graph parsers, first and second order.

After [mcdonald-2005] and [mcdonald-2006] for arcs and siblings, with lemmas, coarse and fine tags,
morphological features and longer contexts; grandparents as siblings; labels see the tree around the arc.
"""

from arbora.features._templates import TemplateSet

ARCS = """
h.form; h.lemma; h.tag; h.fine; h.form h.tag; h.lemma h.tag; h.tag h.feats; h.suffix; h.shape; h-1.tag h.tag
h.tag h+1.tag; h-1.tag h.tag h+1.tag; h-1.fine h.fine h+1.fine; h.fine h+1.fine; h-1.fine h.fine; d.form
d.lemma; d.tag; d.fine; d.form d.tag; d.lemma d.tag; d.tag d.feats; d.suffix; d.shape; d-1.tag d.tag
d.tag d+1.tag; d-1.tag d.tag d+1.tag; d-1.fine d.fine d+1.fine; d.fine d+1.fine; d-1.fine d.fine
d-1.form d.tag; d.tag d+1.form; h.tag d.tag; h.fine d.fine; h.tag h.feats d.tag d.feats; h.form d.form
h.lemma d.lemma; h.form d.tag; h.tag d.form; h.lemma d.fine; h.fine d.lemma; h.form h.fine d.form d.fine
h.lemma h.tag d.lemma d.tag; h.form d.form d.tag; h.form h.tag d.form; h.form h.fine d.fine
h.fine d.form d.fine; h.suffix d.suffix; h.suffix d.tag; h.tag d.suffix; h.feats d.form; h.form d.feats
h.tag h+1.tag d-1.tag d.tag; h-1.tag h.tag d-1.tag d.tag; h.tag h+1.tag d.tag d+1.tag
h-1.tag h.tag d.tag d+1.tag; h.fine h+1.fine d-1.fine d.fine; h-1.fine h.fine d-1.fine d.fine
h.fine h+1.fine d.fine d+1.fine; h-1.fine h.fine d.fine d+1.fine; h-1.tag h.tag d.tag; h.tag h+1.tag d.tag
h.tag d-1.tag d.tag; h.tag d.tag d+1.tag; h-1.fine h.fine d.fine; h.fine h+1.fine d.fine
h.fine d-1.fine d.fine; h.fine d.fine d+1.fine; h-1.tag h.tag h+1.tag d.tag; h.tag d-1.tag d.tag d+1.tag
h.lemma d-1.tag d.tag; h.lemma d.tag d+1.tag; h.tag h+1.tag d.lemma; h-1.tag h.tag d.lemma
h.lemma d-1.lemma d.tag; h.tag d-2.tag d-1.tag d.tag; h.tag d.tag d+1.tag d+2.tag; b.tag h.tag d.tag
b.tag h.fine d.fine; b.tag h.lemma d.tag; b.tag h.tag d.lemma
""".replace("; ", "\n")

SIBLINGS = """
h.tag s.tag d.tag; h.fine s.fine d.fine; s.tag d.tag; s.fine d.fine; s.form d.form; s.lemma d.lemma
s.form d.tag; s.tag d.form; s.lemma d.fine; s.fine d.lemma; h.tag s.lemma d.tag; h.lemma s.tag d.tag
h.tag s.tag d.lemma; h.lemma s.lemma d.tag; h.lemma s.tag d.lemma; h.tag s.lemma d.lemma
h.lemma s.lemma d.lemma; h.form s.fine d.fine; h.fine s.fine d.form; h.fine s.form d.fine
h.tag s.tag d.tag d+1.tag; h.tag s.tag d-1.tag d.tag; h.tag s-1.tag s.tag d.tag; h.tag s.tag s+1.tag d.tag
h.tag h+1.tag s.tag d.tag; h-1.tag h.tag s.tag d.tag; h.feats s.feats d.feats; s.feats d.feats
""".replace("; ", "\n")

GRANDPARENTS = """
g.tag h.tag d.tag; g.fine h.fine d.fine; g.tag d.tag; g.fine d.fine; g.lemma d.lemma; g.form d.form
g.lemma d.tag; g.tag d.lemma; g.lemma h.tag d.tag; g.tag h.lemma d.tag; g.tag h.tag d.lemma
g.lemma h.lemma d.tag; g.lemma h.tag d.lemma; g.tag h.lemma d.lemma; g.lemma h.lemma d.lemma
g.form h.fine d.fine; g.fine h.form d.fine; g.fine h.fine d.form; g.tag h.tag d-1.tag d.tag
g.tag h.tag d.tag d+1.tag; g.tag h-1.tag h.tag d.tag; g.tag h.tag h+1.tag d.tag; g-1.tag g.tag h.tag d.tag
g.tag g+1.tag h.tag d.tag; g.feats h.feats d.feats
""".replace("; ", "\n")

ARC_LABELS = """
d.form; d.lemma; d.tag; d.fine; d.tag d.feats; d.suffix; h.tag d.tag; h.fine d.fine; h.lemma d.tag
h.tag d.lemma; h.lemma d.fine; h.fine d.lemma; h.lemma d.lemma; h.form d.form; h.fine d.form; h.form d.fine
h.tag h.feats d.tag d.feats; h.tag d-1.tag d.tag; h.tag d.tag d+1.tag; h-1.tag h.tag d.tag
h.tag h+1.tag d.tag; h.fine d-1.fine d.fine d+1.fine; h.lemma d-1.lemma d.tag; h.lemma d.tag d+1.lemma
h.tag d-1.lemma d.lemma; h.tag d-1.lemma d.tag; d-1.lemma d.tag; d.tag d+1.lemma; d-1.lemma d.lemma
d.lemma d+1.lemma
""".replace("; ", "\n")

TREE_LABELS = """
s.tag h.tag d.tag; s.lemma h.tag d.tag; s.tag h.lemma d.tag; g.tag h.tag d.tag; g.tag h.lemma d.tag
g.lemma h.tag d.tag; l.tag h.tag d.tag; l.lemma h.tag d.tag; r.tag h.tag d.tag; r.lemma h.tag d.tag
l.tag l.form d.lemma; l.fine r.fine h.fine d.fine; l.lemma d.tag; l.lemma h.lemma d.tag
""".replace("; ", "\n")

GRAPH_V1 = TemplateSet(
    name="graph-v1",
    summary="words, lemmas, tags, morphology and contexts of arcs, siblings, grandparents and labels",
    arcs=ARCS,
    siblings=SIBLINGS,
    grandparents=GRANDPARENTS,
    labels=ARC_LABELS + TREE_LABELS,
)
