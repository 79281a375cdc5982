"""The measurements of benchmarks/inference.py: one row per query, its peers, and its limit.

A limit is "Arbora at least `factor` times faster than the fastest peer". The reference figures are
the fastest peer's microseconds per sentence at n = 20, 40 and 80, one thread, on a comparable
machine. They replace peers that cannot be installed; a row must reach its factor against the faster
of the two.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import inference_peers as peers
from inference_peers import Adapter, K, Problem

from arbora import inference
from arbora.interfaces import Roots, Trees

BAR_SIZES = (20, 40, 80)
KINDS = ("normal", "parser-like")


@dataclass(frozen=True)
class Bar:
    """The time must be at most reference / factor, and at most the fastest peer's time / factor."""

    factor: float
    reference: tuple[float, float, float] | None  # µs at BAR_SIZES; None: measured peers only

    def figure(self, n: int) -> float | None:
        if self.reference is None or n not in BAR_SIZES:
            return None
        return self.reference[BAR_SIZES.index(n)]


@dataclass(frozen=True)
class Row:
    """One line of the table for each size and kind of scores."""

    name: str
    ours: Callable[[Problem, int], object]  # (problem, threads)
    peers: dict[str, Adapter]
    bars: dict[str, Bar]  # by kind of scores
    siblings: bool = False
    long: bool = (
        False  # also measured on sentences longer than in any treebank, where charts exceed the caches
    )
    long_peers: tuple[str, ...] = ()  # the peers measured there, too


def same_bar(factor: float, *reference: float) -> dict[str, Bar]:
    """The same limit for both kinds of scores, which do not affect charts and factorizations."""
    figures = (reference[0], reference[1], reference[2]) if reference else None
    return {kind: Bar(factor, figures) for kind in KINDS}


def argmax_row(roots: Roots, normal: tuple, parser_like: tuple) -> Row:
    return Row(
        f"non-projective argmax, {roots} root",
        lambda p, threads: inference.argmax(p.scores, roots=roots, threads=threads),
        {
            "ufal": peers.ufal_argmax(roots),
            "networkx": peers.networkx_argmax(roots),
            "supar": peers.supar_query("MatrixTree", "argmax", roots),
        },
        {"normal": Bar(5, normal), "parser-like": Bar(1, parser_like)},
    )


def projective_row(name: str, query: str, factor: float, *reference: float) -> Row:
    torch_struct_name = {"log_partition": "partition"}.get(query, query)
    return Row(
        f"projective {name}",
        lambda p, threads: getattr(inference, query)(p.scores, trees="projective", threads=threads),
        {
            "supar": peers.supar_query("DependencyCRF", query, "single"),
            "torch-struct": peers.torch_struct_query("DependencyCRF", torch_struct_name, "single"),
        },
        same_bar(factor, *reference),
        long=True,
    )


def matrix_tree_row(name: str, query: str, *reference: float) -> Row:
    """No slower than the reference; slower libraries are shown for comparison."""
    torch_struct_name = {"log_partition": "partition"}.get(query, query)
    return Row(
        f"non-projective {name}",
        lambda p, threads: getattr(inference, query)(p.scores, threads=threads),
        {
            "supar": peers.supar_query("MatrixTree", query, "single"),
            "torch-struct": peers.torch_struct_query(
                "NonProjectiveDependencyCRF", torch_struct_name, "single"
            ),
        },
        same_bar(1, *reference),
    )


def lapack_row(name: str, query: str, adapters: dict[str, Adapter], *reference: float) -> Row:
    return Row(
        f"non-projective {name} vs LAPACK",
        lambda p, threads: getattr(inference, query)(p.scores, threads=threads),
        adapters,
        same_bar(0.5, *reference),
        long=True,
        long_peers=tuple(adapters),
    )


def second_order_row(name: str, query: str, *reference: float) -> Row:
    return Row(
        f"second-order {name}",
        lambda p, threads: getattr(inference, query)(
            p.scores, trees="projective", siblings=p.siblings, threads=threads
        ),
        {"supar": peers.supar_query("Dependency2oCRF", query, "single")},
        same_bar(20, *reference),
        siblings=True,
    )


def sample_row(trees: Trees, roots: Roots, adapters: dict[str, Adapter], *reference: float) -> Row:
    shown = trees.replace("nonp", "non-p")
    return Row(
        f"{K} samples, {shown}, {roots} root",
        lambda p, threads: inference.sample(p.scores, K, trees=trees, roots=roots, threads=threads),
        adapters,
        same_bar(10, *reference),
    )


ROWS = [
    argmax_row("multi", (15, 54, 202), (2.2, 6.7, 20)),
    argmax_row("single", (30, 84, 260), (4.7, 7.5, 20)),
    projective_row("argmax", "argmax", 30, 250, 820, 4440),
    projective_row("log-partition", "log_partition", 5, 115, 380, 1380),
    projective_row("marginals", "marginals", 8, 285, 1280, 6100),
    matrix_tree_row("log-partition", "log_partition", 3.5, 9.1, 37),
    matrix_tree_row("marginals", "marginals", 8.3, 26, 113),
    lapack_row(
        "log-partition",
        "log_partition",
        {"dgetrf": peers.lapack_factorize, "numpy slogdet": peers.lapack_batched_factorize},
        *(2.3, 8.2, 30),
    ),
    lapack_row(
        "marginals",
        "marginals",
        {"dgetri": peers.lapack_invert, "numpy inv": peers.lapack_batched_invert},
        *(4.4, 25, 129),
    ),
    second_order_row("argmax", "argmax", 580, 2380, 14500),
    second_order_row("log-partition", "log_partition", 364, 1820, 14400),
    second_order_row("marginals", "marginals", 743, 3300, 26800),
    Row(
        f"{K} best, non-projective",
        lambda p, threads: inference.kbest(p.scores, K, threads=threads),
        {"networkx": peers.networkx_kbest("single")},
        same_bar(200, 24_800, 89_400, 321_000),
    ),
    Row(
        f"{K} best, projective",
        lambda p, threads: inference.kbest(p.scores, K, trees="projective", threads=threads),
        {
            "supar": peers.supar_query("DependencyCRF", "topk", "single"),
            "torch-struct": peers.torch_struct_query("DependencyCRF", "topk", "single"),
        },
        same_bar(100, 13_000, 95_000, 720_000),
    ),
    sample_row("nonprojective", "multi", {}, 233, 868, 3230),
    sample_row("nonprojective", "single", {}, 1070, 4190, 15_400),
    sample_row(
        "projective",
        "single",
        {"torch-struct": peers.torch_struct_query("DependencyCRF", "sample", "single")},
        *(980, 4000, 23_800),
    ),
]
