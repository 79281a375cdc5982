"""nivre-v1: a compact set of transition parsers, after [nivre-2003], with all pairs of its features.

Some twenty words, tags and labels of a state; all pairs of them stand for the expanded quadratic kernel of
[johansson-2007].
"""

from arbora.features._templates import TransitionTemplates

MOVES = """
l.form; l.lemma; l.tag; l.fine; l.label; r.form; r.lemma; r.tag; r.fine; n.form; n.tag; n.fine; m.tag
m.fine; u.tag; u.fine; lh.form; lh.tag; ll.tag; ll.label; lr.tag; lr.label; rl.tag; rl.label
""".replace("; ", "\n")

LABELS = """
d.form; d.lemma; d.tag; d.fine; d.tag d.feats; h.tag d.tag; h.fine d.fine; h.lemma d.tag; h.tag d.lemma
h.lemma d.lemma; h.fine d.form; h.form d.fine; h.tag d-1.tag d.tag; h.tag d.tag d+1.tag
h.fine d-1.fine d.fine d+1.fine; s.label h.tag d.tag; s.label h.lemma d.tag; dl.tag h.tag d.tag
dl.lemma d.tag; dl.label h.tag d.tag; dr.label h.tag d.tag
""".replace("; ", "\n")

NIVRE_V1 = TransitionTemplates(
    name="nivre-v1",
    summary="words, tags and labels of the nearest words on stack and in buffer, and all pairs of these",
    moves=MOVES,
    labels=LABELS,
    quadratic=True,
)
