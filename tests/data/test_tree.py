import copy
import itertools
import pickle

import numpy as np
import pytest
from errors import rejects
from hypothesis import given
from hypothesis import strategies as st

from arbora.data.tree import Tree
from arbora.errors import InputError


@st.composite
def head_lists(draw, max_words=12):
    """Any tree: words are attached one after the other to node 0 or to a word already placed."""
    n = draw(st.integers(0, max_words))
    order = draw(st.permutations(range(1, n + 1)))
    heads = [0] * n
    for place, word in enumerate(order):
        heads[word - 1] = draw(st.sampled_from([0, *order[:place]]))
    return heads


def is_below(heads, word, ancestor):
    while word != ancestor and word != 0:
        word = heads[word - 1]
    return word == ancestor


def nonprojective_by_definition(heads):
    """Straight from the definition, O(n^3)."""
    return [
        any(not is_below(heads, between, head) for between in range(min(head, dep) + 1, max(head, dep)))
        for dep, head in enumerate(heads, start=1)
    ]


def test_plain_lists_and_arrays_make_the_same_tree():
    tree = Tree.from_heads([2, 0, 2], labels=["det", "root", "obj"])
    assert tree == Tree(np.array([-1, 2, 0, 2]), ("det", "root", "obj"))
    assert len(tree) == 3
    assert tree.heads.tolist() == [-1, 2, 0, 2]
    assert tree.heads.dtype == np.int32
    assert tree.labels == ("det", "root", "obj")
    assert tree.roots == (2,)
    assert tree.children(2) == (1, 3)
    assert tree.depth == 2


def test_a_tree_is_a_value():
    tree = Tree.from_heads([2, 0], labels=["a", "b"])
    same = Tree.from_heads([2, 0], labels=["a", "b"])
    assert tree == same
    assert hash(tree) == hash(same)
    assert tree != Tree.from_heads([2, 0])
    assert tree != Tree.from_heads([0, 1], labels=["a", "b"])
    assert tree != "tree"
    assert eval(repr(tree)) == tree
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert copy.deepcopy(tree) == tree


def test_a_tree_cannot_be_changed():
    given_heads = np.array([-1, 2, 0])
    tree = Tree(given_heads)
    given_heads[1] = 0
    assert tree.heads.tolist() == [-1, 2, 0]
    assert not tree.heads.flags.writeable
    with pytest.raises(AttributeError):
        tree.labels = ("a", "b")
    with pytest.raises(AttributeError):
        del tree.heads


def test_the_empty_tree():
    tree = Tree.from_heads([])
    assert len(tree) == 0
    assert tree.roots == ()
    assert tree.depth == 0
    assert tree.is_projective()
    assert tree.nonprojective_arcs().tolist() == [False]
    with rejects(InputError, field="heads"):
        Tree.from_heads([], roots="single")


@pytest.mark.parametrize(
    ("heads", "field"),
    [
        ([2, 3, 1], "heads"),  # a cycle
        ([0, 3, 2], "heads"),
        ([0, 2], "word 2"),  # its own head
        ([0, 3], "word 2"),
        ([-1, 0], "word 1"),
        ([0, 2**40], "word 2"),
        ([0.0, 1.0], "heads"),
        (["a", "b"], "heads"),
        ([[0], [1, 2]], "heads"),
    ],
)
def test_malformed_heads_are_rejected(heads, field):
    with rejects(InputError, field=field):
        Tree.from_heads(heads)


def test_other_bad_arguments_are_rejected():
    with rejects(InputError, field="heads"):
        Tree([2, 0, 2])
    with rejects(InputError, field="heads"):
        Tree(np.array([], dtype=np.int32))
    with rejects(InputError, field="heads"):
        Tree.from_heads([0, 0], roots="single")
    with rejects(InputError, field="roots"):
        Tree.from_heads([0], roots="one")
    with rejects(InputError, field="labels"):
        Tree.from_heads([0, 1], labels=["root"])
    with rejects(InputError, field="labels"):
        Tree.from_heads([0, 1], labels="ab")
    with rejects(InputError, field="word 2"):
        Tree.from_heads([0, 1], labels=["root", None])
    with rejects(InputError, field="head"):
        Tree.from_heads([0]).children(2)


def test_nonprojective_arcs_are_found():
    tree = Tree.from_heads([3, 4, 0, 3])
    assert not tree.is_projective()
    assert tree.nonprojective_arcs().tolist() == [False, False, True, False, False]


def test_an_arc_over_a_root_word_is_nonprojective():
    tree = Tree.from_heads([3, 0, 0])
    assert tree.nonprojective_arcs().tolist() == [False, True, False, False]
    assert not tree.is_projective()


def test_projectivity_matches_the_definition_on_all_small_trees():
    trees = projective = 0
    for heads in itertools.product(range(5), repeat=4):
        try:
            tree = Tree.from_heads(heads)
        except InputError:
            continue
        expected = nonprojective_by_definition(heads)
        assert tree.nonprojective_arcs()[1:].tolist() == expected
        assert tree.is_projective() == (not any(expected))
        trees += 1
        projective += tree.is_projective()
    assert trees == 5**3  # (n+1)^(n-1): nothing is refused or let through wrongly
    assert projective == 55  # binomial(3n, n) / (2n + 1): projective trees from node 0


@given(head_lists())
def test_projectivity_matches_the_definition(heads):
    tree = Tree.from_heads(heads)
    expected = nonprojective_by_definition(heads)
    assert tree.nonprojective_arcs()[1:].tolist() == expected
    assert tree.is_projective() == (not any(expected))


def test_projectivity_of_long_sentences():
    rng = np.random.default_rng(0)
    heads = [int(rng.integers(0, word)) for word in range(1, 1001)]
    tree = Tree.from_heads(heads)
    chain = Tree.from_heads(list(range(1000)))
    assert not tree.is_projective()
    assert chain.is_projective()
    assert chain.depth == 1000
    assert tree.nonprojective_arcs().any()
