"""zhang-nivre-v1: the rich set of transition parsers, after [zhang-2011].

Words and tags of the stack's and the buffer's first words, distance, valency, outermost dependents and the
next ones, heads and their heads, and sets of labels; also lemmas, fine tags, endings and morphology, and
the word below the stack's top.
"""

from arbora.features._templates import TransitionTemplates

MOVES = """
# Single words
l.form l.tag; l.form; l.lemma; l.tag; l.fine; r.form r.tag; r.form; r.lemma; r.tag; r.fine; n.form n.tag
n.form; n.tag; m.form m.tag; m.tag; l.feats l.tag; r.feats r.tag; l.suffix; r.suffix
# Several words
l.form l.tag r.form r.tag; l.form l.tag r.form; l.form r.form r.tag; l.form l.tag r.tag; l.tag r.form r.tag
l.lemma r.lemma; l.tag r.tag; l.fine r.fine; l.lemma r.fine; l.fine r.lemma; l.tag l.feats r.tag r.feats
r.tag n.tag; r.fine n.fine; r.tag n.tag m.tag; r.fine n.fine m.fine; l.tag r.tag n.tag; l.fine r.fine n.fine
l.fine r.fine n.fine m.fine; l.tag r.tag n.lemma; l.lemma r.tag n.tag; l.tag r.lemma n.tag
l.tag lh.tag r.tag; l.tag ll.tag r.tag; l.tag lr.tag r.tag; l.tag r.tag rl.tag
l.fine l+1.fine r-1.fine r.fine; l-1.tag l.tag r.tag; l.tag l+1.tag r-1.tag r.tag
l-1.fine l.fine r.fine n.fine; l.fine l+1.fine r.fine n.fine; l.suffix r.suffix; l.suffix r.tag
l.tag r.suffix; l.feats r.feats; l.feats r.form; l.form r.feats; l.lemma r.lemma n.lemma
l.lemma r.tag n.lemma; l.tag r.lemma n.lemma
# The word below the stack's top
u.tag; u.lemma; u.tag l.tag r.tag; u.fine l.fine r.fine; u.tag r.tag; u.lemma r.lemma; u.lemma r.tag
u.tag r.lemma; u.tag r.tag n.tag; u.label l.tag r.tag; u.tag l.lemma r.tag; u.lemma l.tag r.tag
u.tag l.tag r.lemma; u.lemma r.lemma n.lemma; u.fine l.fine r.fine n.fine
# Distance
l.form l.distance; l.tag l.distance; r.form l.distance; r.tag l.distance; l.form r.form l.distance
l.tag r.tag l.distance; l.fine r.fine l.distance
# Valency
l.form l.rights; l.tag l.rights; l.form l.lefts; l.tag l.lefts; r.form r.lefts; r.tag r.lefts
l.tag l.rights r.tag; l.lemma l.rights r.tag
# Heads and outermost dependents
lh.form; lh.tag; l.label; l.label l.tag r.tag; l.label l.lemma; ll.form; ll.tag; ll.label; lr.form; lr.tag
lr.label; rl.form; rl.tag; rl.label; lr.label l.tag r.tag; rl.label l.tag r.tag; lr.lemma r.lemma
l.tag r.tag rl.lemma; l.lemma r.tag rl.tag; l.tag r.lemma rl.tag; l.tag lr.lemma r.tag; l.lemma lr.tag r.tag
l.tag lr.tag r.lemma; rr.tag; rr.label; rr.label l.tag r.tag
# Third order
lg.form; lg.tag; lh.label; ll2.form; ll2.tag; ll2.label; lr2.form; lr2.tag; lr2.label; rl2.form; rl2.tag
rl2.label; l.tag ll.tag ll2.tag; l.tag lr.tag lr2.tag; l.tag lh.tag lg.tag; r.tag rl.tag rl2.tag
r.tag rr.tag rr2.tag
# Sets of labels
l.form l.rightset; l.tag l.rightset; l.form l.leftset; l.tag l.leftset; r.form r.leftset; r.tag r.leftset
l.tag l.rightset r.tag; r.tag r.leftset l.tag
""".replace("; ", "\n")

LABELS = """
d.form; d.lemma; d.tag; d.fine; d.tag d.feats; d.suffix; h.tag d.tag; h.fine d.fine; h.lemma d.tag
h.tag d.lemma; h.lemma d.lemma; h.fine d.form; h.form d.fine; h.tag h.feats d.tag d.feats
h.tag d-1.tag d.tag; h.tag d.tag d+1.tag; h.fine d-1.fine d.fine d+1.fine; h.tag d-1.lemma d.tag
h.lemma d.tag d+1.lemma; h.tag d.tag h.distance; s.label h.tag d.tag; s.label h.lemma d.tag
s.lemma h.tag d.tag; h.leftset h.tag d.tag; h.rightset h.tag d.tag; dl.tag h.tag d.tag; dl.lemma d.tag
dl.lemma h.tag d.tag; dl.label h.tag d.tag; dr.tag h.tag d.tag; dr.label h.tag d.tag; d.leftset d.tag h.tag
h.label h.tag d.tag; n.tag h.tag d.tag; n.lemma h.tag d.tag; n.lemma d.lemma; h.feats d.feats
h.lemma d.feats; d.suffix h.tag; dl.lemma h.lemma d.tag
""".replace("; ", "\n")

ZHANG_NIVRE_V1 = TransitionTemplates(
    name="zhang-nivre-v1",
    summary="words and tags around stack and buffer, distance, valency, third-order contexts, sets of labels",
    moves=MOVES,
    labels=LABELS,
)
