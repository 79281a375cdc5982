"""Muon: AdamW with orthogonalized updates of matrices [jordan-2024].

At step t, a matrix W of r rows and c columns with gradient G moves by

    M ← μ M + (1 - μ) G          W ← W - η'_t √(max(r, c)) · orthogonal((1 - μ) G + μ M)

where `orthogonal` sets all singular values to about 1, so that η'_t is the root mean square of the changes.
AdamW updates everything else, such as embeddings and biases; η' follows the schedule of η. LSTMs need fewer
steps than with AdamW for the same accuracy; each of their gates counts as a matrix.

A problem names its matrices by a run of its own (`arbora.neural.run`); for other problems this is AdamW.
"""

from __future__ import annotations

from dataclasses import dataclass

from arbora.learners.adamw import AdamW
from arbora.settings import parameter


@dataclass(frozen=True, kw_only=True)
class Muon(AdamW):
    """AdamW with orthogonalized updates of matrices: for neural scorers."""

    name = "muon"
    paper = "jordan-2024"

    matrix_rate: float = parameter(
        1.6e-3, "η', the learning rate of matrices: the root mean square of one update", above=0.0
    )
    momentum: float = parameter(0.95, "μ, the momentum of matrices", least=0.0, below=1.0)
