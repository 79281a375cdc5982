"""Learning of transition parsers: what they answer, with a beam and without, and what learners make of it."""

from dataclasses import replace

import numpy as np
import pytest
from errors import rejects
from graph_toys import treebank

from arbora._core import Weights
from arbora.costs import COST, TreeCost
from arbora.data.clusters import WordClusters
from arbora.data.encode import Names
from arbora.errors import InputError
from arbora.interfaces import GoldTree, Query
from arbora.problems import TransitionProblem
from arbora.registry import learners, transition_features
from arbora.scorers import GraphSettings, TransitionScorer, TransitionSettings

COLUMNS = treebank(25, seed=5)
CROSSING = treebank(25, seed=6, nonprojective=0.6)
SYSTEMS = ("arc-eager", "arc-standard", "swap")
BEAMS = ({"beam": 1}, *({"beam": 4, "update": update} for update in ("early", "max-violation", "standard")))


def problem(
    columns=COLUMNS,
    *,
    labels="joint",
    roots="single",
    threads=1,
    features="zhang-nivre-v1",
    cost=COST,
    **search,
):
    made = TransitionSettings(**search)
    shape = GraphSettings(
        trees=made.trees, roots=roots, order=1, labels=labels, features=features, tree_bits=16, label_bits=14
    )
    names = Names.of(columns)
    templates = transition_features.create(features)
    if templates.needs_clusters:
        words = columns.strings("form")[1:]
        clusters = WordClusters.of(words, (16 + place % 16 for place in range(len(words))))
        names = replace(names, clusters=clusters)
    scorer = TransitionScorer(shape, templates, search=made, labels=len(names.labels))
    encoded = names.encode(columns)
    if templates.needs_guide:
        encoded.set_guide(columns.heads, names.label_numbers(columns), names.labels)
    return TransitionProblem(scorer, encoded, cost=cost, threads=threads)


def learned(made, epochs=2):
    w = Weights(made.size)
    for _ in range(epochs):
        for i in range(len(made)):
            w.add(made.answer(i, w, Query.ARGMAX).difference, 1.0)
    return w


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("search", BEAMS, ids=lambda s: s.get("update", "greedy"))
@pytest.mark.parametrize("query", [Query.ARGMAX, Query.COST_AUGMENTED])
def test_answers_are_violations(system, search, query):
    made = problem(system=system, **search)
    w = learned(made, 1)
    wrong = 0
    for i in range(len(made)):
        answer = made.answer(i, w, query)
        assert answer.loss >= 0
        assert answer.margin == pytest.approx(w.dot(answer.difference), abs=1e-4)
        assert (answer.loss == 0) == (len(answer.difference) == 0) or answer.difference.norm2 == 0
        wrong += answer.loss > 0
        if search.get("update", "early") != "standard" and query is Query.ARGMAX:
            assert answer.margin <= 1e-4  # what was found has the better score
    assert wrong


@pytest.mark.parametrize("search", BEAMS, ids=lambda s: s.get("update", "greedy"))
def test_training_learns_by_heart(search):
    made = problem(**search)
    w = learned(made, 12)
    final = sum(made.answer(i, w, Query.ARGMAX).loss for i in range(len(made)))
    assert final <= 2


def test_swap_learns_crossing_arcs():
    made = problem(CROSSING, system="swap")
    w = learned(made, 12)
    assert sum(made.answer(i, w, Query.ARGMAX).loss for i in range(len(made))) <= 5


@pytest.mark.parametrize("features", list(transition_features))
def test_every_feature_set_learns(features):
    made = problem(features=features)
    first = sum(made.answer(i, Weights(made.size), Query.ARGMAX).loss for i in range(len(made)))
    w = learned(made, 4)
    assert sum(made.answer(i, w, Query.ARGMAX).loss for i in range(len(made))) < first / 5


@pytest.mark.parametrize("beam", [1, 4])
def test_sums_do_not_depend_on_threads(beam):
    one, two = problem(beam=beam), problem(beam=beam, threads=2)
    w = learned(one, 1)
    every = np.arange(len(one), dtype=np.int64)
    a, b = (made.total(every, w, Query.COST_AUGMENTED) for made in (one, two))
    assert a.loss == pytest.approx(sum(one.answer(i, w, Query.COST_AUGMENTED).loss for i in range(len(one))))
    assert (a.loss, a.margin) == (b.loss, b.margin)
    assert np.array_equal(a.difference.indices, b.difference.indices)
    assert np.array_equal(a.difference.values, b.difference.values)


@pytest.mark.parametrize("system", SYSTEMS)
def test_candidates_are_whole_trees_with_costs_of_links(system):
    made = problem(system=system, beam=4)
    w = learned(made, 1)
    for i in range(len(made)):
        found = made.candidates(i, w, 6)
        assert 1 <= len(found) <= 6
        for each in found:
            assert each.loss.is_integer()
            assert each.loss > 0 or len(each.difference) == 0
        margins = [each.margin for each in found if each.loss > 0]
        assert margins == sorted(margins) or margins == pytest.approx(sorted(margins), abs=1e-4)


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(
    "cost", [COST, TreeCost(label=0.0), TreeCost(label=0.25), TreeCost(head=2.0, label=3.0)]
)
def test_the_loss_is_the_cost_of_the_tree_that_was_found(system, cost):
    made = problem(system=system, beam=4, update="standard", cost=cost)
    w = learned(made, 1)
    names, weights = Names.of(COLUMNS), w.values()
    encoded = names.encode(COLUMNS)
    moves, labels = np.split(weights, [1 << 16])
    found = made.scorer.native.parse(encoded, moves, labels, False, 1)
    losses = []
    for i, (begin, end) in enumerate(zip(COLUMNS.offsets[:-1], COLUMNS.offsets[1:], strict=True)):
        gold, tree = (
            [np.concatenate([[-1], values[begin:end]]) for values in pair]
            for pair in ((COLUMNS.heads, names.label_numbers(COLUMNS)), found)
        )
        losses.append(made.answer(i, w, Query.ARGMAX).loss)
        assert losses[-1] == cost(GoldTree(*gold), *tree)
        assert made.candidates(i, w, 1)[0].loss == losses[-1]
    assert any(losses)


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("perceptron", {}),
        ("passive_aggressive", {"C": 0.1}),
        ("mira", {"C": 0.1, "k": 3}),
        ("mira", {"C": 0.1}),
    ],
)
@pytest.mark.parametrize("beam", [1, 4])
def test_learners_train_it(name, parameters, beam):
    made = problem(beam=beam)
    fitted = learners.create(name, epochs=6, **parameters).fit(made)
    assert fitted.history[-1].loss < fitted.history[0].loss / 2


def test_trees_that_a_system_cannot_make_are_refused():
    with rejects(InputError, field="sentence 1, word 9"):
        problem(CROSSING)
    encoded = Names.of(COLUMNS).encode(COLUMNS)
    heads = np.array(COLUMNS.heads)
    heads[:] = 0
    encoded.set_heads(heads)
    made = problem().scorer
    with pytest.raises(InputError):
        TransitionProblem(made, encoded)
    heads[3] = -1
    encoded.set_heads(heads)
    with rejects(InputError, field="sentence 0, word 4"):
        TransitionProblem(made, encoded)


def replayed(n, actions):
    """Heads by the arc-eager rules of [johansson-2007], Table 1; `actions` where there is a choice."""
    heads, stack, buffer = {}, [], [*range(1, n + 1), 0]
    while stack or len(buffer) > 1:
        if not stack:
            move = 0
        elif buffer == [0] and stack[-1] in heads:
            move = 1
        else:
            move = next(actions)
        if move == 0:
            stack.append(buffer.pop(0))
        elif move == 1:
            assert stack.pop() in heads
        elif move == 2:
            heads[stack.pop()] = buffer[0]
        else:
            heads[buffer[0]] = stack[-1]
            stack.append(buffer.pop(0))
    return [heads[word] for word in range(1, n + 1)]


def test_instances_lead_to_the_right_trees():
    made = problem(features="nivre-v1")
    hashes, moves, labels = made.instances()
    templates = len(transition_features.create("nivre-v1").compiled["moves"])
    assert hashes.shape == (len(moves), templates)
    actions = iter(moves.tolist())
    lengths = np.diff(COLUMNS.offsets).tolist()
    assert [head for n in lengths for head in replayed(n, actions)] == COLUMNS.heads.tolist()
    assert not list(actions)
    assert ((labels >= 0) == (moves >= 2)).all()
    names = Names.of(COLUMNS)
    assert sorted(labels[moves >= 2]) == sorted(names.label_numbers(COLUMNS))
    # What is hashed is the state, so most states differ, and the same sentence gives the same again.
    assert len(np.unique(hashes, axis=0)) > len(moves) / 2
    assert (made.instances()[0] == hashes).all()


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"system": "arc-hybrid"}, "system"),
        ({"beam": 0}, "beam"),
        ({"update": "late"}, "update"),
        ({"oracle": "dynamic", "system": "swap"}, "oracle"),
    ],
)
def test_bad_settings_are_rejected(options, field):
    with rejects(InputError, field=field):
        TransitionSettings(**options)


def test_too_many_labels_for_the_actions_are_rejected():
    templates = transition_features.create("nivre-v1")
    with rejects(InputError, field="label_count"):
        TransitionScorer(GraphSettings(labels="joint"), templates, search=TransitionSettings(), labels=32768)
