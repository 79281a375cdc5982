"""The peers of benchmarks/inference.py: each adapter turns a problem into a timed call.

An adapter does all conversion up front (transposing, float32, graph building), so that only the
peer's own work is timed, in its usual mode: whole batches for the torch libraries, one thread,
float32 if that is the default. A peer that is not installed raises ImportError, and the row says so.
"""

from __future__ import annotations

import importlib.util
import sys
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

K = 10  # k-best trees and samples per sentence
ROOT_PENALTY = 1e4  # above any sum of benchmark scores, so that one root is cheapest


@dataclass(frozen=True)
class Problem:
    """A batch of sentences of one length."""

    scores: list[np.ndarray]  # each (n + 1, n + 1), column 0 and the diagonal set to 0
    siblings: list[np.ndarray]  # each (n + 1, n + 1, n + 1); empty for first-order rows

    def first(self, count: int) -> Problem:
        return Problem(self.scores[:count], self.siblings[:count])


Run = Callable[[], object]
Adapter = Callable[[Problem], Run]


def torch_on_one_thread():
    import torch

    torch.set_num_threads(1)
    warnings.filterwarnings("ignore", module=r"torch_struct|supar")
    return torch


def supar_tree():
    """supar.structs.tree without the rest of supar, which needs a dozen other packages."""
    torch_on_one_thread()
    if "supar" not in sys.modules:
        found = importlib.util.find_spec("supar")
        if found is None or found.origin is None:
            raise ImportError("supar is not installed")
        base = Path(found.origin).parent
        for name, folder in (("supar", base), ("supar.utils", base / "utils")):
            shell = types.ModuleType(name)
            shell.__path__ = [str(folder)]
            sys.modules[name] = shell
    from supar.structs import tree

    return tree


def penalized(scores: np.ndarray, roots: str) -> np.ndarray:
    """For peers without a single-root mode: make every root arc cost more than any other gain."""
    if roots == "multi":
        return scores
    scores = scores.copy()
    scores[0] -= ROOT_PENALTY
    return scores


# --- Chu-Liu-Edmonds in C++ -----------------------------------------------------------------


def ufal_argmax(roots: str) -> Adapter:
    def prepare(problem: Problem) -> Run:
        from ufal.chu_liu_edmonds import chu_liu_edmonds

        matrices = [np.ascontiguousarray(penalized(s, roots).T) for s in problem.scores]
        return lambda: [chu_liu_edmonds(matrix) for matrix in matrices]

    return prepare


# --- networkx -------------------------------------------------------------------------------


def _graphs(problem: Problem, roots: str) -> list:
    import networkx

    graphs = []
    for scores in problem.scores:
        graph = networkx.DiGraph()
        weights = penalized(scores, roots)
        for head in range(len(scores)):
            for dep in range(1, len(scores)):
                if head != dep:
                    graph.add_edge(head, dep, weight=float(weights[head, dep]))
        graphs.append(graph)
    return graphs


def networkx_argmax(roots: str) -> Adapter:
    def prepare(problem: Problem) -> Run:
        from networkx.algorithms.tree.branchings import maximum_spanning_arborescence

        graphs = _graphs(problem, roots)
        return lambda: [maximum_spanning_arborescence(graph) for graph in graphs]

    return prepare


def networkx_kbest(roots: str) -> Adapter:
    def prepare(problem: Problem) -> Run:
        from networkx.algorithms.tree.branchings import ArborescenceIterator

        graphs = _graphs(problem, roots)

        def run() -> None:
            for graph in graphs:
                trees = iter(ArborescenceIterator(graph, minimum=False))
                for _ in range(K):
                    next(trees, None)

        return run

    return prepare


# --- supar ----------------------------------------------------------------------------------


def _supar_batch(problem: Problem, roots: str, *, with_siblings: bool = False):
    torch = torch_on_one_thread()
    scores = torch.tensor(np.stack([s.T for s in problem.scores]), dtype=torch.float32)
    options = {"multiroot": roots == "multi"}
    if not with_siblings:
        return scores, options
    # supar scores [dep, head, sibling]; ours are [head, dep, sibling].
    siblings = torch.tensor(np.stack([s.transpose(1, 0, 2) for s in problem.siblings]))
    return (scores, siblings.float()), options


def supar_query(structure: str, query: str, roots: str) -> Adapter:
    """query: argmax, log_partition, marginals or topk of one of supar's structures."""

    def prepare(problem: Problem) -> Run:
        structure_type = getattr(supar_tree(), structure)
        second_order = structure == "Dependency2oCRF"
        scores, options = _supar_batch(problem, roots, with_siblings=second_order)
        topk = query == "topk"

        def ask(distribution):
            return distribution.topk(K) if topk else getattr(distribution, query)

        return lambda: ask(structure_type(_fresh(scores), **options))

    return prepare


def _fresh(scores):
    """A leaf of a new graph each time, so that nothing is cached between runs."""
    if isinstance(scores, tuple):
        return tuple(part.detach() for part in scores)
    return scores.detach()


# --- torch-struct ---------------------------------------------------------------------------


def torch_struct_query(distribution: str, query: str, roots: str) -> Adapter:
    """query: argmax, partition, marginals, topk or sample of a torch-struct distribution."""

    def prepare(problem: Problem) -> Run:
        torch = torch_on_one_thread()
        import torch_struct

        kind = getattr(torch_struct, distribution)
        batch = np.stack(problem.scores)
        compact = batch[:, 1:, 1:].copy()
        words = np.arange(compact.shape[1])
        compact[:, words, words] = batch[:, 0, 1:]  # its convention: root scores on the diagonal
        scores = torch.tensor(compact, dtype=torch.float32)
        ask = {
            "topk": lambda d: d.topk(K),
            "sample": lambda d: d.sample((K,)),
        }.get(query, lambda d: getattr(d, query))
        options = {"multiroot": roots == "multi"}
        # The chart code writes into tensors made from its input; torch allows that only in a graph.
        graph = distribution == "DependencyCRF"
        return lambda: ask(kind(scores.detach().requires_grad_(graph), **options))

    return prepare


# --- LAPACK: the lower bound for anything built on one factorization ------------------------------


def lapack_factorize(problem: Problem) -> Run:
    """dgetrf alone, on the Laplacian-sized matrix, in place, LAPACK's fastest mode."""
    from scipy.linalg.lapack import dgetrf

    matrices = _laplacians(problem)
    return lambda: [dgetrf(matrix) for matrix in matrices]


def lapack_batched_factorize(problem: Problem) -> Run:
    stack = np.stack([np.ascontiguousarray(matrix) for matrix in _laplacians(problem)])
    return lambda: np.linalg.slogdet(stack)


def lapack_invert(problem: Problem) -> Run:
    """dgetrf and dgetri."""
    from scipy.linalg.lapack import dgetrf, dgetri

    matrices = _laplacians(problem)

    def run() -> None:
        for matrix in matrices:
            factors, pivots, _ = dgetrf(matrix)
            dgetri(factors, pivots)

    return run


def lapack_batched_invert(problem: Problem) -> Run:
    stack = np.stack([np.ascontiguousarray(matrix) for matrix in _laplacians(problem)])
    return lambda: np.linalg.inv(stack)


def _laplacians(problem: Problem) -> list[np.ndarray]:
    matrices = []
    for scores in problem.scores:
        weights = np.exp(scores)
        np.fill_diagonal(weights, 0.0)
        laplacian = np.diag(weights[:, 1:].sum(axis=0)) - weights[1:, 1:]
        matrices.append(np.asfortranarray(laplacian))
    return matrices
