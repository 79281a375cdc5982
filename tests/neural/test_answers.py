"""Trees, labels and tags that the native network picks itself, against its scores and `arbora.inference`."""

import numpy as np
import pytest
from network_toys import LABELS, LENGTHS, OUTPUTS, network, sentences, tensors

from arbora import inference
from arbora.errors import InputError, NoTreeError

FAMILIES = [(trees, roots) for trees in ("projective", "nonprojective") for roots in ("single", "multi")]


@pytest.fixture(scope="module")
def native():
    return network(tensors(21, 2, 33, 10))


@pytest.fixture(scope="module")
def states(native):
    return native.encode(**sentences(LENGTHS), threads=1)


def flags(trees, roots):
    return {"projective": trees == "projective", "single_root": roots == "single"}


def expected_trees(native, states, trees, roots, given=None):
    """The heads of all words, sentence by sentence, from the scores of arcs."""
    found, at = [], 0
    for arcs in native.arcs(states, 1):
        end = at + len(arcs) - 1
        required = None if given is None else np.append(-1, given[at:end])
        found.append(inference.argmax(arcs, trees=trees, roots=roots, required=required).heads[1:])
        at = end
    return np.concatenate(found)


@pytest.mark.parametrize(("trees", "roots"), FAMILIES)
def test_trees_are_those_of_argmax(native, states, trees, roots):
    expected = expected_trees(native, states, trees, roots)
    found = native.trees(states, **flags(trees, roots), given=None, threads=1)
    assert found.dtype == np.int32
    assert np.array_equal(found, expected)


@pytest.mark.parametrize(("trees", "roots"), FAMILIES)
@pytest.mark.parametrize("seed", range(3))
def test_given_heads_are_kept(native, states, trees, roots, seed):
    """Half the heads of trees of other scores: some tree has them all."""
    rng = np.random.default_rng(seed)
    others = [rng.normal(size=(n + 1, n + 1)) for n in LENGTHS]
    heads = [best.heads[1:] for best in inference.argmax(others, trees=trees, roots=roots)]
    given = np.where(rng.random(sum(LENGTHS)) < 0.5, np.concatenate(heads), -1).astype(np.int32)
    found = native.trees(states, **flags(trees, roots), given=given, threads=1)
    assert np.array_equal(found[given >= 0], given[given >= 0])
    assert np.array_equal(found, expected_trees(native, states, trees, roots, given))


@pytest.mark.parametrize(("trees", "roots"), FAMILIES)
def test_equal_trees_go_to_the_lowest_head(trees, roots):
    weights = {name: np.zeros_like(array) for name, array in tensors(4, 1, 3, 2).items()}
    native = network(weights)
    states = native.encode(**sentences(LENGTHS), threads=1)
    found = native.trees(states, **flags(trees, roots), given=None, threads=1)
    assert np.array_equal(found, expected_trees(native, states, trees, roots))
    labels = native.best_labels(states, found, 1)
    assert not labels.any()
    assert not native.best_outputs(states, 1)[1].any()


def test_heads_without_a_tree_name_the_sentence(native, states):
    given = np.full(sum(LENGTHS), -1, np.int32)
    given[3:6] = [2, 3, 1]  # the first words of sentence 2: a cycle
    with pytest.raises(NoTreeError) as caught:
        native.trees(states, projective=False, single_root=True, given=given, threads=2)
    assert caught.value.field == "sentence 2"


@pytest.mark.parametrize("heads", [[1, -1, -1], [-1, 4, -1], [-1, -1, -2], [-1, -1], [-1] * 4])
def test_given_heads_outside_the_sentence_are_rejected(native, heads):
    states = native.encode(**sentences([3]), threads=1)
    with pytest.raises(InputError):
        native.trees(states, projective=True, single_root=True, given=np.array(heads, np.int32), threads=1)


def test_best_labels_are_those_of_the_scores(native, states):
    heads = native.trees(states, projective=False, single_root=False, given=None, threads=1)
    scores = native.labels(states, heads, 1)
    found = native.best_labels(states, heads, 1)
    assert found.dtype == np.int32
    assert np.array_equal(found, scores.argmax(axis=1))


@pytest.mark.parametrize("root", [[0, 0, 1, 0, 1, 0, 0], [0, 0, 0, 0, 1, 0, 0]])
def test_masks_forbid_labels(native, states, root):
    heads = native.trees(states, projective=False, single_root=True, given=None, threads=1)
    root, other = np.array(root, np.uint8), np.array([1, 1, 0, 1, 0, 1, 1], np.uint8)
    allowed = np.where((heads == 0)[:, None], root, other)
    scores = np.where(allowed, native.labels(states, heads, 1), -np.inf)
    found = native.best_labels(states, heads, 1, root_labels=root, other_labels=other)
    assert np.array_equal(found, scores.argmax(axis=1))
    only_root = native.best_labels(states, heads, 1, root_labels=root)
    free = native.best_labels(states, heads, 1)
    assert np.array_equal(only_root, np.where(heads == 0, found, free))


def test_a_single_label_needs_no_scores(native, states):
    heads, only = np.zeros(sum(LENGTHS), np.int32), np.eye(LABELS, dtype=np.uint8)[3]
    assert (native.best_labels(states, heads, 1, root_labels=only) == 3).all()


def test_masks_of_nothing_are_ignored(native, states):
    heads, none = np.zeros(sum(LENGTHS), np.int32), np.zeros(LABELS, np.uint8)
    free = native.best_labels(states, heads, 1)
    assert np.array_equal(native.best_labels(states, heads, 1, root_labels=none, other_labels=none), free)


@pytest.mark.parametrize("name", ["root_labels", "other_labels"])
def test_masks_of_other_sizes_are_rejected(native, states, name):
    heads = np.zeros(sum(LENGTHS), np.int32)
    with pytest.raises(InputError):
        native.best_labels(states, heads, 1, **{name: np.ones(LABELS + 1, np.uint8)})


@pytest.mark.parametrize("which", range(len(OUTPUTS)))
def test_best_outputs_are_those_of_the_scores(native, states, which):
    found = native.best_outputs(states, 1)[which]
    assert found.dtype == np.int32
    assert np.array_equal(found, native.outputs(states, which, 1).argmax(axis=1))


def test_columns_that_do_not_exist_are_rejected(native, states):
    with pytest.raises(InputError):
        native.outputs(states, len(OUTPUTS), 1)


@pytest.mark.parametrize("threads", [2, 5])
def test_answers_do_not_depend_on_threads(native, threads):
    states = native.encode(**sentences([5, 30, 1, 0, 60] * 30), threads=1)

    def answers(threads):
        heads = native.trees(states, projective=True, single_root=True, given=None, threads=threads)
        return heads, native.best_labels(states, heads, threads), native.best_outputs(states, threads)[1]

    assert all(map(np.array_equal, answers(1), answers(threads)))


def test_no_sentences_have_no_answers(native):
    states = native.encode(**sentences([]), threads=1)
    heads = native.trees(states, projective=True, single_root=True, given=None, threads=1)
    assert heads.shape == (0,)
    assert native.best_labels(states, heads, 1).shape == (0,)
    assert native.best_outputs(states, 1).shape == (2, 0)


def test_states_of_another_network_are_rejected(native):
    given = sentences([4])
    heads = np.zeros(4, np.int32)
    for other in (network(tensors(40, 2, 33, 10)), network(tensors(21, 1, 33, 10))):
        states = other.encode(**given, threads=1)
        for method, arguments in (("arcs", [1]), ("labels", [heads, 1]), ("outputs", [0, 1])):
            with pytest.raises(InputError):
                getattr(native, method)(states, *arguments)


def test_scores_that_overflow_are_rejected():
    weights = tensors(4, 1, 3, 2)
    weights["arcs"] = np.full_like(weights["arcs"], 3e38)
    native = network(weights | {"arc_dep.bias": np.full(3, 1e6, np.float32)})
    states = native.encode(**sentences([4]), threads=1)
    with pytest.raises(InputError):
        native.arcs(states, 1)
    with pytest.raises(InputError):
        native.trees(states, projective=True, single_root=True, given=None, threads=1)


def test_siblings_need_their_tensors(native, states):
    with pytest.raises(InputError):
        native.siblings(states, 1)


def test_later_batches_leave_states_alone(native, states):
    expected = native.outputs(states, 0, 1)
    for lengths in (LENGTHS[::-1], LENGTHS[:2], LENGTHS):
        native.encode(**sentences(lengths), threads=1)
    assert np.array_equal(native.outputs(states, 0, 1), expected)
    again = native.encode(**sentences(LENGTHS), threads=1)
    assert np.array_equal(native.outputs(again, 0, 1), expected)
