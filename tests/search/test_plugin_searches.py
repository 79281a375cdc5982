"""Searches and losses from outside: what they get wrong is named, and what is right works."""

import numpy as np
import pytest
from errors import rejects
from graph_toys import treebank

import arbora
from arbora.costs import COST
from arbora.data.encode import Names
from arbora.errors import InputError
from arbora.inference import Best
from arbora.interfaces import PartKind, Query
from arbora.losses import Hinge
from arbora.parsing.parser import Parser
from arbora.pipeline.pipeline import Pipeline
from arbora.problems.scorer import ScorerProblem
from arbora.registry import Registry
from arbora.scorers import LinearScorer
from arbora.search.parts import PartSearch
from arbora.search.request import ParseRequest
from arbora.web.svg import draw_svg
from arbora.web.terminal import draw

COLUMNS = treebank(4, seed=3, longest=8)
NAMES = Names.of(COLUMNS)
BATCH = NAMES.batch(COLUMNS)


def chain(n):
    """Each word depends on the word before it."""
    return np.arange(-1, n, dtype=np.int32)


def search(heads_of):
    class Found(PartSearch):
        name = "found"

        def argmax(self, scores):
            n = len(scores[PartKind.ARC]) - 1
            return Best(heads_of(n), 0.0, None)

    return Found(LinearScorer.build(COLUMNS, NAMES, tree_bits=12))


def test_trees_are_accepted():
    heads, labels = search(chain).best(BATCH, ParseRequest())
    assert heads.tolist() == [head for n in BATCH.lengths.tolist() for head in range(n)]
    assert np.all(labels == -1)


@pytest.mark.parametrize(
    "heads_of",
    [
        lambda n: chain(n)[1:],
        lambda n: np.zeros(n + 1, np.int32),
        lambda n: np.append(-1, np.zeros(n, np.int32)),
        lambda n: np.append(-1, np.roll(np.arange(1, n + 1), 1)),
        lambda n: chain(n) + 100,
        lambda n: None,
    ],
    ids=["too short", "no -1", "several roots", "cycle", "out of range", "none"],
)
def test_other_answers_are_rejected(heads_of):
    with rejects(InputError, field="search"):
        search(heads_of).best(BATCH, ParseRequest())


def test_a_search_needs_argmax_or_a_family():
    made = PartSearch(LinearScorer.build(COLUMNS, NAMES, tree_bits=12))
    with rejects(InputError, field="search"):
        made.best(BATCH, ParseRequest())


def loss(change=None, **attributes):
    class Changed(Hinge):
        def __call__(self, scores, gold, family, cost):
            value, gradient = super().__call__(scores, gold, family, cost)
            return (value, gradient) if change is None else change(value, gradient)

    for name, value in attributes.items():
        setattr(Changed, name, value)
    return Changed()


def gradient_of(given):
    problem = ScorerProblem(search(chain), BATCH, given, COST)
    from arbora.interfaces import Weights

    return problem.gradient(np.arange(len(BATCH)), Weights(problem.size), Query.LOSS)


@pytest.mark.parametrize(
    "change",
    [
        lambda value, gradient: (np.nan, gradient),
        lambda value, gradient: value,
        lambda value, gradient: (value, gradient[PartKind.ARC]),
        lambda value, gradient: (value, {}),
        lambda value, gradient: (value, {PartKind.ARC: gradient[PartKind.ARC][1:]}),
        lambda value, gradient: (value, {PartKind.ARC: np.nan * gradient[PartKind.ARC]}),
    ],
    ids=["value", "a number", "an array", "no gradient", "shape", "gradient"],
)
def test_wrong_losses_are_rejected(change):
    gradient_of(loss())
    with rejects(InputError, field="loss"):
        gradient_of(loss(change))


def test_needs_must_be_a_set_of_queries():
    for needs in (None, [Query.ARGMAX]):
        with rejects(InputError, field="loss"):
            gradient_of(loss(needs=needs))


def test_names_must_agree():
    made = Registry("loss")
    made.register("hinge", Hinge)
    made.register("hinge", Hinge)
    with pytest.raises(InputError):
        made.register("other", Hinge)
    with pytest.raises(InputError):
        made.register("hinge", lambda: None)


def test_one_tree_has_no_probability():
    parser = Parser(names=NAMES, search=search(chain))
    sentence = ["She", "reads", "books"]
    assert parser.parse([sentence])[0].heads == (0, 1, 2)
    with rejects(InputError, field="marginals"):
        parser.parse([sentence], probabilities=True)
    with rejects(InputError, field="kbest"):
        parser.kbest(sentence, 2)
    nlp = Pipeline(parser=parser, segmenter=arbora.load().segmenter)
    (parsed,) = nlp("She reads books")
    assert parsed.heads == (0, 1, 2)
    assert parsed.probability is None
    assert parsed.entropy is None
    for word in parsed:
        assert (word.head_probability, word.label_probability, word.entropy) == (None, None, None)
    assert "Prob" not in parsed.to_conllu()
    assert "reads" in draw(parsed.tree, parsed.sentence.forms, probabilities=parsed.head_probabilities)
    assert draw_svg(parsed).count("P(head)") == 0
    assert [arc["label"] for arc in parsed.to_displacy()["arcs"]] == ["", ""]
    with rejects(InputError, field="marginals"):
        parsed.certain(0.5)
