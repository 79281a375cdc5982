"""What every learner promises with every kind of parser: a new one is tested by existing.

A learner whose queries a parser answers trains it: the model learns, goes through a file, and resumes to the
same bytes. Any other pair is rejected before training begins.
"""

import itertools
from importlib.util import find_spec

import numpy as np
import pytest
from errors import rejects
from graph_toys import config, treebank

from arbora.errors import InputError
from arbora.interfaces import Query
from arbora.parsing.parser import Parser
from arbora.progress import Silent
from arbora.registry import learners
from arbora.training import train
from arbora.training.config import make_config
from arbora.training.parser import ParserTraining
from arbora.training.recipes import trained_parsers

TRAIN, DEV = treebank(24, seed=1), treebank(8, seed=2)
PARSERS = [name for name in trained_parsers() if name != "neural" or find_spec("torch")]
SHAPES = {"graph": {"order": 1, "labels": "joint"}, "exact": {"scorer_settings": {"tree_bits": 12}}}
PARAMETERS = {
    "log_linear": {"iterations": 2},
    "adamw": {"rate": 0.05, "k": 4},
    "muon": {"rate": 0.05, "k": 4},
}
ANSWERED = {
    "graph": set(learners) - {"adamw", "exponentiated_gradient", "muon"},
    "cube": {"perceptron", "mira", "passive_aggressive", "au", "spv", "mec", "pegasos", "one_slack"},
    "transition": {"perceptron", "mira", "passive_aggressive", "au", "spv", "mec", "pegasos", "one_slack"},
}
"""The pairs that must work. A parser of which nothing is written here must work with some learner."""


def settings(parser, learner):
    parameters = {"epochs": 2, **PARAMETERS.get(learner, {})}
    shape = SHAPES.get(parser, {})
    return config(parser=parser, learner=learner, trees="projective", parameters=parameters, **shape)


def is_answered(parser, learner):
    try:
        ParserTraining(TRAIN, None, make_config(settings(parser, learner)), 1, Silent())
    except InputError as error:
        if error.field != "learner":
            raise
        return False
    return True


@pytest.mark.parametrize(("parser", "learner"), list(itertools.product(PARSERS, learners)))
def test_every_learner_with_every_parser(parser, learner, tmp_path):
    if not is_answered(parser, learner):
        assert learner not in ANSWERED.get(parser, ())
        with rejects(InputError, field="learner"):
            train(TRAIN, DEV, config=settings(parser, learner))
        return
    path = tmp_path / "checkpoint"
    trained = train(TRAIN, DEV, config=settings(parser, learner), checkpoint=path)
    trained.parser.save(tmp_path / "model")
    loaded = Parser.load(tmp_path / "model")
    for found, expected in zip(loaded.trees(DEV), trained.parser.trees(DEV), strict=True):
        assert np.array_equal(found, expected)
    about = loaded.about["config"]
    assert (about["parser"], about["learner"]) == (parser, learner)
    assert about["parameters"].keys() == learners.create(learner).settings().keys()
    resumed = train(TRAIN, DEV, config=settings(parser, learner), checkpoint=path, resume=True)
    resumed.parser.save(tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


@pytest.mark.parametrize("parser", PARSERS)
def test_every_parser_answers_what_it_says(parser):
    learner = next(name for name in learners if is_answered(parser, name))
    found = train(TRAIN, DEV, config=settings(parser, learner)).parser
    sentence = next(iter(DEV.sentences()))
    asks = {
        Query.ARGMAX: lambda: found.parse([sentence]),
        Query.KBEST: lambda: found.kbest(sentence, 3),
        Query.MARGINALS: lambda: found.parse([sentence], probabilities=True),
        Query.GIVEN_HEADS: lambda: found.parse([sentence], keep_heads=True),
    }
    assert Query.ARGMAX in found.queries
    for query, ask in asks.items():
        if query in found.queries:
            assert ask()
        else:
            with rejects(InputError, field=query.value):
                ask()
    if Query.MARGINALS not in found.queries:
        assert not found.is_calibrated
    assert found.queries <= set(Query)
    assert found.search.describe()
