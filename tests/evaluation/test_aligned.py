"""Scores of parses whose words differ: equal to the official scorer's, whatever the tokens are."""

import io
import random

import pytest
from errors import rejects

import arbora
from arbora.data.sentence import Sentence
from arbora.data.treebank import read
from arbora.errors import DataError
from arbora.evaluation.aligned import evaluate_aligned

OFFICIAL = {
    "tokens": "Tokens",
    "sentences": "Sentences",
    "words": "Words",
    "upos": "UPOS",
    "xpos": "XPOS",
    "ufeats": "UFeats",
    "alltags": "AllTags",
    "lemmas": "Lemmas",
    "uas": "UAS",
    "las": "LAS",
    "clas": "CLAS",
    "mlas": "MLAS",
    "blex": "BLEX",
}
FEATS = ["_", "Case=Nom|Foo=1", "Foo=2|Number=Sing|Case=Nom", "Number=Sing"]
LABELS = ["nsubj", "obj:x", "det", "case", "aux:pass", "punct", "root"]


def score(gold: str, predicted: str):
    """Our scores, after checking that every count and F1 equals the official one exactly."""
    from udtools import udeval

    sides = [
        udeval.load_conllu(io.StringIO(text), "test", {"multiple_roots_okay": True})
        for text in (gold, predicted)
    ]
    theirs = udeval.evaluate(*sides)
    ours = evaluate_aligned(*(read(io.BytesIO(text.encode())) for text in (gold, predicted)))
    assert ours.keys() == OFFICIAL.keys()
    for name, official in OFFICIAL.items():
        one, other = ours[name], theirs[official]
        assert (one.gold, one.predicted, one.correct) == (other.gold_total, other.system_total, other.correct)
        assert (one.precision, one.recall, one.f1) == (
            100 * other.precision,
            100 * other.recall,
            100 * other.f1,
        )
        if other.aligned_total is not None:
            assert one.aligned == other.aligned_total
    return ours


def random_tokens(text: str, rng: random.Random):
    """The text in pieces, some of which are multiword tokens: (token, its words or None)."""
    at = 0
    while at < len(text):
        size = rng.choice([1, 1, 2, 3, 4])
        token, at = text[at : at + size], at + size
        words = None
        if rng.random() < 0.35:
            letters = list(token[: rng.randint(1, 4)])
            words = [letter if rng.random() < 0.7 else rng.choice("abcAB") for letter in letters]
        elif len(token) > 1 and rng.random() < 0.2:
            token = f"{token[0]} {token[1:]}"
        yield token, words


def random_parse(text: str, rng: random.Random) -> str:
    """A treebank of random sentences, tokens, tags and trees with these characters."""
    written, at = [], 0
    while at < len(text):
        size = rng.randint(1, 25)
        tokens = list(random_tokens(text[at : at + size], rng))
        at += size
        count = sum(1 if words is None else len(words) for _, words in tokens)
        order = rng.sample(range(1, count + 1), count)
        heads = {word: order[rng.randrange(i)] if i else 0 for i, word in enumerate(order)}
        number = 0
        for token, words in tokens:
            if words is not None:
                written.append(f"{number + 1}-{number + len(words)}\t{token}" + "\t_" * 8)
            for form in [token] if words is None else words:
                number += 1
                tags = (rng.choice(["_", "x", "y"]), rng.choice(["NOUN", "VERB"]), rng.choice("AB"))
                arc = (rng.choice(FEATS), str(heads[number]), rng.choice(LABELS))
                written.append("\t".join((str(number), form, *tags, *arc, "_", "_")))
        written.append("")
    return "\n".join([*written, ""])


@pytest.mark.parametrize("seed", range(40))
def test_random_parses_of_one_text(seed):
    rng = random.Random(seed)
    text = "".join(rng.choice("abcABé") for _ in range(rng.randint(1, 300)))
    score(random_parse(text, rng), random_parse(text, rng))


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("UD_Portuguese-Bosque", "pt_bosque-ud-test.conllu"),
        ("UD_Turkish-IMST", "tr_imst-ud-test.conllu"),
        ("UD_English-EWT", "en_ewt-ud-dev.conllu"),
    ],
)
def test_treebanks_cut_at_random(folder, name, real_sentences):
    gold = real_sentences(folder, name, 100)
    texts = []
    for sentence in gold:
        within = {word for token in sentence.multiword_tokens for word in range(token.first, token.last + 1)}
        tokens = {token.first: token.form for token in sentence.multiword_tokens}
        tokens |= {i: form for i, form in enumerate(sentence.forms, start=1) if i not in within}
        texts += [tokens[i] for i in sorted(tokens)]
    text = "".join(texts).replace(" ", "")
    found = score("".join(s.to_conllu() for s in gold), random_parse(text, random.Random(1)))
    assert 0 < found["words"].f1 < 60


def test_raw_text_of_a_treebank(real_sentences):
    gold = real_sentences("UD_English-EWT", "en_ewt-ud-dev.conllu", 150)
    text = " ".join(sentence.text for sentence in gold)
    parsed = "".join(each.sentence.to_conllu() for each in arbora.load()(text))
    found = score("".join(sentence.to_conllu() for sentence in gold), parsed)
    assert 95 < found["words"].f1 < 100
    assert 60 < found["blex"].f1 < found["las"].f1 < 95


def test_equal_words_score_as_without_alignment(real_sentences):
    gold = real_sentences("UD_English-EWT", "en_ewt-ud-dev.conllu", 50)
    parsed = arbora.load().parse(gold)
    aligned, plain = evaluate_aligned(gold, parsed), arbora.evaluate(gold, parsed)
    assert (aligned["uas"].f1, aligned["las"].f1) == (plain.uas, plain.las)
    assert aligned["clas"].f1 == plain.all.clas
    assert aligned["las"].aligned_accuracy == plain.las


def sentence(*forms, heads=None):
    return Sentence.from_lists(list(forms), heads=heads or range(len(forms)), deprels=["dep"] * len(forms))


def test_texts_that_cannot_be_aligned_are_rejected():
    one = [sentence("ab", "c")]
    assert evaluate_aligned(one, [sentence("a", "b"), sentence("c")])["tokens"].correct == 1
    assert evaluate_aligned([], [])["las"].f1 == 0
    with rejects(DataError, source="predicted"):
        evaluate_aligned(one, [sentence("ab", "d")])
    with rejects(DataError, source="predicted"):
        evaluate_aligned(one, [sentence("ab")])
    with rejects(DataError, source="predicted"):
        evaluate_aligned(one, [])
    with rejects(DataError, source="mine"):
        evaluate_aligned(one, [Sentence.from_lists(["abc"])], names=("gold", "mine"))
    with rejects(DataError, source="gold", field="word 1"):
        evaluate_aligned([sentence("\u00a0")], [sentence("\u00a0")])


def test_long_chains_of_overlapping_multiword_tokens_are_rejected():
    """A chain of overlapping tokens would take hours."""
    rows = 12_000

    def chain(shift):
        lines, number = [], 0
        for token in [*(["x"] if shift else []), *["xx"] * (rows // 2)]:
            if token == "xx":
                lines.append(f"{number + 1}-{number + 2}\txx" + "\t_" * 8)
            for _ in token:
                number += 1
                lines.append(f"{number}\tx\t_\t_\t_\t_\t{number - 1}\tdep\t_\t_")
        if not shift:
            lines.append(f"{number + 1}\tx\t_\t_\t_\t_\t{number}\tdep\t_\t_")
        return read(io.BytesIO("\n".join([*lines, "", ""]).encode()))

    with rejects(DataError, source="predicted"):
        evaluate_aligned(chain(0), chain(1))
