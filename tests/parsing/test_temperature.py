"""Temperatures: a known one is found again, training stores it, and calibration gets better by it."""

from dataclasses import replace

import numpy as np
import pytest
from graph_toys import config, treebank

from arbora.data.columns import columns_of, parse_text
from arbora.evaluation.calibration import measure
from arbora.parsing.calibration import fit_temperatures, minimize
from arbora.search.request import Temperatures
from arbora.training import train

TRAIN, DEV = treebank(60, seed=1), treebank(300, seed=2)


def with_drawn_trees(parser, temperatures, seed=0):
    """DEV with trees and labels that are drawn from the parser's own distribution."""
    random = np.random.default_rng(seed)
    hot = replace(parser, calibration=temperatures)
    heads = []
    for i, sentence in enumerate(DEV.sentences()):
        (drawn,) = hot.distribution(sentence).sample(1, seed=seed + i)
        heads.append(drawn.heads[1:])
    encoded = parser.encode(DEV)
    encoded.set_heads(np.concatenate(heads).astype(np.int32))
    found = parser.confidence(encoded, decode="given", temperatures=temperatures, label_table=True)
    table = found.label_table.reshape(DEV.words, -1)
    labels = [random.choice(table.shape[1], p=row) for row in table]
    parsed = DEV.with_trees(found.heads, np.array(labels, dtype=np.int32), parser.names.labels)
    text = parsed.to_bytes().decode()
    return parse_text(text, "conllu")


@pytest.mark.parametrize("trees", ["projective", "nonprojective"])
def test_a_known_temperature_is_found_again(trees):
    options = {"order": 1, "trees": trees, "roots": "multi", "pruner": False, "labels": "joint"}
    parser = train(TRAIN, config=config(epochs=2, **options)).parser
    for known in (Temperatures(trees=0.3, labels=0.2), Temperatures(trees=0.8, labels=0.4)):
        found = fit_temperatures(parser, with_drawn_trees(parser, known))
        assert found.labels == pytest.approx(known.labels, rel=0.2)
        assert found.trees == pytest.approx(known.trees, rel=0.2)
        assert found.missed < 0.05
        right = with_drawn_trees(parser, known, seed=5000)
        confidence = parser.confidence(right, temperatures=found)
        assert measure(confidence.head_probabilities, confidence.heads == right.heads).ece < 0.06


def test_the_least_loss_is_found():
    for best in (0.1, 1.0, 7.0):
        assert minimize(lambda t, best=best: (np.log(t) - np.log(best)) ** 2) == pytest.approx(best, rel=0.03)


def test_training_with_dev_calibrates():
    options = {"order": 1, "pruner": False}
    trained = train(TRAIN, DEV, config=config(epochs=2, **options)).parser
    assert trained.is_calibrated
    assert trained.calibration == fit_temperatures(trained, DEV, threads=2)
    found = trained.confidence(DEV)
    plain = trained.confidence(DEV, temperatures=Temperatures())
    right = found.heads == DEV.heads
    assert np.array_equal(found.heads, plain.heads)
    before, after = (measure(each.head_probabilities, right).brier for each in (plain, found))
    assert after <= before
    assert not train(TRAIN, config=config(epochs=1, **options)).parser.is_calibrated


def test_dev_sets_that_tell_nothing():
    parser = train(TRAIN, config=config(epochs=2)).parser
    own = columns_of(parser.parse(DEV.sentences()))  # all right: the surer the better
    found = fit_temperatures(parser, own)
    assert found.missed == 0.0
    assert found.trees < 0.1
    odd = columns_of([replace(s, deprels=("odd",) * len(s)) for s in DEV.sentences()])
    assert fit_temperatures(parser, odd).labels == 1.0
