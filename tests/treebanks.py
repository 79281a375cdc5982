"""Random trees and treebanks for tests, and copies of them with mistakes."""

import numpy as np

from arbora.data.sentence import Sentence
from arbora.data.tree import Tree

# fmt: off
UD_LABELS = [
    "nsubj", "nsubj:pass", "obj", "obl", "obl:agent", "det", "case", "punct", "root", "conj", "cc",
    "mark", "acl:relcl", "aux", "aux:pass", "cop", "advmod", "compound", "compound:prt", "flat",
    "dep", "clf",
]
FORMS = [
    "the", "dog", "barks", "—", "...", ",", "(", ")", "«", "»", "%", "$", "'s", "e.g.", "--",
    "U.S.", "¿", "ʼ", "don't", "_", "2",
]
TAGS = ["NOUN", "VERB", "PUNCT", "DET", "ADP", "SYM", "PROPN", "AUX", "X"]
# fmt: on


def random_heads(rng, n, *, single_root=True):
    """Words join, in random order, under node 0 or a word that joined before."""
    order = rng.permutation(n) + 1
    heads = [0] * n
    for place, word in enumerate(order):
        options = [*([] if single_root and place else [0]), *order[:place]]
        heads[word - 1] = int(rng.choice(options))
    return heads


def random_treebank(seed, sentences=40, *, single_root=True, labels=UD_LABELS, tags=TAGS):
    rng = np.random.default_rng(seed)
    result = []
    for _ in range(sentences):
        n = int(rng.integers(1, 60))
        result.append(
            Sentence.from_lists(
                rng.choice(FORMS, size=n).tolist(),
                upos=rng.choice(tags, size=n).tolist(),
                heads=random_heads(rng, n, single_root=single_root),
                deprels=rng.choice(labels, size=n).tolist(),
            )
        )
    return result


def spoil(sentence, rng, share=0.15, labels=UD_LABELS):
    """A copy with some heads and labels changed, and as many roots as before."""
    heads = list(sentence.heads)
    names = list(sentence.deprels)
    n = len(heads)
    for word in range(1, n + 1):
        if heads[word - 1] != 0 and rng.random() < share:
            candidate = int(rng.integers(1, n + 1))
            above = candidate
            while above not in (0, word):
                above = heads[above - 1]
            if above == 0:
                heads[word - 1] = candidate
        if rng.random() < share:
            names[word - 1] = str(rng.choice(labels))
    if n > 1 and rng.random() < share:
        heads = swap_root(heads, int(rng.integers(1, n + 1)))
    return sentence.with_tree(Tree.from_heads(heads, names))


def swap_root(heads, word):
    """Make `word` a root by turning the arcs above it around."""
    turned = list(heads)
    below, node = 0, word
    while node != 0:
        turned[node - 1], below, node = below, node, heads[node - 1]
    return turned


def spoil_all(sentences, seed, share=0.15, labels=UD_LABELS):
    rng = np.random.default_rng(seed)
    return [spoil(sentence, rng, share, labels) for sentence in sentences]
