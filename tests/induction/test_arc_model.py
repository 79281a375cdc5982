"""Features of arcs over tags, and the model of their weights, against loops over words."""

import numpy as np
import pytest

from arbora.induction.arc_model import DISTANCES, ArcFeatures, ArcModel, pair_table
from arbora.interfaces import PartKind


def slow_features(tags, head, dep):
    """The seven templates of an arc, as tuples; -1 stands for the root, -2 for what lies beyond."""
    nodes = dict(enumerate([-1, *tags]))
    i, j = nodes[head], nodes[dep]
    distance = abs(head - dep)
    stretch = (distance if distance <= 5 else 6 if distance <= 10 else 7, head < dep)
    around = [nodes.get(place, -2) for place in (head - 1, head + 1, dep - 1, dep + 1)]
    combined = [(i,), (j,), (i, j), *((i, j, tag) for tag in around)]
    return [(template, stretch, *values) for template, values in enumerate(combined)]


@pytest.mark.parametrize("n", [1, 2, 5, 13])
def test_places_tell_features_apart(n):
    rng = np.random.default_rng(n)
    features = ArcFeatures(4)
    tags = rng.integers(0, 5, size=(6, n), dtype=np.int32)
    places = features.places(tags)
    assert places.shape == (6, n + 1, n + 1, 7)
    assert 0 <= places.min() <= places.max() < features.size
    seen = {}
    for sentence, found in zip(tags.tolist(), places, strict=True):
        for head in range(n + 1):
            for dep in range(1, n + 1):
                if head != dep:
                    for place, feature in zip(
                        found[head, dep].tolist(), slow_features(sentence, head, dep), strict=True
                    ):
                        assert seen.setdefault(place, feature) == feature
    assert len(set(seen.values())) == len(seen)


def test_there_is_no_place_too_many():
    s = 4 + 3
    assert ArcFeatures(4).size == (2 * s + s**2 + 4 * s**3) * 2 * DISTANCES


def test_scores_are_sums_of_weights_and_pairs():
    rng = np.random.default_rng(0)
    features = ArcFeatures(3)
    words, roots = rng.normal(size=(3, 3)), rng.normal(size=3)
    model = ArcModel(
        tags=("A", "B", "C"),
        weights=rng.normal(size=features.size),
        pairs=pair_table(np.vstack([words, roots])),
    )
    tags = np.array([[0, 2, 1]], dtype=np.int32)
    scores = model.scores(tags)[PartKind.ARC][0]
    places = features.places(tags)[0]
    for head, dep in [(0, 1), (0, 3), (1, 2), (3, 1), (2, 3)]:
        pair = roots[tags[0, dep - 1]] if head == 0 else words[tags[0, head - 1], tags[0, dep - 1]]
        assert scores[head, dep] == pytest.approx(model.weights[places[head, dep]].sum() + pair)


def test_tags_that_are_not_known_have_means():
    words, roots = np.array([[1.0, 3.0], [5.0, -np.inf]]), np.array([2.0, 4.0])
    table = pair_table(np.vstack([words, roots]))
    assert table.shape == (4, 3)
    assert table[0].tolist() == [1, 3, 2]
    assert table[1].tolist() == [5, -np.inf, 5]
    assert table[2].tolist() == [3, 3, 3.5]  # not known: the mean of the heads above
    assert table[3].tolist() == [2, 4, 3]  # the root
