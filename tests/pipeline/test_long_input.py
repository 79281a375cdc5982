"""Long texts and treebanks are parsed piece by piece; tags and trees of a piece share a network's states."""

from itertools import chain

import numpy as np
import pytest
from neural_toys import neural_scorer
from pipeline_toys import columns, trained

from arbora.data.columns import PIECE
from arbora.data.encode import Names
from arbora.parsing.parser import Parser
from arbora.pipeline.pipeline import Pipeline
from arbora.scorers.neural import NeuralScorer
from arbora.search.neural import NeuralSearch

SENTENCES = [["Ann", "calls", f"{number}", "dogs", "."] for number in range(PIECE // 3)]


@pytest.fixture(scope="module")
def pipeline():
    treebank = columns()
    search = NeuralSearch(neural_scorer(treebank, predicted=("upos",)), trees="nonprojective", roots="single")
    parser = Parser(names=Names.of(treebank), search=search)
    return Pipeline(parser=parser, segmenter=trained().pipeline.segmenter)


@pytest.fixture
def encoded(monkeypatch):
    """The number of words of each piece whose states were computed."""
    found = []
    once = NeuralScorer.states

    def counted(self, columns, threads=1, guide=None):
        known = list(self._last)
        states = once(self, columns, threads, guide)
        if not any(states is each for _, each in known):
            found.append(columns.words)
        return states

    monkeypatch.setattr(NeuralScorer, "states", counted)
    return found


def test_texts(pipeline, encoded):
    text = " ".join(" ".join(words[:4]) + "." for words in SENTENCES)
    found = pipeline(text)
    assert sum(encoded) == sum(map(len, found)) == 5 * len(SENTENCES)
    assert len(encoded) == 2
    words = [text[word.start : word.end] for tree in found for word in tree]
    assert words == list(chain.from_iterable(SENTENCES))
    (alone,) = pipeline(f"{' '.join(SENTENCES[-1][:4])}.")
    assert found[-1].heads == alone.heads
    assert found[-1].probability == pytest.approx(alone.probability)


@pytest.mark.parametrize("probabilities", [False, True])
def test_lists_of_words(pipeline, encoded, probabilities):
    found = pipeline.parse(SENTENCES, probabilities=probabilities)
    assert sum(encoded) == 5 * len(SENTENCES)
    assert len(encoded) == 2
    assert [[word.form for word in tree] for tree in found] == SENTENCES
    (alone,) = pipeline.parse(SENTENCES[-1:])
    assert found[-1].heads == alone.heads


def test_nothing(pipeline):
    assert pipeline("") == pipeline.parse([]) == []
    assert np.array_equal(pipeline.segment("").columns.offsets, [0])
