"""Muon: AdamW, but a matrix changes by about the same amount in every direction [jordan-2024].

At step t, a matrix W of r rows and c columns with gradient G moves by

    M ← μ M + (1 - μ) G          W ← W - η'_t √(max(r, c)) · orthogonal((1 - μ) G + μ M)

where `orthogonal` sets all singular values to about 1, so that η'_t is the root mean square of the changes.
Everything else, such as embeddings and biases, moves as in AdamW; η' follows the schedule of η. On networks
of LSTMs, which have four matrices each, it needs fewer steps than AdamW for the same accuracy.

A problem says what its matrices are, by a run of its own (`arbora.neural.run`); without one, this is AdamW.
"""

from __future__ import annotations

from dataclasses import dataclass

from arbora.learners.adamw import AdamW
from arbora.settings import parameter


@dataclass(frozen=True, kw_only=True)
class Muon(AdamW):
    """AdamW with orthogonal steps of matrices: for neural scorers."""

    name = "muon"
    paper = "jordan-2024"

    matrix_rate: float = parameter(
        1.6e-3, "η', the root mean square of the changes of a matrix in one step", above=0.0
    )
    momentum: float = parameter(
        0.95, "μ, how long the mean of gradients of matrices remembers", least=0.0, below=1.0
    )
