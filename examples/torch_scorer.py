"""Your own scorer in PyTorch: a few lines, with Arbora's inference, training and model files.

A scorer gives a score to each arc. Arbora adds the rest: the loss (here crf, the log-likelihood of
the gold tree among all trees), its gradient, the search, probabilities.

    python examples/torch_scorer.py
"""
# needs: torch

from __future__ import annotations

from typing import Any

import torch

import arbora
from arbora.data.columns import Columns
from arbora.data.encode import Batch, Names
from arbora.data.synthetic import generate
from arbora.interfaces import PartKind
from arbora.registry import scorers
from arbora.scorers.torch import TorchScorer


class TagPairs(TorchScorer):
    """A score for each pair of tags and for each distance between head and dependent."""

    name = "tag-pairs"

    def __init__(self, tags: list[str]) -> None:
        super().__init__()
        self.rows = {tag: row for row, tag in enumerate(tags, start=2)}  # 0: the root, 1: unknown
        self.pairs = torch.nn.Parameter(torch.zeros(len(tags) + 2, len(tags) + 2))
        self.distances = torch.nn.Embedding(21, 1)

    @classmethod
    def prepare(cls, columns: Columns, names: Names) -> dict[str, Any]:
        """The tags of the treebank."""
        return {"tags": list(names.tags)}

    def forward(self, batch: Batch) -> list[dict[PartKind, torch.Tensor]]:
        """Scores [head, dep] of each sentence."""
        return [{PartKind.ARC: self.sentence(tags)} for tags in batch.texts("upos")]

    def sentence(self, tags: list[str]) -> torch.Tensor:
        rows = torch.tensor([0, *(self.rows.get(tag, 1) for tag in tags)])
        place = torch.arange(len(rows))
        distance = (place[:, None] - place).clamp(-10, 10) + 10
        return self.pairs[rows[:, None], rows] + self.distances(distance)[:, :, 0]


def main() -> None:
    """Train the scorer on synthetic sentences, and parse others with probabilities."""
    scorers.register(TagPairs.name, TagPairs)
    gold = list(generate(300, seed=8))
    config = {"parser": "exact", "scorer": TagPairs.name, "loss": "crf", "labels": "none", "only": "parser"}
    parameters = {"epochs": 10, "rate": 0.1, "k": 8}
    trained = arbora.train(gold[:200], gold[200:], config={**config, "parameters": parameters})
    print(f"UAS on unseen sentences: {trained.scores['uas']:.1f}")
    (parsed,) = trained.pipeline.parse(gold[200:201], probabilities=True)
    print(f"P(tree) = {parsed.probability:.2f}")
    print([f"{word.form}: {word.head_probability:.2f}" for word in parsed])


if __name__ == "__main__":
    main()
