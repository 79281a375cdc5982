"""Every kind of parser helps as far as it can, and says what it cannot do."""

from functools import lru_cache

import pytest
from annotation_toys import ROWS, draft
from graph_toys import config, treebank

import arbora
from arbora.annotation import arcs
from arbora.annotation.assistant import CONFLICT, NO_PROBABILITIES, NO_RANKING, NO_TREE_PROBABILITY, Assistant
from arbora.data.sentence import NO_HEAD
from arbora.pipeline.pipeline import Pipeline
from arbora.training import train

SHAPES = {
    "first": {"order": 1},
    "projective": {"order": 2, "trees": "projective"},
    "second": {"order": 2, "trees": "nonprojective"},
    "unlabelled": {"order": 1, "labels": "none"},
    "cube": {"parser": "cube", "order": 2},
    "transition": {"parser": "transition"},
}
CROSSING = "a DET 3 det|b NOUN 4 obj|c NOUN 0 root|d VERB 3 acl"


@lru_cache
def assistant(name):
    shape = dict(SHAPES[name])
    if name in ("cube", "transition"):
        parser = train(
            treebank(40), config={**shape, "only": "parser", "tree_bits": 12, "label_bits": 12}
        ).parser
    else:
        parser = train(treebank(40), config=config(epochs=2, **shape)).parser
    return Assistant(Pipeline(parser=parser), name, "given", 1)


@pytest.mark.parametrize("name", SHAPES)
def test_every_parser_helps(name):
    own = assistant(name)
    sentence = draft(trees=False)
    arcs.set_head(sentence, 2, 4, "flat", roots="single")
    notes = own.fill([sentence], "single")
    assert (sentence.node(2).head, sentence.node(2).deprel) == (4, "flat")
    assert notes in ([], [CONFLICT])
    assert (NO_HEAD in [node.head for node in sentence.nodes]) == bool(notes)
    belief = own.believe(sentence)
    assert own.knows_arcs == (NO_PROBABILITIES not in belief.notes)
    if own.knows_arcs:
        assert all(p is None or -1e-6 <= p <= 1 + 1e-6 for p in belief.heads)
        assert (belief.probability is None) == bool({NO_TREE_PROBABILITY, CONFLICT} & {*belief.notes})
    likely = own.choices(sentence, 1, 2)
    assert bool(likely.heads) == own.knows_arcs
    trees, notes = own.ranked(sentence, 3)
    assert trees or CONFLICT in notes
    assert own.ranks or {NO_RANKING, CONFLICT} & {*notes}


def test_crossing_decisions_and_projective_parsers():
    for name in ("first", "projective"):
        sentence = draft(CROSSING, trees=False)
        for word, head in ((1, 3), (2, 4)):
            arcs.set_head(sentence, word, head, None, roots="single")
        notes = assistant(name).fill([sentence, draft(ROWS, trees=False)], "single")
        assert sentence.decided_heads() == [3, 4, NO_HEAD, NO_HEAD]
        assert notes == ([] if NO_HEAD not in [node.head for node in sentence.nodes] else [CONFLICT])


def test_the_bundled_model_tags_and_ranks():
    """A neural parser, which predicts tags itself."""
    own = Assistant(arbora.load(), "english", "given", 1)
    sentence = draft("She _ 0 _|reads _ 0 _|old _ 0 _|books _ 0 _", trees=False)
    arcs.set_tags(sentence, 4, {"upos": "X"})
    assert own.fill([sentence], "single") == []
    assert [node.upos for node in sentence.nodes] == ["PRON", "VERB", "ADJ", "X"]
    assert [node.head for node in sentence.nodes] == [2, 0, 4, 2]
    assert [node.by("upos") for node in sentence.nodes] == ["parser", "parser", "parser", "human"]
    assert own.believe(sentence).probability > 0.1
    assert own.choices(sentence, 4, 2).labels[0][0] == "obj"
