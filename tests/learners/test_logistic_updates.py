"""SPV's and MEC's updates: slopes by differences, optima by SciPy, the paper's identity, extreme scores."""

import itertools

import numpy as np
import pytest
from learners_toy import ToyProblem
from scipy.optimize import minimize

from arbora._core import Weights, logistic_gain, logistic_multipliers
from arbora.errors import InputError
from arbora.learners import MinimumExpectedCost, ScaledPriorVariance, Ultraconservative
from arbora.learners._candidates import ListedCandidates

GAINS = ("likelihood", "expected_cost")
PRIORS = ("gauss", "laplace")
EVERY = pytest.mark.parametrize(("gain", "prior"), list(itertools.product(GAINS, PRIORS)))


class Case:
    """A random update, and its objective as the paper writes it: scores and kernels, not margins."""

    def __init__(self, seed, count=None, spread=2.0):
        rng = np.random.default_rng(seed)
        m = count or int(rng.integers(1, 8))
        features = rng.normal(size=(m + 1, int(rng.integers(1, 12))))  # the right one first
        self.kernel = features @ features.T
        self.scores = spread * rng.normal(size=m + 1)
        self.costs = 0.5 * rng.integers(1, 5, m)
        self.scales = np.exp(rng.normal(size=m))
        differences = features[0] - features[1:]
        self.gram = differences @ differences.T
        self.margins = self.scores[0] - self.scores[1:]

    def probabilities(self, alpha):
        K = self.kernel
        scores = self.scores + alpha @ (K[0] - K[1:])
        shares = np.exp(scores - scores.max())
        return shares / shares.sum()

    def gain(self, alpha, gain):
        p = self.probabilities(alpha)
        return np.log(p[0]) if gain == "likelihood" else -np.log(1.0 + p[1:] @ self.costs)

    def objective(self, alpha, gain, prior):
        size = alpha**2 if prior == "gauss" else np.abs(alpha)
        return self.gain(alpha, gain) - self.scales @ size

    def solve(self, gain, prior, tolerance=1e-12):
        return logistic_multipliers(
            self.gram, self.margins, self.costs, self.scales, gain, prior, tolerance=tolerance
        )

    def scipy_optimum(self, gain, prior):
        """From α = 0; α = up - down with both at least 0, so that |α| is smooth."""

        def loss(both):
            up, down = np.split(both, 2)
            value, gradient = logistic_gain(self.gram, self.margins, self.costs, up - down, gain)
            size = self.scales @ ((up - down) ** 2 if prior == "gauss" else up + down)
            slope = self.scales * (2.0 * (up - down) if prior == "gauss" else 1.0)
            sign = 1.0 if prior == "gauss" else -1.0
            return size - value, np.concatenate([slope - gradient, gradient - sign * slope])

        start = np.zeros(2 * len(self.costs))
        return minimize(
            loss, start, jac=True, method="L-BFGS-B", bounds=[(0.0, None)] * len(start),
            options={"ftol": 1e-16, "gtol": 1e-11},
        )  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("gain", GAINS)
def test_gradients_are_the_slopes_of_the_papers_objectives(gain, seed):
    case = Case(seed)
    alpha = np.random.default_rng(seed).normal(size=len(case.costs))
    value, gradient = logistic_gain(case.gram, case.margins, case.costs, alpha, gain)
    assert value == pytest.approx(case.gain(alpha, gain), abs=1e-12)
    step = 1e-6
    for j, unit in enumerate(np.eye(len(alpha))):
        slope = (case.gain(alpha + step * unit, gain) - case.gain(alpha - step * unit, gain)) / (2 * step)
        assert gradient[j] == pytest.approx(slope, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("seed", range(12))
@EVERY
def test_the_optimum_is_scipys(gain, prior, seed):
    case = Case(seed)
    found = case.objective(case.solve(gain, prior), gain, prior)
    assert found == pytest.approx(-case.scipy_optimum(gain, prior).fun, abs=1e-8)
    assert found >= case.objective(np.zeros(len(case.costs)), gain, prior)


@pytest.mark.parametrize("seed", range(4))
@EVERY
def test_no_small_change_is_better(gain, prior, seed):
    case = Case(seed)
    best = case.solve(gain, prior)
    rng = np.random.default_rng(seed)
    value = case.objective(best, gain, prior)
    for _ in range(50):
        assert case.objective(best + 1e-3 * rng.normal(size=len(best)), gain, prior) <= value + 1e-12


@EVERY
def test_the_usual_tolerance_is_near_enough(gain, prior):
    for seed in range(20):
        case = Case(seed)
        exact, usual = (case.solve(gain, prior, tolerance) for tolerance in (1e-12, 1e-5))
        assert np.abs(exact - usual).max() < 1e-3


def test_a_laplacian_prior_leaves_candidates_out():
    counts = [np.count_nonzero(Case(seed, count=20).solve("likelihood", "laplace")) for seed in range(10)]
    assert 0 < np.mean(counts) < 10
    assert np.count_nonzero(Case(0, count=20).solve("likelihood", "gauss")) == 20


@pytest.mark.parametrize("seed", range(5))
def test_with_unit_costs_the_expected_cost_is_one_minus_the_likelihood(seed):
    """Section 2.2 of the paper, for two outputs and for more."""
    for count in (1, 6):
        case = Case(seed, count=count)
        case.costs[:] = 1.0
        for alpha in (np.zeros(count), np.random.default_rng(seed).normal(size=count)):
            likelihood, slope = logistic_gain(case.gram, case.margins, case.costs, alpha, "likelihood")
            cost, fall = logistic_gain(case.gram, case.margins, case.costs, alpha, "expected_cost")
            p = np.exp(likelihood)
            assert np.expm1(-cost) == pytest.approx(1.0 - p, abs=1e-12)
            # log(1 + 1 - P) has the slope P'/(2 - P), log P the slope P'/P: both climb in the same direction.
            assert fall == pytest.approx(slope * p / (2.0 - p), abs=1e-12)


@pytest.mark.parametrize("score", [1e3, -1e3, 1e100, -1e100, 1e300, -1e300])
@EVERY
def test_extreme_scores_stay_finite(gain, prior, score):
    for seed in range(5):
        case = Case(seed, count=3)
        for margins in (np.full(3, score), np.array([score, 0.0, -score]), np.array([score, 1.0, 2.0])):
            value, gradient = logistic_gain(case.gram, margins, case.costs, np.zeros(3), gain)
            assert np.isfinite(value)
            assert np.isfinite(gradient).all()
            case.margins = margins
            found = case.solve(gain, prior, 1e-6)
            assert np.isfinite(found).all()


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("behind", [1.0, 1e3, 1e6])
def test_a_weak_prior_does_not_lead_far_beyond_equal_scores(behind, prior):
    """Weights that are corrected by far more than they were wrong grow without end."""
    gram = 1000.0 * (np.ones((5, 5)) + np.eye(5))
    alpha = logistic_multipliers(
        gram, np.full(5, -behind), np.ones(5), np.full(5, 1.0 / behind), "likelihood", prior
    )
    after = gram @ alpha - behind
    assert (after > 0).all()
    assert (after < 50.0).all()


def test_candidates_all_alike_share_what_one_would_get():
    gram = np.full((4, 4), 3.0)
    shares = logistic_multipliers(
        gram, np.full(4, -1.0), np.ones(4), np.full(4, 0.5), "likelihood", "gauss", tolerance=1e-12
    )
    assert np.ptp(shares) < 1e-12
    assert shares[0] > 0


def test_matrices_of_classes_are_multiplied_the_short_way():
    """One value on the diagonal and one off it; a matrix that is not quite so gives nearly the same."""
    gram = 5.0 * (np.ones((6, 6)) + np.eye(6))
    nearly = gram.copy()
    nearly[0, 1] = nearly[1, 0] = np.nextafter(5.0, 6.0)
    rest = (np.linspace(-1.0, 2.0, 6), np.linspace(0.5, 1.0, 6), np.linspace(1.0, 3.0, 6))
    for gain, prior in itertools.product(GAINS, PRIORS):
        both = [logistic_multipliers(g, *rest, gain, prior, tolerance=1e-12) for g in (gram, nearly)]
        assert both[0] == pytest.approx(both[1], abs=1e-9)


@pytest.mark.parametrize(
    "change",
    [
        {"margins": np.array([np.inf, 0.0])},
        {"gram": np.full((2, 2), np.nan)},
        {"costs": np.array([1.0, -1.0])},
        {"scales": np.array([1.0, 0.0])},
        {"scales": np.ones(3)},
        {"gram": np.ones((2, 3))},
        {"gain": "likelyhood"},
        {"prior": "gaus"},
    ],
)
def test_bad_arguments_are_rejected(change):
    given = {
        "gram": np.eye(2), "margins": np.zeros(2), "costs": np.ones(2), "scales": np.ones(2),
        "gain": "likelihood", "prior": "gauss",
    }  # fmt: skip
    logistic_multipliers(**given)
    with pytest.raises(InputError):
        logistic_multipliers(**{**given, **change})


# ---------------------------------------------------------------- the learners' own steps


def first_step(learner, problem, i=0):
    w = Weights(problem.size)
    learner.step(problem, np.array([i]), w, 1)
    return w.values()


@pytest.mark.parametrize(
    ("learner", "gain", "scales"),
    [
        (ScaledPriorVariance(k=50, gamma=3.0), "likelihood", lambda c, m: 3.0 / c),
        (ScaledPriorVariance(k=50, gamma=3.0, scale="loss"), "likelihood",
         lambda c, m: 3.0 / (np.maximum(0.0, -m) + c)),
        (MinimumExpectedCost(k=50, gamma=3.0), "expected_cost", lambda c, m: np.full(len(c), 3.0)),
    ],
)  # fmt: skip
def test_a_step_is_the_papers(learner, gain, scales):
    problem = ToyProblem(seed=3)
    differences, costs = problem.features[0], problem.costs[0]
    wrong = costs > 0
    start = 0.3 * np.random.default_rng(1).normal(size=problem.size).astype(np.float32)
    d, c, margins = differences[wrong], costs[wrong], differences[wrong] @ start.astype(float)
    order = np.argsort(margins, kind="stable")
    d, c, margins = d[order], c[order], margins[order]
    alpha = logistic_multipliers(d @ d.T, margins, c, scales(c, margins), gain, "gauss")
    w = Weights.from_state({**Weights(problem.size).state(), "v": start, "norm2": float(start @ start)})
    learner.step(problem, np.array([0]), w, 1)
    assert w.values() == pytest.approx(start + alpha @ d, abs=1e-5)


def test_au_takes_the_error_set_away_in_equal_shares():
    problem = ToyProblem(seed=4)
    d, c = problem.features[0], problem.costs[0]
    # At weights of zero every tree scores as well as the right one.
    expected = d[c > 0].mean(axis=0)
    assert first_step(Ultraconservative(k=100), problem) == pytest.approx(expected, abs=1e-6)


def test_au_with_one_candidate_is_the_perceptron():
    from arbora.learners import Perceptron

    problem = ToyProblem(seed=4, noise=0.3, blur=0.1)
    both = [each.fit(problem).averaged for each in (Ultraconservative(k=1), Perceptron())]
    assert np.array_equal(*both)


def test_a_right_tree_alone_teaches_nothing():
    problem = ToyProblem(seed=4, blur=0.2)
    answers = [answer for answer in problem.candidates(0, Weights(problem.size), 50) if answer.loss == 0]
    candidates = ListedCandidates(answers)
    assert len(candidates.losses) == 0
    assert candidates.gram().shape == (0, 0)
