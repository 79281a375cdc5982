"""What a dev treebank must be like to judge a training."""

import logging
from dataclasses import replace

import pytest

from arbora.data.columns import columns_of
from arbora.data.synthetic import generate
from arbora.training.annotation import warn_of_unlike_dev


@pytest.fixture
def warned(caplog):
    def call(train, dev):
        caplog.clear()
        with caplog.at_level(logging.WARNING, "arbora"):
            warn_of_unlike_dev(columns_of(dev), columns_of(train))
        return [record.getMessage() for record in caplog.records]

    return call


def changed(sentences, **columns):
    """The sentences with something before each entry of these columns."""
    return [
        replace(
            s, **{name: tuple(mark + text for text in getattr(s, name)) for name, mark in columns.items()}
        )
        for s in sentences
    ]


def test_dev_of_another_kind_is_warned_of(warned):
    train, dev = list(generate(100, seed=1)), list(generate(30, seed=2))
    words = sum(map(len, dev))
    assert warned(train, dev) == []
    for columns, what in (
        ({"upos": "X"}, "UPOS tags"),
        ({"deprels": "x"}, "labels"),
        ({"upos": "X", "deprels": "x", "forms": "x"}, "UPOS tags"),  # one warning is enough
    ):
        (message,) = warned(train, changed(dev, **columns))
        assert (
            f"{words:,} of {words:,} {what} of dev are not in train; is it a treebank of the same" in message
        )
    assert warned(train, [replace(s, upos=("_",) * len(s)) for s in dev]) == []


def test_other_words_are_strange_in_large_treebanks_alone(warned):
    train, dev = list(generate(100, seed=1)), list(generate(30, seed=2))
    assert warned(train, changed(dev, forms="x")) == []
    (message,) = warned(train * 20, changed(dev, forms="x"))
    assert "words of dev are not in train" in message


def test_languages_are_told_apart(warned, real_sentences):
    english = real_sentences("UD_English-EWT", "en_ewt-ud-train.conllu", 1000)
    assert warned(english, real_sentences("UD_English-EWT", "en_ewt-ud-dev.conllu", 200)) == []
    (message,) = warned(english, real_sentences("UD_Turkish-IMST", "tr_imst-ud-dev.conllu", 200))
    assert "words of dev" in message
