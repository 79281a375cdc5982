"""A CRF autoencoder of trees [cai-2017, ammar-2014]: an encoder finds a tree, a decoder its tags.

    P(y, x | x) = exp(Σ_j w·f(x, i → j)) / Z(x)  ·  Π_j θ[tag j | tag of j's head i]
                  encoder: a log-linear parser       decoder: a table of pairs of tags

With rules R of what is known in advance and their weight α, Q(x, y) = exp(number of arcs in R), sentences
have

    L(x) = log max_y P(y, x | x) Q(x, y)^α         objective "viterbi"
    L(x) = log Σ_y  P(y, x | x) Q(x, y)^α          objective "likelihood"

and learning makes Σ_x L(x) - λ (sentences / batch) |w|₁ large: the penalty is λ for each batch's sum of L(x).
The paper does not say what its λ, .5 to 2.5, is weighed against. Against a batch's mean it would leave no
weight at all; against the sum over the corpus it leaves more weights than here, and trees about as good.

A round improves w while θ stays, then θ while w stays, `passes` times each:

    w   a pass of steps over batches in a new order, each along the sum of
            f(y*) - E[f | P(y | x)]           "viterbi": y* the best tree of encoder, decoder and rules
            E[f | P(y | x, x, Q)] - E[f | P(y | x)]           "likelihood"
        with AdaGrad's lengths and the proximal step of the penalty (`proximal`)
    θ   an EM step: θ[t | h] = (count of arcs h → t in the trees y* (expected, "likelihood") + s) / total
        which never lowers the objective, but for the smoothing s

At the start w = 0, and θ comes from counts of arcs in sentences of which only the lengths are known, after
Klein and Manning (2004): each word is the root with probability 1/n, and depends on others in proportion to
1/distance. To start both parts so ("both"), w first sees a pass of steps towards these arcs: E[f] of them
less E[f | P(y | x)]. Seeds above 0 multiply the counts of the start by noise, for restarts.

Since Σ_j w·f + log θ + α [rule] is a sum over arcs, what is learned is an `ArcModel`, and parsing is exact.
A pass takes O(n³) per sentence: one argmax and one inside-outside pass (or determinant).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar, TypeAlias, cast

import numpy as np

from arbora.errors import InputError
from arbora.induction import rules as rules_
from arbora.induction.arc_model import ArcModel, pair_table
from arbora.induction.arcs import ArcSet, CorpusArcs, as_arcs
from arbora.induction.corpus import TagCorpus
from arbora.induction.features import ROOT
from arbora.induction.harmonic import near_arcs
from arbora.induction.interfaces import Induced, Round, Watch
from arbora.induction.proximal import ProximalAdagrad
from arbora.induction.rules import Rules
from arbora.induction.trees import best_heads, log_sums, part_marginals
from arbora.interfaces import PartKind, Roots, StopTraining, Trees
from arbora.learners._parameters import Configured, parameter
from arbora.types import Doubles, Longs

NOISE = 0.2
"""Of restarts: the standard deviation of the log of what counts at the start are multiplied by."""
ROOTS: Roots = "single"


@dataclass(frozen=True, kw_only=True)
class CrfAutoencoder(Configured):
    """CRF autoencoder: a log-linear parser learns trees from which a table of pairs gives back the tags.

    Takes rules of which tags depend on which, and needs them for good trees [cai-2017].
    """

    name: ClassVar[str] = "crfae"
    paper: ClassVar[str] = "cai-2017"

    rounds: int = parameter(2, "how often encoder and decoder take turns", least=1)
    passes: int = parameter(2, "passes over the corpus for each of the two in a round", least=1)
    rate: float = parameter(0.1, "η, the length of the encoder's steps", above=0.0, most=1e6)
    l1: float = parameter(
        0.5, "λ, the weight of |w|₁ against the sum of log P of a batch", least=0.0, most=1e6
    )
    prior: float = parameter(9.0, "α, what an arc gains that follows a rule", least=0.0, most=1e6)
    objective: str = parameter(
        "viterbi", "of the best tree, or of the sum over all trees", choices=("viterbi", "likelihood")
    )
    trees: str = parameter("projective", "whether arcs may cross", choices=("projective", "nonprojective"))
    init: str = parameter(
        "decoder", "which parts start with near words as heads", choices=("decoder", "both", "none")
    )
    batch: int = parameter(200, "sentences per step", least=1)
    smoothing: float = parameter(1e-8, "s, added to counts of the decoder", above=0.0, most=1e6)

    def fit(
        self,
        corpus: TagCorpus,
        *,
        rules: Rules | None = None,
        seed: int = 0,
        threads: int = 1,
        watch: Watch | None = None,
    ) -> Induced:
        """Learn from a corpus; see `arbora.induction.interfaces.Inducer`.

        The objective of rounds is that of the corpus per word, and comparable only under the same rules and
        the same weight of them. The measure `nonzero` is the share of weights that are not 0.
        """
        if not len(corpus):
            raise InputError(f"{self.name}: expected at least one sentence to learn from, got none")
        start = time.perf_counter()
        run = Run(self, corpus, rules=rules, seed=seed, threads=threads)
        run.initialize()
        history: list[Round] = []
        for number in range(1, self.rounds + 1):
            for _ in range(self.passes):
                run.improve_encoder()
            for _ in range(self.passes):
                run.improve_decoder()
            nonzero = float(np.count_nonzero(run.weights) / max(1, len(run.weights)))
            history.append(Round(number, run.objective(), time.perf_counter() - start, {"nonzero": nonzero}))
            if watch is not None:
                try:
                    watch(history[-1], run.model())
                except StopTraining:
                    break
        return Induced(run.model(), tuple(history))


class Run:
    """Encoder and decoder as they are while learning."""

    def __init__(
        self,
        options: CrfAutoencoder,
        corpus: TagCorpus,
        *,
        rules: Rules | None = None,
        seed: int = 0,
        threads: int = 1,
    ) -> None:
        self.options = options
        self.arcs = CorpusArcs(corpus)
        self.decoder: Doubles = np.full((self.arcs.tags + 1, self.arcs.tags), 1.0 / self.arcs.tags)
        """θ, [head, dependent]; the last row is the root's."""
        self._steps = ProximalAdagrad(self.arcs.size, options.rate)
        self._prior = np.zeros_like(self.decoder)
        if rules is not None:
            heads = [*corpus.tags, rules_.ROOT]
            self._prior = options.prior * rules.table(heads, corpus.tags).astype(np.float64)
        self._seed = seed
        self._rng = np.random.default_rng(seed)
        self._trees = cast("Trees", options.trees)
        self._threads = threads

    @property
    def weights(self) -> Doubles:
        return self._steps.weights

    def model(self) -> ArcModel:
        return ArcModel(
            tags=self.arcs.corpus.tags,
            weights=self.arcs.full(self.weights),
            pairs=self.pairs(),
            trees=self._trees,
            roots=ROOTS,
        )

    def pairs(self) -> Doubles:
        """log θ + α [rule], for `ArcModel`."""
        table = np.log(self.decoder) + self._prior
        return pair_table(table[:-1], table[-1])

    def initialize(self) -> None:
        counts = self._no_counts()
        for each in self.arcs.sets():
            each.add_pairs(np.broadcast_to(near_arcs(each.length), each.shape), counts)
        table = self._of_words(counts) if self.options.init != "none" else np.ones_like(self.decoder)
        if self._seed:
            table *= np.exp(NOISE * self._rng.normal(size=table.shape))
        self._estimate(table)
        if self.options.init == "both":
            self._pass(lambda each, encoder: near_arcs(each.length))

    def improve_encoder(self) -> None:
        pairs = self.pairs()
        self._pass(lambda each, encoder: self._found(encoder + each.pairs(pairs)))

    def improve_decoder(self) -> None:
        counts, pairs = self._no_counts(), self.pairs()
        for each in self.arcs.sets():
            each.add_pairs(self._found(each.scores(self.weights) + each.pairs(pairs)), counts)
        self._estimate(self._of_words(counts))

    def objective(self) -> float:
        total = sum(self.log_likelihood(each) for each in self.arcs.sets())
        penalty = self.options.l1 * len(self.arcs.corpus) / self.options.batch * np.abs(self.weights).sum()
        return float((total - penalty) / self.arcs.corpus.words)

    def log_likelihood(self, each: ArcSet) -> float:
        """Σ L(x) of a set of sentences."""
        encoder = each.scores(self.weights)
        joint = encoder + each.pairs(self.pairs())
        if self.options.objective == "viterbi":
            top = joint[self._best(joint) > 0].sum()
        else:
            top = self._log_sums(joint).sum()
        return float(top - self._log_sums(encoder).sum())

    def gradient(self, chosen: Longs | None = None) -> Doubles:
        """Of Σ L(x) over some sentences (all) with respect to w."""
        pairs = self.pairs()
        return self._gradient(chosen, lambda each, encoder: self._found(encoder + each.pairs(pairs)))

    def _pass(self, target: Target) -> None:
        """Steps over all batches, in a new order, each towards the arcs that `target` gives."""
        order = self._rng.permutation(len(self.arcs.corpus))
        for at in range(0, len(order), self.options.batch):
            chosen = order[at : at + self.options.batch]
            # The last batch may be smaller: its share of the penalty is, too.
            penalty = self.options.l1 * len(chosen) / self.options.batch
            self._steps.step(self._gradient(chosen, target), penalty)

    def _gradient(self, chosen: Longs | None, target: Target) -> Doubles:
        """Features of the arcs that are wanted less those that the encoder expects."""
        found = np.zeros(self.arcs.size)
        for each in self.arcs.sets(chosen):
            encoder = each.scores(self.weights)
            each.add_features(target(each, encoder) - self._marginals(encoder), found)
        return found

    def _found(self, joint: Doubles) -> Doubles:
        """Arcs of the best trees, or those expected, by scores of encoder, decoder and rules together."""
        return self._best(joint) if self.options.objective == "viterbi" else self._marginals(joint)

    def _best(self, scores: Doubles) -> Doubles:
        heads = best_heads({PartKind.ARC: scores}, trees=self._trees, roots=ROOTS, threads=self._threads)
        return as_arcs(heads)

    def _marginals(self, scores: Doubles) -> Doubles:
        parts = {PartKind.ARC: scores}
        return part_marginals(parts, trees=self._trees, roots=ROOTS, threads=self._threads)[PartKind.ARC]

    def _log_sums(self, scores: Doubles) -> Doubles:
        return log_sums({PartKind.ARC: scores}, trees=self._trees, roots=ROOTS, threads=self._threads)

    def _no_counts(self) -> Doubles:
        return np.zeros((self.arcs.features.symbols, self.arcs.features.symbols))

    def _of_words(self, counts: Doubles) -> Doubles:
        """The rows of tags and of the root, the columns of tags: as `decoder`."""
        tags = self.arcs.tags
        return counts[[*range(tags), tags + ROOT], :tags]

    def _estimate(self, counts: Doubles) -> None:
        smoothed = counts + self.options.smoothing
        self.decoder = smoothed / smoothed.sum(axis=1, keepdims=True)


Target: TypeAlias = Callable[[ArcSet, Doubles], Doubles]
"""From sentences and the encoder's scores of their arcs to how often each arc is wanted, (m, n+1, n+1)."""
