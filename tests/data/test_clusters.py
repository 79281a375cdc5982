"""Clusters of words: the tree against brute force, look-up, and tensors that are damaged."""

import itertools

import numpy as np
import pytest
from errors import rejects

from arbora.data.clusters import TENSORS, WordClusters, split_tree
from arbora.errors import InputError, ModelError
from arbora.storage.model_file import ModelFile
from arbora.storage.vectors import WordVectors


def spread(points, weights, right):
    """The weighted sum of squared distances from the mean, on both sides of a division."""
    total = 0.0
    for side in (right, ~right):
        mean = np.average(points[side], axis=0, weights=weights[side])
        total += float(weights[side] @ ((points[side] - mean) ** 2).sum(axis=1))
    return total


def best_division(vectors, weights):
    """The best of all divisions of centred vectors of length 1; the first vector is on the left."""
    points = vectors - vectors.mean(axis=0)
    points = points / np.linalg.norm(points, axis=1, keepdims=True)
    masks = (np.array([False, *bits]) for bits in itertools.product([False, True], repeat=len(vectors) - 1))
    return min((mask for mask in masks if mask.any()), key=lambda mask: spread(points, weights, mask))


@pytest.mark.parametrize("seed", range(12))
def test_the_first_branch_is_the_best_division_of_groups(seed):
    random = np.random.default_rng(seed)
    centres = random.normal(size=(2, 5))
    groups = random.permutation([0] * 4 + [1] * 5)
    vectors = centres[groups] + 0.2 * random.normal(size=(9, 5))
    weights = 1 / np.sqrt(np.arange(1, 10))
    codes = split_tree(vectors, weights, 1)
    expected = best_division(vectors, weights)
    assert set(codes.tolist()) == {2, 3}
    assert (codes == codes[0]).tolist() == (expected == expected[0]).tolist()


def some_vectors(seed=0, count=300, size=7):
    return np.random.default_rng(seed).normal(size=(count, size))


@pytest.mark.parametrize("seed", range(5))
def test_words_are_on_the_side_of_the_nearer_mean(seed):
    """In nodes where 2-means has converged, which are most."""
    vectors, weights = some_vectors(seed), 1 / np.sqrt(np.arange(1, 301))
    points = vectors - vectors.mean(axis=0)
    points = points / np.linalg.norm(points, axis=1, keepdims=True)
    codes = split_tree(vectors, weights, 3)
    wrong = 0
    for node in range(1, 8):
        inside = codes >> 3 - (node.bit_length() - 1) == node
        right = (codes >> 2 - (node.bit_length() - 1) & 1).astype(bool)
        means = [
            np.average(points[inside & (right == s)], axis=0, weights=weights[inside & (right == s)])
            for s in (0, 1)
        ]
        nearer = np.linalg.norm(points - means[0], axis=1) > np.linalg.norm(points - means[1], axis=1)
        wrong += np.count_nonzero((nearer != right)[inside])
    assert wrong <= 15


def test_a_deeper_tree_only_adds_bits():
    vectors, weights = some_vectors(), np.ones(300)
    deep = split_tree(vectors, weights, 6)
    for depth in range(6):
        lengths = np.floor(np.log2(deep)).astype(int)
        assert (split_tree(vectors, weights, depth) == deep >> np.maximum(lengths - depth, 0)).all()


def test_the_order_of_sums_does_not_matter():
    vectors, weights = some_vectors(), 1 / np.arange(1, 301)
    codes = split_tree(vectors, weights)
    order = np.random.default_rng(1).permutation(300)
    assert (split_tree(vectors[order], weights[order]) == codes[order]).all()
    axes = np.random.default_rng(2).permutation(vectors.shape[1])
    assert (split_tree(vectors[:, axes], weights) == codes).all()


def test_vectors_that_are_the_same_have_one_code():
    vectors = np.repeat(some_vectors(count=3), 4, axis=0)
    codes = split_tree(vectors, np.ones(12))
    assert [len(set(codes[i : i + 4].tolist())) for i in (0, 4, 8)] == [1, 1, 1]
    assert len(set(codes.tolist())) == 3
    assert split_tree(np.ones((5, 2)), np.ones(5)).tolist() == [1] * 5
    assert split_tree(np.zeros((1, 2)), np.ones(1)).tolist() == [1]


def test_bits_of_words():
    clusters = WordClusters.of(["may", "May", "the"], [0b10, 0b1011, 0b1])
    assert [clusters.bits(word) for word in ("may", "MAY", "May", "the", "xyz")] == ["0", "0", "011", "", ""]
    assert len(clusters) == 3


def test_clusters_of_vectors_keep_similar_words_together():
    random = np.random.default_rng(3)
    centres = random.normal(size=(4, 6))
    words = [f"{group}{number}" for number in range(10) for group in "abcd"]
    values = np.array([centres["abcd".index(word[0])] for word in words]) + 0.05 * random.normal(size=(40, 6))
    clusters = WordClusters.of_vectors(WordVectors(tuple(words), values.astype(np.float32)))
    prefixes = {group: {clusters.bits(word)[:3] for word in words if word[0] == group} for group in "abcd"}
    for one, other in itertools.combinations("abcd", 2):
        assert not prefixes[one] & prefixes[other]


def file_of(tensors):
    return ModelFile("m.arbora", 1, "1", {}, tensors)


TABLE = WordClusters.of(["a", "b", "c"], [2, 3, 5]).to_tensors()


def test_clusters_round_trip():
    read = WordClusters.from_file(file_of(TABLE))
    assert [read.bits(word) for word in "abcd"] == ["0", "1", "01", ""]
    assert WordClusters.from_file(file_of({})) is None


KEYS, CODES = TENSORS
DAMAGED = {
    "no codes": {KEYS: TABLE[KEYS]},
    "no keys": {CODES: TABLE[CODES]},
    "fewer codes": {**TABLE, CODES: TABLE[CODES][:2]},
    "keys descend": {**TABLE, KEYS: TABLE[KEYS][::-1]},
    "a key twice": {**TABLE, KEYS: TABLE[KEYS][[0, 0, 1]]},
    "a code of none": {**TABLE, CODES: np.zeros(3, np.uint16)},
    "other types": {**TABLE, KEYS: TABLE[KEYS].astype(np.uint64)},
    "two axes": {**TABLE, CODES: TABLE[CODES][None]},
}


@pytest.mark.parametrize("kind", DAMAGED)
def test_damaged_clusters_are_rejected(kind):
    with rejects((ModelError, InputError)):
        WordClusters.from_file(file_of(DAMAGED[kind]))
