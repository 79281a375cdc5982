"""All faults of a treebank, recovery after each, validation, and arcs that are probably wrong."""

import gzip
import sys

import numpy as np
import pytest
from errors import rejects
from graph_toys import treebank

from arbora.annotation.check import check
from arbora.annotation.suspicious import crossings, error_weights, suspicious_arcs
from arbora.data.columns import parse_text
from arbora.errors import DataError, InputError

GOOD = "1\tx\tx\tNOUN\t_\t_\t0\troot\t_\t_\n\n"


def word(number, head=0, form="w", upos="X"):
    return f"{number}\t{form}\t_\t{upos}\t_\t_\t{head}\tdep\t_\t_\n"


def lines_of(text, **options):
    return [fault.line for fault in check(text.encode(), **options).faults]


def test_a_good_treebank_has_no_faults(small_treebank):
    report = check(small_treebank)
    assert (report.faults, report.errors, report.bad_sentences) == ([], 0, 0)
    assert report.columns.to_bytes() == small_treebank.read_bytes()
    assert check(gzip.compress(b"")[:0]).faults == []


@pytest.mark.parametrize(
    ("sentence", "wanted"),
    [
        (word(1, 7) + word(2, "z") + word(3), [1, 2]),
        (word(1) + word(2, upos="") + word(3, 9), [2, 3]),
        (word(1, 2) + word(2, 1) + word(3, 4) + word(4, 3), [1, 3]),
        (word(1) + "# late\n" + word(2, 1) + "foo bar\n" + word(4, 1), [2, 4]),
        (word(1) + word(3, 1) + word(4, 1) + word(5, 1), [2]),
        (word(1) + "2-1\tab" + "\t_" * 8 + "\n" + word(2, 5), [2, 3]),
        (word(1) + word(2, 1, form="a\rb") + word(3, 1).replace("\t", " "), [2, 3]),
        ("# only a comment\n", [1]),
        ("\t\n" + word(1, 5), [1, 2]),
        (word(1) + word(2, 1).replace("\tdep", "") + word(4, 1), [2, 3]),
    ],
)
def test_every_fault_of_a_sentence_is_listed(sentence, wanted):
    assert lines_of(sentence + "\n") == wanted
    before, after = lines_of(GOOD + sentence + "\n" + GOOD), lines_of("# a\n" + GOOD + sentence)
    assert before == [line + 2 for line in wanted]
    assert after == [line + 3 for line in wanted]


def test_two_faults_of_a_line_are_both_listed():
    report = check((word(1) + word(1, "z")).encode())
    assert [fault.line for fault in report.faults] == [2, 2]
    assert len({fault.message for fault in report.faults}) == 2


def test_repeated_names_of_sentences_are_faults():
    text = "".join(f"# newdoc\n# sent_id = {name}\n{GOOD}" for name in ("a", "b", "a", "a"))
    assert lines_of(text) == [10, 14]
    assert lines_of(text.replace("sent_id = a", "sent_id: a")) == []


def test_other_files_are_rejected_as_a_whole():
    with rejects(DataError):
        check(b"Some words on a line.\n" * 50)


def test_faults_of_many_sentences_and_bad_bytes():
    bad = word(1, 7) + "\n"
    assert lines_of((bad + GOOD) * 3000) == [1 + 4 * number for number in range(3000)]
    data = word(1, form="ab").encode().replace(b"ab", b"\xff") + word(2, 9).encode() + b"\n" + GOOD.encode()
    report = check(data)
    assert [fault.line for fault in report.faults] == [1, 2]
    assert (report.bad_sentences, len(report.columns)) == (1, 1)
    assert lines_of(word(1) + word(2) + "\n", roots="single") == [2]
    windows = (word(1, 7) + word(2, "z")).replace("\n", "\r\n") + "\r\n"
    assert lines_of(windows) == [1, 2]
    assert lines_of(windows.replace("\r", "", 1)) == [1, 2, 2]


def test_mutated_treebanks_are_checked_to_the_end(small_treebank):
    rng = np.random.default_rng(0)
    data = small_treebank.read_bytes()
    for _ in range(60):
        changed = bytearray(data)
        for place in rng.integers(0, len(data), 8):
            changed[place] = int(rng.choice([9, 10, 13, 32, 35, 45, 46, 48, 57, 255]))
        report = check(bytes(changed), format="conllu")
        count = bytes(changed).count(b"\n") + 1
        assert all(1 <= fault.line <= count for fault in report.faults)
        assert len(report.faults) >= report.bad_sentences


def test_udtools_finds_what_the_format_allows():
    pytest.importorskip("udtools")
    report = check((GOOD + word(1, 7) + "\n" + word(1, upos="noun")).encode(), language="ud", level=2)
    found = {(fault.line, fault.test.split()[-1]) for fault in report.faults}
    assert (1, "missing-sent-id") in found
    assert any(line == 5 and "upos" in test for line, test in found)
    assert [fault.test for fault in report.faults if fault.line == 3] == ["format"]
    assert [fault.line for fault in report.faults] == sorted(fault.line for fault in report.faults)


def test_without_udtools_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "udtools", None)
    with rejects(InputError) as caught:
        check(GOOD.encode(), language="da")
    assert "arbora-nlp[check]" in str(caught.value)
    with rejects(InputError, field="level"):
        check(GOOD.encode(), language="da", level=9)


@pytest.fixture(scope="module")
def implanted():
    """A treebank in which 1% of the heads are wrong, and their places."""
    columns = treebank(100, seed=1)
    heads = np.array(columns.heads)
    rng = np.random.default_rng(0)
    bad = set()
    for place in rng.permutation(columns.words).tolist():
        sentence = int(np.searchsorted(columns.offsets, place, side="right")) - 1
        first, last = columns.offsets[sentence : sentence + 2].tolist()
        leaf = place - first + 1 not in heads[first:last]
        others = {*range(1, last - first + 1)} - {int(heads[place]), place - first + 1}
        if leaf and heads[place] != 0 and others:
            heads[place] = rng.choice(sorted(others))
            bad.add((sentence, place - first + 1))
        if len(bad) >= columns.words // 80:
            break
    return columns.with_trees(heads, columns.ids("deprel"), columns.strings("deprel")), bad


def test_implanted_errors_are_the_most_suspicious(implanted):
    columns, bad = implanted
    arcs = suspicious_arcs(columns, share=1.0, folds=3)
    assert len(arcs) == columns.words
    first = arcs[: len(arcs) // 25]
    assert sum((arc.sentence, arc.word) in bad for arc in first) >= 0.7 * len(bad)
    odds = [arc.odds for arc in arcs]
    assert odds == sorted(odds, reverse=True)
    assert all(0.0 <= arc.probability <= 1.0 for arc in arcs)
    for arc in first[:20]:
        sentence = list(columns.sentences())[arc.sentence]
        assert (sentence.forms[arc.word - 1], sentence.heads[arc.word - 1]) == (arc.form, arc.head)
        assert columns.lines[columns.offsets[arc.sentence] + arc.word - 1] == arc.line
    predicted = np.array([arc.proposed_probability for arc in arcs])
    right = np.array([arc.proposed_head == arc.head for arc in arcs])
    assert abs(predicted.mean() - right.mean()) < 0.05
    assert arcs[:10] == suspicious_arcs(columns, share=1.0, folds=3)[:10]


def test_crossings_are_counted():
    assert crossings(np.array([3, 4, 0, 3, 4])).tolist() == [1, 1, 0, 0, 0]
    assert crossings(np.array([5, 0, 2, 1, 3])).tolist() == [0, 0, 0, 1, 1]
    assert crossings(np.array([0])).tolist() == [0]
    rng = np.random.default_rng(0)
    for n in range(2, 9):
        heads = rng.integers(-1, n + 1, n)
        arcs = [sorted((int(head), dep)) for dep, head in enumerate(heads, start=1)]
        pairs = [(i, j) for i in range(n) for j in range(n) if heads[i] > 0 and heads[j] > 0]
        expected = [0] * n
        for i, j in pairs:
            (a, b), (c, d) = arcs[i], arcs[j]
            if a < c < b < d or c < a < d < b:
                expected[i] += 1
        assert crossings(heads).tolist() == expected


def test_crossing_arcs_of_short_sentences_weigh_more():
    def sentence(*heads):
        return "".join(word(i, head) for i, head in enumerate(heads, start=1)) + "\n"

    weights = error_weights(parse_text(sentence(3, 4, 0, 3) + sentence(0, 1)))
    assert weights.tolist() == pytest.approx([3**0.5 / 4] * 2 + [1.5**0.5 / 4] * 2 + [1.5**0.5 / 2] * 2)


def test_words_without_a_head_are_no_arcs():
    columns = treebank(12, seed=1)
    heads = np.where(np.arange(columns.words) % 3 == 0, -1, columns.heads).astype(np.int32)
    half = columns.with_trees(heads, columns.ids("deprel"), columns.strings("deprel"))
    arcs = suspicious_arcs(half, share=1.0, folds=2)
    assert len(arcs) == int((heads >= 0).sum())
    with rejects(DataError):
        suspicious_arcs(parse_text(GOOD), folds=2)
