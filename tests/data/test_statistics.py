import re

import numpy as np
import pytest
from errors import rejects

from arbora import _core
from arbora.data import treebank
from arbora.data.statistics import Statistics, statistics
from arbora.errors import InputError


def stats_of(path):
    return statistics(treebank.ColumnReader(path))


def test_small_treebank(small_treebank):
    found = stats_of(small_treebank)
    assert (found.sentences, found.words, found.trees, found.arcs) == (12, 67, 11, 65)
    assert (found.multiword_tokens, found.empty_nodes) == (3, 5)
    assert (found.nonprojective_arcs, found.nonprojective_trees) == (1, 1)
    assert found.multiroot_trees == 1
    assert found.labels["root"] == 12
    assert found.labels["_"] == 2
    assert found.upos["PUNCT"] == sum(s.upos.count("PUNCT") for s in treebank.read(small_treebank))
    assert found.length_histogram() == [(1, 10, 12)]
    trees = [s.tree for s in treebank.read(small_treebank) if -1 not in s.heads]
    assert found.mean_depth == pytest.approx(np.mean([tree.depth for tree in trees]))
    assert found.nonprojective_arcs == sum(tree.nonprojective_arcs().sum() for tree in trees)


def test_pieces_add_up(small_treebank, monkeypatch):
    whole = stats_of(small_treebank)
    monkeypatch.setattr(treebank, "PIECE", 500)
    assert stats_of(small_treebank) == whole
    assert (whole + whole).words == 2 * whole.words
    assert (whole + Statistics()).as_dict() == whole.as_dict()


def test_statistics_of_an_empty_treebank():
    empty = Statistics().as_dict()
    assert empty["nonprojective_arc_share"] == empty["mean_length"] == empty["max_depth"] == 0


def test_measures_of_long_sentences():
    n = 200_000
    chain = np.arange(n, dtype=np.int32)
    star = np.ones(n, dtype=np.int32)
    star[0] = 0
    nested = np.concatenate([[0], np.repeat([1], n - 1)]).astype(np.int32)
    for heads, depth in ((chain, n), (star, 2), (nested, 2)):
        crossed, depths, roots = _core.measure_trees(heads, np.array([0, n]))
        assert (int(crossed.sum()), int(depths[0]), int(roots[0])) == (0, depth, 1)


def test_heads_that_form_no_tree_have_depth_and_roots_minus_one():
    heads = np.array([2, 1, 5, 0, 0, -1, 0], dtype=np.int32)
    _, depths, roots = _core.measure_trees(heads, np.array([0, 2, 3, 5, 6, 6, 7]))
    assert depths.tolist() == [-1, -1, 1, -1, -1, 1]
    assert roots.tolist() == [-1, -1, 2, -1, -1, 1]
    for offsets in ([], [0], [1, 7], [0, 5, 3, 7], [0, 8]):
        with rejects(InputError, field="offsets"):
            _core.measure_trees(heads, np.array(offsets, dtype=np.int64))


def test_counts_of_the_real_treebanks(treebank_dir):
    """The descriptions beside the treebanks were counted by another program."""
    line = re.compile(
        r"^(\S+): (\d+) sentences, (\d+) (?:words|tokens), non-projective arcs ([\d.]+)%"
        r"(?: \(sentences ([\d.]+)%\))?, multi-root ([\d.]+)%",
        re.MULTILINE,
    )
    checked = 0
    for readme in sorted(treebank_dir.glob("*/README.txt")):
        for name, sentences, words, arcs, trees, roots in line.findall(readme.read_text()):
            found = stats_of(readme.parent / name)
            assert (found.sentences, found.words) == (int(sentences), int(words)), name
            assert 100 * found.nonprojective_arc_share == pytest.approx(float(arcs), abs=0.0051)
            assert 100 * found.multiroot_share == pytest.approx(float(roots), abs=0.0051)
            if trees:
                assert 100 * found.nonprojective_tree_share == pytest.approx(float(trees), abs=0.0051)
            checked += 1
    if checked == 0:
        pytest.skip("no README.txt with counts beside the treebanks")
