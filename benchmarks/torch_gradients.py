"""Speed of arbora.inference.torch and torch-struct: milliseconds per batch.

One loss and its gradient, on one thread.

    python benchmarks/torch_gradients.py [--sizes 10 20 40] [--batch 32] [--json]

`likelihood` is -log P(tree), the loss of a neural parser; `entropy` the entropy of the distribution. Both run
forward and backward on float32 scores: projective trees with one root, non-projective ones with several. Both
libraries take turns on the same scores and the best of several rounds counts, so a busy machine affects both
alike. The table also shows the difference of their gradients.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

os.environ["OMP_NUM_THREADS"] = "1"

import torch
from rich.console import Console
from rich.table import Table

from arbora.inference.torch import TreeDistribution
from arbora.interfaces import Trees

try:
    warnings.filterwarnings("ignore")
    import torch_struct
except ImportError:
    torch_struct = None

PEERS: dict[Trees, str] = {"projective": "DependencyCRF", "nonprojective": "NonProjectiveDependencyCRF"}
ROUNDS = 7


def peer_scores(scores: torch.Tensor) -> torch.Tensor:
    """torch-struct keeps the root's scores on the diagonal."""
    words = scores[:, 1:, 1:]
    return words + torch.diag_embed(scores[:, 0, 1:] - torch.diagonal(words, dim1=1, dim2=2))


def our_loss(query: str, heads: torch.Tensor, trees: Trees, scores: torch.Tensor) -> torch.Tensor:
    distribution = TreeDistribution(
        scores, trees=trees, roots="multi" if trees == "nonprojective" else "single"
    )
    return -distribution.log_prob(heads).sum() if query == "likelihood" else distribution.entropy.sum()


def peer_loss(query: str, heads: torch.Tensor, trees: Trees, scores: torch.Tensor) -> torch.Tensor:
    compact = peer_scores(scores)
    options = {"multiroot": trees == "nonprojective"}
    distribution = getattr(torch_struct, PEERS[trees])(compact, **options)
    if query == "entropy":
        return distribution.entropy.sum()
    deps = torch.arange(1, scores.shape[1])
    own = scores[torch.arange(len(scores))[:, None], heads[:, 1:], deps].sum()
    return distribution.partition.sum() - own


def timed(loss: Callable[[torch.Tensor], torch.Tensor], scores: torch.Tensor) -> tuple[float, torch.Tensor]:
    """Milliseconds of one pass forward and backward, and the gradient."""
    given = scores.clone().requires_grad_()
    start = time.perf_counter()
    loss(given).backward()
    assert given.grad is not None
    return 1e3 * (time.perf_counter() - start), given.grad


def measure(query: str, trees: Trees, n: int, batch: int) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(n)
    scores = torch.randn(batch, n + 1, n + 1, generator=generator)
    heads = TreeDistribution(scores, trees=trees).argmax().heads
    runs: dict[str, Callable[..., torch.Tensor]] = {"arbora": our_loss} | (
        {} if torch_struct is None else {"torch-struct": peer_loss}
    )
    best: dict[str, Any] = {"query": query, "trees": trees, "n": n, "batch": batch}
    gradients = {}
    for name, run in runs.items():
        try:
            _, gradients[name] = timed(partial(run, query, heads, trees), scores)
        except Exception as error:  # the peer lacks this query
            best[f"{name} failed"] = str(error)[:80]
    times: dict[str, list[float]] = {name: [] for name in gradients}
    for _ in range(ROUNDS):
        for name in times:
            times[name].append(timed(partial(runs[name], query, heads, trees), scores)[0])
    best |= {name: min(each) for name, each in times.items()}
    if len(gradients) == 2:
        best["largest difference"] = float(
            (gradients["arbora"] - gradients["torch-struct"])[:, :, 1:].abs().max()
        )
    return best


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sizes", type=int, nargs="+", default=[10, 20, 40])
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    lines = [
        measure(query, trees, n, options.batch)
        for query in ("likelihood", "entropy")
        for trees in PEERS
        for n in options.sizes
    ]
    if options.json:
        print(json.dumps(lines, indent=2))
        return
    table = Table(title=f"ms per batch of {options.batch}, forward and backward")
    for heading in ("query", "trees", "words", "arbora", "torch-struct", "factor", "gradients differ by"):
        table.add_column(heading, justify="left" if heading in ("query", "trees") else "right")
    for line in lines:
        ours, theirs = line.get("arbora"), line.get("torch-struct")
        table.add_row(
            str(line["query"]),
            str(line["trees"]),
            str(line["n"]),
            f"{ours:.2f}",
            "-" if theirs is None else f"{theirs:.2f}",
            "-" if theirs is None else f"{theirs / ours:.1f}x",
            "-" if theirs is None else f"{line['largest difference']:.1e}",
        )
    Console().print(table)


if __name__ == "__main__":
    main()
