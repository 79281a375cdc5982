"""The model with valence as scores of siblings, against the story that generates trees, one by one."""

import math
import random

import numpy as np
import pytest
from errors import rejects
from induction.valence_story import SIDES, random_grammar, sample, tree_probability
from oracle.enumerate_trees import head_matrix, siblings_of

from arbora import inference
from arbora.errors import InputError, ModelError
from arbora.induction.corpus import TagCorpus
from arbora.induction.interfaces import best_heads, parse
from arbora.induction.valence_model import Counts, Sentences, ValenceModel, tree_parts
from arbora.interfaces import PartKind
from arbora.storage.model_file import read_model, write_model


def model_of(grammar, tags):
    """The same grammar in arrays."""
    contexts = [[[(t, side, has) for has in (False, True)] for side in SIDES] for t in range(tags)]
    stop = np.array([[[grammar["stop"][c] for c in row] for row in rows] for rows in contexts])
    child = np.array(
        [[[[grammar["child"][c][d] for d in range(tags)] for c in row] for row in rows] for rows in contexts]
    )
    root = np.array([grammar["root"][d] for d in range(tags)])
    with np.errstate(divide="ignore"):
        return ValenceModel(
            tags=tuple("ABCDEF"[:tags]),
            root=np.log(root),
            child=np.log(child),
            stop=np.log(stop),
            go_on=np.log(1 - stop),
        )


@pytest.mark.parametrize("zeros", [False, True])
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5])
def test_sums_marginals_and_best_trees_are_those_of_the_story(n, zeros):
    rng = random.Random(10 * n + zeros)
    listed = head_matrix(n, "projective", "single")
    for _ in range(6):
        grammar = random_grammar(rng, 3, zeros)
        model = model_of(grammar, 3)
        tags = [rng.randrange(3) for _ in range(n)]
        probabilities = np.array([tree_probability(grammar, tags, row[1:].tolist()) for row in listed])
        if not probabilities.sum():
            continue
        numbers = np.array([tags], dtype=np.int32)
        scores = model.scores(numbers)
        arcs_given, siblings_given = (list(scores[kind]) for kind in (PartKind.ARC, PartKind.SIBLING))
        logs = inference.log_partition(arcs_given, siblings=siblings_given, **model.family)
        logs = logs + model.constants(numbers)
        assert logs[0] == pytest.approx(math.log(probabilities.sum()))

        best = best_heads(*scores.values(), **model.family)[0]
        assert tree_probability(grammar, tags, best[1:].tolist()) == pytest.approx(probabilities.max())

        shares = probabilities / probabilities.sum()
        arcs, nearest = np.zeros((n + 1, n + 1)), np.zeros((n + 1, n + 1))
        for row, nexts, share in zip(listed, siblings_of(listed), shares, strict=True):
            for dep in range(1, n + 1):
                arcs[row[dep], dep] += share
                nearest[row[dep], dep] += share * (nexts[dep] == row[dep])
        [found] = inference.marginals(arcs_given, siblings=siblings_given, **model.family)
        nodes = np.arange(n + 1)
        firsts = found.siblings[nodes[:, None], nodes[None, :], nodes[:, None]]
        np.testing.assert_allclose(found.arcs, arcs, atol=1e-9)
        np.testing.assert_allclose(firsts[1:, 1:], nearest[1:, 1:], atol=1e-9)


def test_the_best_trees_of_a_list_are_the_most_probable_ones():
    rng = random.Random(3)
    grammar = random_grammar(rng, 3)
    model, tags = model_of(grammar, 3), [0, 2, 1, 1]
    scores = model.scores(np.array([tags], dtype=np.int32))
    found = inference.kbest(
        scores[PartKind.ARC][0],
        1000,
        siblings=scores[PartKind.SIBLING][0],
        trees="projective",
        roots="single",
    )
    listed = head_matrix(4, "projective", "single")
    expected = sorted((tree_probability(grammar, tags, row[1:].tolist()) for row in listed), reverse=True)
    constant = model.constants(np.array([tags], dtype=np.int32))[0]
    np.testing.assert_allclose([math.exp(best.score + constant) for best in found], expected)


def test_counts_of_trees_are_the_choices_of_the_story():
    rng = random.Random(0)
    grammar = random_grammar(rng, 3)
    grammar["stop"] = {context: rng.uniform(0.6, 0.9) for context in grammar["stop"]}
    model = model_of(grammar, 3)
    total, counts = 0.0, Counts.zeros(3)
    for _ in range(50):
        tags, heads = sample(grammar, rng)
        total += math.log(tree_probability(grammar, tags, heads))
        arcs, nearest = tree_parts(np.array([[-1, *heads]], dtype=np.int32))
        counts.add(np.array([tags], dtype=np.int32), arcs, nearest, np.ones(1))
    by_counts = sum(
        float((seen * logs).sum())
        for seen, logs in [
            (counts.root, model.root),
            (counts.child, model.child),
            (counts.stop, model.stop),
            (counts.go_on, model.go_on),
        ]
    )
    assert by_counts == pytest.approx(total)


def test_expected_counts_are_the_slope_of_the_log_likelihood():
    listed = [[0, 1, 2, 0], [2, 1], [0, 1, 2, 0], [1]]
    corpus = TagCorpus(("A", "B", "C"), tuple(np.array(tags, dtype=np.int32) for tags in listed))
    model = model_of(random_grammar(random.Random(1), 3), 3)
    sentences = Sentences(corpus, "test")
    total, counts = sentences.counts(model, best_only=False)
    assert counts.root.sum() == pytest.approx(len(corpus))
    assert counts.stop.sum() == pytest.approx(2 * corpus.words)
    assert counts.go_on.sum() == pytest.approx(corpus.words - len(corpus))
    for name in ("root", "child", "stop", "go_on"):
        seen = getattr(counts, name)
        at = np.unravel_index(np.argmax(seen), seen.shape)
        tables = {key: getattr(model, key).copy() for key in ("root", "child", "stop", "go_on")}
        tables[name][at] += 1e-6
        higher, _ = sentences.counts(ValenceModel(tags=model.tags, **tables), best_only=False)
        assert (higher - total) / 1e-6 == pytest.approx(seen[at], rel=1e-4)


def test_a_tag_that_is_not_known_behaves_as_tags_do_on_average():
    grammar = random_grammar(random.Random(2), 2)
    model = model_of(grammar, 2)
    same = {
        name: np.log(np.broadcast_to(np.exp(getattr(model, name)).mean(axis=0), getattr(model, name).shape))
        for name in ("child", "stop", "go_on")
    }
    alike = ValenceModel(tags=model.tags, root=np.full(2, np.log(np.exp(model.root).mean())), **same)
    found = model.scores(np.array([[2, 1]], dtype=np.int32))
    expected = alike.scores(np.array([[0, 1]], dtype=np.int32))
    np.testing.assert_allclose(found[PartKind.ARC][0, 1, 2], expected[PartKind.ARC][0, 1, 2])
    np.testing.assert_allclose(found[PartKind.ARC][0, 0, 1], alike.root[0])
    assert np.isfinite(found[PartKind.ARC][0, 2, 1])
    assert parse(model, [np.array([2, 2, 2], dtype=np.int32)])[0].shape == (3,)


def test_long_sentences_are_rejected():
    model = model_of(random_grammar(random.Random(2), 2), 2)
    with pytest.raises(InputError):
        model.scores(np.zeros((1, 401), dtype=np.int32))


def test_a_tag_that_may_not_stop_is_rejected():
    grammar = random_grammar(random.Random(2), 2)
    grammar["stop"][0, "left", False] = 0.0
    with pytest.raises(InputError):
        model_of(grammar, 2)


def saved(tmp_path, tensors):
    write_model(tmp_path / "m.arbora", tensors, {})
    return read_model(tmp_path / "m.arbora")


def test_a_model_comes_back_from_its_file(tmp_path):
    model = model_of(random_grammar(random.Random(4), 3, zeros=True), 3)
    tensors = model.tensors()
    again = ValenceModel.from_file(saved(tmp_path, tensors), tags=model.tags)
    for name, array in tensors.items():
        np.testing.assert_array_equal(getattr(again, name), array)


@pytest.mark.parametrize("value", [np.nan, np.inf, 0.5, -1e300])
@pytest.mark.parametrize("name", ["root", "child", "stop", "go_on"])
def test_damaged_files_are_rejected(tmp_path, name, value):
    tensors = model_of(random_grammar(random.Random(4), 2), 2).tensors()
    tensors[name].flat[0] = value
    with rejects(ModelError, source=str(tmp_path / "m.arbora")):
        ValenceModel.from_file(saved(tmp_path, tensors), tags=("A", "B"))


def test_files_of_other_shapes_or_trees_are_rejected(tmp_path):
    tensors = model_of(random_grammar(random.Random(4), 2), 2).tensors()
    with rejects(ModelError, field="tensor 'root'"):
        ValenceModel.from_file(saved(tmp_path, tensors), tags=("A", "B", "C"))
    with rejects(InputError, field="trees"):
        ValenceModel.from_file(saved(tmp_path, tensors), tags=("A", "B"), trees="nonprojective")
    tensors["stop"][0, 0, 0] = -np.inf
    with rejects(InputError, field="stop"):
        ValenceModel.from_file(saved(tmp_path, tensors), tags=("A", "B"))
