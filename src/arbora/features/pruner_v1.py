"""pruner-v1: a small set for the first stage that leaves each word a few heads; mostly tags."""

from arbora.features._templates import TemplateSet

ARCS = """
h.tag d.tag; h.fine d.fine; h.tag; d.tag; h.fine; d.fine; h.lemma; d.lemma; h.lemma d.tag; h.tag d.lemma
h.tag h+1.tag d-1.tag d.tag; h-1.tag h.tag d-1.tag d.tag; h.tag h+1.tag d.tag d+1.tag
h-1.tag h.tag d.tag d+1.tag; h.fine d-1.fine d.fine; h.fine d.fine d+1.fine; h-1.fine h.fine d.fine
h.fine h+1.fine d.fine; h.lemma d.lemma; b.tag h.tag d.tag
""".replace("; ", "\n")

PRUNER_V1 = TemplateSet(
    name="pruner-v1", summary="tags and lemmas of arcs: small and fast, for pruning", arcs=ARCS
)
