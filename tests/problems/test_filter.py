"""Filters: what they keep against all trees of tiny sentences, their loss, and learning it."""

import numpy as np
import pytest
from errors import rejects
from graph_toys import treebank
from oracle.enumerate_trees import head_matrix

from arbora._core import Pruning, SparseVector, Weights
from arbora.data.columns import parse_text
from arbora.data.encode import Names
from arbora.errors import InputError
from arbora.interfaces import Query
from arbora.problems import FilterProblem, GraphProblem
from arbora.registry import learners
from arbora.search.pruner import Pruner, PrunerSettings, pruner_scorer

COLUMNS = treebank(25, seed=5)
TINY = treebank(90, seed=6, longest=8)
SETTINGS = PrunerSettings(rule="max-marginal", bits=12)
ROOTS = ("single", "multi")
LEARNERS = {
    "perceptron": {},
    "passive_aggressive": {"C": 0.1},
    "mira": {"C": 0.1},
    "pegasos": {"lam": 0.01, "k": 2},
}


def weights_of(values):
    w = Weights(len(values))
    w.add(SparseVector(np.arange(len(values)), np.asarray(values, dtype=np.float32)), 1.0)
    return w


def problem(columns=COLUMNS, alpha=0.5, roots="single", among=64, threads=1):
    scorer = pruner_scorer(SETTINGS, roots)
    encoded = Names.of(columns).encode(columns)
    return FilterProblem(scorer, encoded, alpha=alpha, among=among, threads=threads)


def max_marginals(scores, roots):
    """Of each arc, (n+1, n+1), by listing all trees; NaN where there is no arc."""
    n = len(scores) - 1
    found = np.full(scores.shape, -np.inf)
    deps = np.arange(1, n + 1)
    for heads in head_matrix(n, "projective", roots):
        arcs = (heads[1:], deps)
        found[arcs] = np.maximum(found[arcs], scores[arcs].sum())
    found[:, 0] = np.nan
    np.fill_diagonal(found, np.nan)
    return found


@pytest.mark.parametrize("roots", ROOTS)
@pytest.mark.parametrize("rule", ["max-marginal", "tree-odds"])
def test_what_is_kept_is_above_the_threshold(rule, roots):
    names = Names.of(TINY)
    encoded = names.encode(TINY)
    rng = np.random.default_rng(1)
    weights = rng.normal(size=1 << 12).astype(np.float32)
    settings = PrunerSettings(rule=rule, bits=12, alpha=0.4, log_odds=3.0)
    pruner = Pruner(settings, weights, roots)
    kept = pruner.prune(encoded)
    seen = 0
    for s in range(len(encoded)):
        n = encoded.length(s)
        if not 1 <= n <= 5:
            continue
        scores, _, _ = pruner.scorer.native.score_parts(encoded, s, weights_of(weights))
        found = max_marginals(scores, roots)
        best, mean = np.nanmax(found), np.nanmean(found)
        enough = 0.4 * best + 0.6 * mean if rule == "max-marginal" else best - 3.0
        for dep in range(1, n + 1):
            seen += 1
            column = found[:, dep]
            assert set(np.flatnonzero(column > enough + 1e-4)) <= set(kept.heads_of(s, dep))
            assert set(kept.heads_of(s, dep)) <= set(np.flatnonzero(column > enough - 1e-4))
    assert seen > 50


@pytest.mark.parametrize("roots", ROOTS)
def test_heads_are_kept_that_are_not_much_less_probable_than_the_best(roots):
    encoded = Names.of(TINY).encode(TINY)
    weights = np.random.default_rng(2).normal(size=1 << 12).astype(np.float32)
    pruner = Pruner(PrunerSettings(rule="arc-odds", bits=12, log_odds=2.0), weights, roots)
    kept = pruner.prune(encoded)
    dropped = 0
    for s in (s for s in range(len(encoded)) if 1 <= encoded.length(s) <= 5):
        n = encoded.length(s)
        scores, _, _ = pruner.scorer.native.score_parts(encoded, s, weights_of(weights))
        deps = np.arange(1, n + 1)
        shares = np.zeros((n + 1, n + 1))
        for heads in head_matrix(n, "nonprojective", roots):
            shares[heads[1:], deps] += np.exp(scores[heads[1:], deps].sum())
        for dep in range(1, n + 1):
            odds = shares[:, dep] / shares[:, dep].max()
            found = set(kept.heads_of(s, dep))
            assert found >= set(np.flatnonzero(odds > np.exp(-2.0) + 1e-6)) | {dep - 1}
            assert found <= set(np.flatnonzero(odds > np.exp(-2.0) - 1e-6)) | {dep - 1}
            dropped += n - len(found)
    assert dropped > 50


def chain_of(words):
    """One sentence, encoded."""
    text = "".join(f"{i}\tw{i % 7}\t_\tT{i % 3}\t_\t_\t{i - 1}\tdep\t_\t_\n" for i in range(1, words + 1))
    columns = parse_text(text + "\n", "conllu")
    return Names.of(columns).encode(columns)


def test_long_sentences_keep_fewer_heads():
    weights = np.random.default_rng(3).normal(size=1 << 12).astype(np.float32)
    pruner = Pruner(PrunerSettings(rule="arc-odds", bits=12, log_odds=1e3, keep=5), weights)
    for words, most in ((30, 30), (127, 16), (299, 6)):  # all; 2048 arcs; 2048 arcs, too
        kept = pruner.prune(chain_of(words))
        counts = [len(kept.heads_of(0, dep)) for dep in range(1, words + 1)]
        assert max(counts) <= most + 1  # the word before it stays in any case
        assert min(counts) >= min(most, words)


def test_very_long_sentences_are_pruned_by_scores_alone():
    encoded = chain_of(301)
    weights = np.random.default_rng(3).normal(size=1 << 12).astype(np.float32)
    pruner = Pruner(PrunerSettings(rule="arc-odds", bits=12, log_odds=2.0, keep=5), weights)
    kept = pruner.prune(encoded)
    by_score = pruner.scorer.native.prune(encoded, weights, Pruning("margin", keep=5, within=2.0), 1)
    assert all(kept.heads_of(0, dep) == by_score.heads_of(0, dep) for dep in range(1, 302))


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0])
def test_the_loss_is_the_gold_tree_below_the_threshold(alpha):
    encoded = Names.of(TINY).encode(TINY)
    made = problem(TINY, alpha)
    scorer = pruner_scorer(SETTINGS)
    rng = np.random.default_rng(2)
    w = weights_of(rng.normal(size=made.size, scale=0.3))
    for s, sentence in enumerate(TINY.sentences()):
        n = len(sentence)
        if n > 5:
            continue
        scores, _, _ = scorer.native.score_parts(encoded, s, w)
        found = max_marginals(scores, "single")
        threshold = alpha * np.nanmax(found) + (1 - alpha) * np.nanmean(found)
        margin = sum(scores[head, dep] for dep, head in enumerate(sentence.heads, 1)) - threshold
        plain, augmented = (made.answer(s, w, query) for query in (Query.ARGMAX, Query.COST_AUGMENTED))
        assert plain.loss == (n if margin < -1e-4 else plain.loss if margin < 1e-4 else 0)
        hinge = max(0, n - margin) if len(augmented.difference) else 0
        assert augmented.hinge == pytest.approx(hinge, abs=1e-3)
        if plain.loss:
            assert plain.margin == pytest.approx(margin, abs=1e-3)


@pytest.mark.parametrize("roots", ROOTS)
@pytest.mark.parametrize("name", LEARNERS)
def test_learners_learn_to_filter(name, roots):
    made = problem(roots=roots)
    learned = learners.create(name, epochs=6, **LEARNERS[name]).fit(made)
    every = np.arange(len(made))
    before = made.total(every, Weights(made.size), Query.ARGMAX).loss
    after = made.total(every, weights_of(learned.averaged), Query.ARGMAX).loss
    assert before > 0.9 * COLUMNS.words
    assert after < 0.3 * before


def test_sums_do_not_depend_on_threads():
    one, three = (problem(threads=threads, among=4) for threads in (1, 3))
    w = weights_of(np.random.default_rng(3).normal(size=one.size, scale=0.1))
    every = np.arange(len(one))
    sums = [made.total(every, w, Query.COST_AUGMENTED) for made in (one, three)]
    assert sums[0].loss == sums[1].loss > 0
    assert np.array_equal(sums[0].difference.values, sums[1].difference.values)


def test_other_queries_are_rejected():
    made = problem()
    w = Weights(made.size)
    with rejects(InputError, field="marginals"):
        made.answer(0, w, Query.MARGINALS)
    questions = {
        "candidates": (0, w, 2),
        "gradient": (np.arange(1), w, Query.MARGINALS),
        "arc_scores": (0, w),
        "arc_gold": (0,),
        "arc_marginals": (0, np.zeros(1)),
        "arc_features": (0, np.zeros(1)),
    }
    for name, arguments in questions.items():
        with rejects(InputError, field=name):
            getattr(made, name)(*arguments)
    with rejects(InputError, field="learner"):
        learners.create("adagrad").fit(made)


def test_bad_filter_problems_are_rejected():
    crossing = treebank(20, seed=8, nonprojective=1.0)
    with pytest.raises(InputError):
        problem(crossing)
    encoded = Names.of(COLUMNS).encode(COLUMNS)
    with rejects(InputError, field="filter"):
        FilterProblem(pruner_scorer(PrunerSettings(bits=12)), encoded, alpha=0.5, among=9)
    with rejects(InputError, field="alpha"):
        problem(alpha=2.0)


def test_the_best_tree_stays_however_little_is_kept():
    encoded = Names.of(COLUMNS).encode(COLUMNS)
    scorer = pruner_scorer(SETTINGS)
    weights = learners.create("perceptron", epochs=1).fit(GraphProblem(scorer, encoded)).averaged
    kept = Pruner(PrunerSettings(rule="max-marginal", bits=12, alpha=1.0), weights).prune(encoded)
    assert COLUMNS.words <= kept.arcs < 1.2 * COLUMNS.words
