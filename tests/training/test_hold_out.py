"""A part of the treebank as dev set."""

import numpy as np
import pytest
from errors import rejects
from graph_toys import treebank

from arbora.data.columns import Columns
from arbora.errors import InputError
from arbora.training import train
from arbora.training.annotation import BLOCK, hold_out, share_of

COLUMNS = treebank(1000, seed=1)


def texts(columns):
    return [" ".join(sentence.forms) for sentence in columns.sentences()]


@pytest.mark.parametrize("share", [0.1, 0.25, 1 / 3])
def test_held_out_blocks_are_spread_evenly(share):
    rest, held = hold_out(COLUMNS, share)
    assert len(rest) + len(held) == len(COLUMNS)
    assert len(held) == pytest.approx(share * len(COLUMNS), abs=2 * BLOCK)
    joined = Columns.concat([rest, held])
    assert sorted(texts(joined)) == sorted(texts(COLUMNS))
    first = set(texts(COLUMNS)[: len(COLUMNS) // 2])
    assert sum(text in first for text in texts(held)) == pytest.approx(len(held) / 2, abs=2 * BLOCK)


def test_small_treebanks_are_divided_by_sentences():
    rest, held = hold_out(COLUMNS.select(np.arange(20)), 0.1)
    assert (len(rest), len(held)) == (18, 2)


def test_sentences_without_heads_are_not_held_out():
    heads = np.array(COLUMNS.heads)
    heads[COLUMNS.offsets[1:-1:2]] = -1
    _, held = hold_out(
        Columns.from_arrays(COLUMNS.offsets, {"form": COLUMNS.texts("form")}, heads=heads),
        0.5,
        labelled=False,
    )
    assert len(held) > 50
    assert (held.heads >= 0).all()


def test_treebanks_that_cannot_be_divided_are_rejected():
    with rejects(InputError, field="dev"):
        hold_out(COLUMNS.select(np.arange(1)), 0.5)


@pytest.mark.parametrize(
    ("text", "share"), [("10%", 0.1), (" 2.5 %", 0.025), ("dev.conllu", None), (None, None)]
)
def test_shares(text, share):
    assert share_of(text) == (pytest.approx(share) if share else None)


@pytest.mark.parametrize("text", ["0%", "51%", "100%"])
def test_shares_out_of_range_are_rejected(text):
    with rejects(InputError, field="dev"):
        share_of(text)


def test_training_with_a_share_is_training_with_its_sentences(tmp_path):
    few = COLUMNS.select(np.arange(100))
    config = {"parser": "graph", "order": 1, "only": "parser", "parameters": {"epochs": 2}}
    rest, held = hold_out(few, 0.1)
    models = []
    for number, (part, dev) in enumerate(((few, "10%"), (rest, held))):
        found = train(part, dev, config=config)
        assert found.scores["uas"] > 0
        found.save(tmp_path / f"{number}.arbora")
        models.append((tmp_path / f"{number}.arbora").read_bytes())
    assert models[0] == models[1]
