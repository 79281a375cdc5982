"""The states of a treebank's words by a transformer, a few sentences of similar lengths at a time."""

from __future__ import annotations

import numpy as np
import torch

from arbora.neural.data import Layout, ranges
from arbora.neural.pieces import PieceReader
from arbora.neural.transformer import TransformerNetwork
from arbora.types import Floats


@torch.inference_mode()
def word_states(network: TransformerNetwork, reader: PieceReader, words: int, threads: int) -> Floats:
    """(W, size); about `words` words at a time. O(words · pieces of a window)."""
    device = network.root.device
    first = np.append(0, np.cumsum(reader.lengths)).astype(np.int64)
    found = np.zeros((int(first[-1]), len(network.root)), np.float32)
    order = np.argsort(-reader.lengths, kind="stable")
    so_far = np.cumsum(reader.lengths[order])
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    try:
        start = done = 0
        while start < len(order) and reader.lengths[order[start]] > 0:
            end = max(start + 1, int(np.searchsorted(so_far, done + words, side="right")))
            chosen = order[start:end]
            lengths = reader.lengths[chosen].astype(np.int64)
            layout = Layout(ranges(first[chosen], lengths), lengths + 1, device)
            found[layout.words] = network.word_states(reader.rows(layout)).cpu().numpy()
            start, done = end, int(so_far[end - 1])
    finally:
        torch.set_num_threads(before)
    return found
