"""Where learning starts: words depend on near ones rather than on far ones [klein-2004].

Of a sentence of which nothing is known but its length, each word is the root as often as any other, and given
that, the probability of a projective tree is the product of 1 / (distance + constant) over its arcs. Without
the demand for a tree, words choose their heads one by one (`near_arcs`).
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from arbora import inference
from arbora.induction.valence_counts import Counts, Sentences
from arbora.types import Doubles

STARTS = ("even", "harmonic")
"""Whether heads first stop as often as they go on, or as they do in harmonic trees."""
SURENESS = 4.0
"""Of noisy counts: each is multiplied by a gamma variable of mean 1 and variance 1/4."""


def harmonic_scores(n: int, constant: float) -> Doubles:
    """Scores of arcs of n words, (n+1, n+1), that give projective trees with one root the above."""
    nodes = np.arange(n + 1)
    distances = np.maximum(np.abs(nodes[:, None] - nodes[None, :]), 1).astype(np.float64)
    scores: Doubles = -np.log(distances + constant)
    scores[0] = 0.0
    roots: Doubles = inference.marginals([scores], trees="projective", roots="single")[0][0, 1:]
    scores[0, 1:] = -np.log(roots)
    return scores


@lru_cache(maxsize=256)
def harmonic_arcs(n: int, constant: float) -> tuple[Doubles, Doubles]:
    """How often each arc is expected, and as one to a side's nearest dependent: (n+1, n+1) each.

    Not to be written to. O(n³).
    """
    found: Any = inference.marginals(
        harmonic_scores(n, constant),
        siblings=np.zeros((n + 1, n + 1, n + 1)),
        trees="projective",
        roots="single",
    )
    nodes = np.arange(n + 1)
    arcs, nearest = found.arcs, found.siblings[nodes[:, None], nodes[None, :], nodes[:, None]]
    arcs.setflags(write=False)
    nearest.setflags(write=False)
    return arcs, nearest


def harmonic_counts(sentences: Sentences, constant: float, even_stops: bool, seed: int = 0) -> Counts:
    """Of all choices of the dependency model with valence; with noise where the seed is not 0.

    `even_stops`: heads stop as often as they go on, whatever they do in harmonic trees.
    """
    counts = Counts.zeros(len(sentences.tags))
    for piece in sentences.pieces:
        arcs, nearest = harmonic_arcs(piece.tags.shape[1], constant)
        counts.add(piece.tags, arcs, nearest, piece.weights)
    if even_stops:
        counts.stop[:] = counts.go_on
    if seed:
        rng = np.random.default_rng(seed)
        for table in (counts.root, counts.child, counts.stop):
            table *= rng.gamma(SURENESS, 1 / SURENESS, size=table.shape)
    return counts


@lru_cache(maxsize=256)
def near_arcs(n: int) -> Doubles:
    """How often each arc is expected where only the length is known, (n+1, n+1).

    Each word is the root with probability 1/n; else its head is another word in proportion to 1/distance.
    """
    nodes = np.arange(n + 1)
    found: Doubles = 1.0 / np.maximum(1, np.abs(nodes[:, None] - nodes[None, :]))
    np.fill_diagonal(found, 0.0)
    found[0] = 0.0
    found[:, 0] = 0.0
    found *= (1.0 - 1.0 / n) / np.maximum(found.sum(axis=0), 1e-300)
    found[0, 1:] = 1.0 / n
    found.setflags(write=False)
    return found
