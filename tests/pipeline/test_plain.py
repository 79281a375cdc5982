"""The bundled model on thirty plain sentences of our own, whose trees are beyond doubt."""

from pathlib import Path

import pytest

import arbora
from arbora.evaluation.attachment import universal_part

PLAIN = Path(__file__).parents[1] / "data" / "plain.conllu"
SENTENCES = list(arbora.read(PLAIN))
ALWAYS = (
    "The Federal Reserve raised interest rates.",
    "Apple unveiled a new iPhone today, and shares rose.",
    "Who did you say that she met?",
)


@pytest.fixture(scope="module")
def nlp():
    return arbora.load()


def arcs(sentence):
    return [(word.form, word.head, universal_part(word.deprel)) for word in sentence]


def is_right(nlp, sentence):
    """Whether the text gives one sentence with the same words, heads and labels without subtypes."""
    found = nlp(sentence.text)
    return len(found) == 1 and arcs(found[0]) == arcs(sentence)


def test_28_of_30_trees_are_right(nlp):
    assert len(SENTENCES) == 30
    assert sum(is_right(nlp, sentence) for sentence in SENTENCES) >= 28


@pytest.mark.parametrize("text", ALWAYS)
def test_these_are_always_right(nlp, text):
    (sentence,) = [each for each in SENTENCES if each.text == text]
    assert is_right(nlp, sentence)
