"""A small language with abbreviations, multiword tokens and quotes, as CoNLL-U with spaces given."""

import random

from arbora.data.columns import parse_text

NAMES = ["Ann", "Bob", "Dr. Carl", "Mr. Dahl", "Élodie", "Fritz"]
VERBS = ["sees", "calls", "likes", "doesn't see", "can't stand", "isn't", "won't call"]
THINGS = [
    "the dog",
    "3.5 kg of rice",
    "a cat",
    "Bob's house",
    "Carl's house",
    "du pain",
    "10,000 trees",
    "it",
    "e.g. books",
]
ENDS = [".", "!", "?", "...", ".", "."]
SPLITS = {"doesn't": ["does", "n't"], "can't": ["ca", "n't"], "isn't": ["is", "n't"], "won't": ["wo", "n't"]}
SPLITS |= {"Bob's": ["Bob", "'s"], "Carl's": ["Carl", "'s"], "Ann's": ["Ann", "'s"], "du": ["de", "le"]}


def rows(token, number, space):
    """CoNLL-U lines of one token."""
    misc = "_" if space else "SpaceAfter=No"
    words = SPLITS.get(token)
    if words is None:
        return [f"{number}\t{token}" + "\t_" * 7 + f"\t{misc}"], 1
    head = f"{number}-{number + len(words) - 1}\t{token}" + "\t_" * 7 + f"\t{misc}"
    return [head, *(f"{number + i}\t{word}" + "\t_" * 8 for i, word in enumerate(words))], len(words)


def sentence(tokens):
    """Lines of a sentence of (token, space follows) pairs."""
    lines, number = [], 1
    for token, space in tokens:
        more, count = rows(token, number, space)
        lines += more
        number += count
    return [*lines, ""]


def toy_conllu(seed=0, sentences=400):
    chance = random.Random(seed)
    lines = []
    for s in range(sentences):
        words = " ".join([chance.choice(NAMES), chance.choice(VERBS), chance.choice(THINGS)]).split()
        tokens = [(word, True) for word in words]
        if chance.random() < 0.3:
            tokens[-1] = (tokens[-1][0], False)
            tokens += [(",", True), ("Ann's", True), ("dog", True), ("too", True)]
        tokens[-1] = (tokens[-1][0], False)
        tokens.append((chance.choice(ENDS), True))
        if chance.random() < 0.2:
            tokens = [("“", False), *tokens[:-1], (tokens[-1][0], False), ("”", True)]
        if s % 7 == 0:
            lines.append("# newpar")
        lines += sentence(tokens)
    return "\n".join(lines) + "\n"


def toy_columns(seed=0, sentences=400):
    return parse_text(toy_conllu(seed, sentences), "conllu")


def unspaced_columns(seed=0, sentences=400):
    """Words of two scripts without a space anywhere."""
    chance = random.Random(seed)
    lines = []
    for _ in range(sentences):
        words = [chance.choice(["東京", "猫", "大学", "学生"]), chance.choice(["は", "が"])]
        words += [chance.choice(["走る", "見る", "食べる"]), "。"]
        lines += sentence([(word, False) for word in words])
    return parse_text("\n".join(lines) + "\n", "conllu")
