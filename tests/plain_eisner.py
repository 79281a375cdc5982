"""A plain projective decoder for tests: O(n^3) Python after Eisner, sharing no code with arbora."""

import importlib.util
import sys
import types
from dataclasses import dataclass

import numpy as np


@dataclass
class Best:
    heads: np.ndarray


def argmax(scores, *, trees, roots):
    assert trees == "projective"
    scores = np.array(scores, dtype=float)
    if roots == "single":
        # Exact for the small integers used here: a second root costs more than all arcs give.
        scores[0] -= 4.0 * len(scores)
    n = len(scores) - 1
    # chart[kind][left][right] = (score, split); kinds: open/closed, head on the left/right.
    open_left, open_right, closed_left, closed_right = (
        [[(-np.inf, -1)] * (n + 1) for _ in range(n + 1)] for _ in range(4)
    )
    for i in range(n + 1):
        closed_left[i][i] = closed_right[i][i] = (0.0, i)
    for width in range(1, n + 1):
        for i in range(n + 1 - width):
            j = i + width
            joined = max((closed_left[i][k][0] + closed_right[k + 1][j][0], -k) for k in range(i, j))
            open_left[i][j] = (joined[0] + scores[i, j], -joined[1])
            if i > 0:
                open_right[i][j] = (joined[0] + scores[j, i], -joined[1])
            closed_left[i][j] = max(
                (open_left[i][k][0] + closed_left[k][j][0], k) for k in range(i + 1, j + 1)
            )
            closed_right[i][j] = max((closed_right[i][k][0] + open_right[k][j][0], k) for k in range(i, j))
    heads = np.full(n + 1, -1)

    def follow(chart, i, j):
        if i == j:
            return
        k = chart[i][j][1]
        if chart is closed_left:
            follow(open_left, i, k)
            follow(closed_left, k, j)
        elif chart is closed_right:
            follow(closed_right, i, k)
            follow(open_right, k, j)
        else:
            head, dep = (i, j) if chart is open_left else (j, i)
            heads[dep] = head
            follow(closed_left, i, k)
            follow(closed_right, k + 1, j)

    follow(closed_left, 0, n)
    return Best(heads)


def stand_in(monkeypatch):
    """Serve as `arbora.inference` where the native decoder is not there."""
    if importlib.util.find_spec("arbora.inference") is None:
        module = types.ModuleType("arbora.inference")
        module.argmax = argmax
        monkeypatch.setitem(sys.modules, "arbora.inference", module)
