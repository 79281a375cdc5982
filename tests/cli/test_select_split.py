"""`arbora select`, `arbora split`, `arbora parse --sort`, and `arbora convert` to text."""

import json
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from errors import rejects

from arbora.annotation.doubt import order_arcs, order_sentences
from arbora.data import treebank
from arbora.data.raw_text import raw_text
from arbora.data.split import parse_shares, split_sentences
from arbora.data.treebank import read_columns
from arbora.errors import InputError
from arbora.pipeline.pipeline import load


@pytest.fixture(scope="module")
def model(parser, tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "small.arbora"
    parser.save(path)
    return path


def sentences(text):
    return [each for each in text.split("\n\n") if each.strip()]


def test_select_writes_the_most_doubtful_sentences_without_the_parsers_trees(
    arbora, synthetic, model, tmp_path
):
    found = arbora(
        "select", synthetic[1], "-m", model, "-n", 3, "--ignore-heads", "-o", tmp_path / "x.conllu"
    )
    assert found.status == 0, found.stderr
    gold = [*treebank.read(synthetic[1])]
    nlp = load(str(model))
    order = order_sentences(nlp.parse(gold, probabilities=True), n=3)
    chosen = [*treebank.read(tmp_path / "x.conllu")]
    assert [each.forms for each in chosen] == [gold[number].forms for number in order]
    assert [each.heads for each in chosen] == [gold[number].heads for number in order]
    doubts = [float(each.metadata["doubt"]) for each in chosen]
    assert doubts == sorted(doubts, reverse=True)


def test_select_leaves_annotated_words_and_sentences_out(arbora, synthetic, model, tmp_path):
    lines = [line.split("\t") for line in synthetic[1].read_text().split("\n")]
    words = [row for row in lines if len(row) == 10]
    for row in words[: len(words) // 2]:
        if row[0] != "1":
            row[6] = row[7] = "_"
    half = tmp_path / "half.conllu"
    half.write_text("\n".join("\t".join(row) for row in lines))
    rows = json.loads(arbora("select", half, "-m", model, "--arcs", "--json", "-n", 10_000).stdout)
    given = [*treebank.read(half)]
    unknown = {(s, w) for s, each in enumerate(given, 1) for w, h in enumerate(each.heads, 1) if h < 0}
    assert {(row["sentence"], row["word"]) for row in rows} == unknown
    written = sentences(arbora("select", half, "-m", model, "-n", 10_000, "--by", "text").stdout)
    assert len(written) == len({s for s, _ in unknown}) < len(given)


def test_heads_that_a_parser_filled_in_are_selected(arbora, synthetic, model, tmp_path):
    lines = synthetic[1].read_text().split("\n")
    marked = [
        line[: line.rindex("\t")] + "\tParser=HEAD,DEPREL" if line.count("\t") == 9 else line
        for line in lines
    ]
    path = tmp_path / "marked.conllu"
    path.write_text("\n".join(marked[:60]).rsplit("\n\n", 1)[0] + "\n\n")
    rows = json.loads(arbora("select", path, "-m", model, "--arcs", "--json", "-n", 10_000).stdout)
    assert len(rows) == path.read_text().count("Parser=")


def test_select_arcs_as_a_table(arbora, synthetic, model, tmp_path):
    table = arbora("select", synthetic[1], "-m", model, "--arcs", "-n", 4, "--ignore-heads").stdout
    heading, *rows = [line.split("\t") for line in table.splitlines()]
    assert heading == ["sentence", "sent_id", "word", "form", "head", "deprel", "doubt"]
    nlp = load(str(model))
    arcs = order_arcs(nlp.parse([*treebank.read(synthetic[1])], probabilities=True), n=4)
    assert [(int(row[0]) - 1, int(row[2])) for row in rows] == [(arc.sentence, arc.word) for arc in arcs]
    path = tmp_path / "arcs.tsv"
    arbora("select", synthetic[1], "-m", model, "--arcs", "-n", 4, "--ignore-heads", "-o", path)
    assert path.read_text() == table


def test_select_says_why_nothing_is_left(arbora, synthetic, model, tmp_path):
    found = arbora("select", synthetic[1], "-m", model, "-o", tmp_path / "x.conllu")
    assert found.status == 0
    assert "--ignore-heads" in found.stderr


@pytest.mark.parametrize("by", ["diversity", "random", "text"])
def test_select_in_other_orders(arbora, synthetic, model, by):
    arguments = ("select", synthetic[1], "-m", model, "-n", 5, "--by", by, "--ignore-heads")
    found = arbora(*arguments, "--annotated", synthetic[0])
    assert found.status == 0, found.stderr
    assert len(sentences(found.stdout)) == 5
    assert found.stdout == arbora(*arguments, "--annotated", synthetic[0]).stdout


def test_select_from_raw_text(arbora):
    found = arbora("select", "She reads books. He writes them in vain.", "-n", 1)
    (line, *_) = [line for line in found.stdout.splitlines() if line.startswith("1\t")]
    assert line.split("\t")[6:8] == ["_", "_"]
    assert arbora("select", "She reads books.", "--json").status == 2


def test_parse_sorts_by_doubt(arbora, synthetic, model, tmp_path):
    plain = arbora("parse", synthetic[1], "-m", model).stdout
    found = arbora("parse", synthetic[1], "-m", model, "--sort", "doubt")
    assert found.status == 0, found.stderr
    assert sorted(sentences(found.stdout)) == sorted(sentences(plain))
    gold = [*treebank.read(synthetic[1])]
    order = order_sentences(load(str(model)).parse(gold, probabilities=True))
    assert sentences(found.stdout) == [sentences(plain)[number] for number in order]
    assert arbora("parse", synthetic[1], "-o", f"{tmp_path}/", "--sort", "doubt").status == 2


def test_split_is_whole_seeded_and_in_order(arbora, synthetic, tmp_path):
    prefix = tmp_path / "part"
    found = arbora("split", synthetic[0], "80/10/10", "-o", prefix, "--json")
    assert [part["sentences"] for part in json.loads(found.stdout)] == [64, 8, 8]
    whole = sentences(synthetic[0].read_text())
    parts = [sentences((tmp_path / f"part-{name}.conllu").read_text()) for name in ("train", "dev", "test")]
    assert sorted(chain.from_iterable(parts)) == sorted(whole)
    columns = read_columns(synthetic[0])
    assert all(np.all(np.diff(part) > 0) for part in split_sentences(columns, [8, 1, 1]))
    again = split_sentences(columns, [8, 1, 1], seed=1)
    assert not np.array_equal(again[0], split_sentences(columns, [8, 1, 1])[0])
    assert np.array_equal(again[0], split_sentences(columns, [80, 10, 10], seed=1)[0])


def test_split_names_its_files(arbora, synthetic, tmp_path, monkeypatch):
    copy = tmp_path / "da.conllu"
    copy.write_bytes(synthetic[0].read_bytes())
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")  # files appear here, not beside the treebank
    assert arbora("split", copy, "9/1", "--in-order").status == 0
    written = [Path(f"da-{name}.conllu").read_bytes() for name in ("train", "dev")]
    assert b"".join(written) == copy.read_bytes()
    assert arbora("split", copy, "1/1/1/1").status == 2
    assert arbora("split", copy, "1/1/1/1", "--names", "a,b,c,d").status == 0
    assert arbora("split", copy, "9/1", "--names", "a,a").status == 2
    assert arbora("split", copy, "100").status == 2
    assert arbora("split", "-", "9/1").status == 2


def documents(lengths):
    text = ""
    for number, length in enumerate(lengths):
        for sentence in range(length):
            text += f"# newdoc id = {number}\n" if sentence == 0 else ""
            text += f"# text = {number}\n1\tw\t_\tN\t_\t_\t0\troot\t_\t_\n\n"
    return text


@pytest.mark.parametrize("shuffle", [True, False])
def test_documents_stay_together(tmp_path, shuffle):
    path = tmp_path / "docs.conllu"
    path.write_text(documents([9, 3, 7, 1, 12, 8, 6, 4, 10, 5]))
    columns = read_columns(path)
    parts = split_sentences(columns, [60, 20, 20], documents=True, shuffle=shuffle)
    assert sorted(np.concatenate(parts).tolist()) == [*range(65)]
    texts = [{each.text for each in columns.select(part).sentences()} for part in parts]
    assert sum(map(len, texts)) == 10
    assert all(abs(len(part) - 65 * share) <= 12 for part, share in zip(parts, (0.6, 0.2, 0.2), strict=True))


def test_no_part_is_empty(tmp_path):
    path = tmp_path / "docs.conllu"
    path.write_text(documents([30, 1, 1]))
    parts = split_sentences(read_columns(path), [1, 1, 98], documents=True, shuffle=False)
    assert [len(part) for part in parts] == [30, 1, 1]
    with rejects(InputError):
        split_sentences(read_columns(path), [1, 1, 1, 1], documents=True)
    for text in ("80", "80/x", "80/0", "80/-5", "nan/1", "inf/1", ""):
        with rejects(InputError, field="shares"):
            parse_shares(text)


def test_convert_to_text(arbora, small_treebank, tmp_path):
    path = tmp_path / "small.txt"
    assert arbora("convert", small_treebank, "-o", path).status == 0
    assert path.read_text() == raw_text(read_columns(small_treebank)).text + "\n"
    assert arbora("convert", small_treebank, "--to", "text", "-o", "-").stdout == path.read_text()


def test_convert_refuses_unknown_endings(arbora, small_treebank, tmp_path):
    path = tmp_path / "small.xyz"
    assert arbora("convert", small_treebank, "-o", path).status == 2
    assert not path.exists()
    assert arbora("convert", small_treebank, "-o", path, "--to", "same").status == 0
    assert path.read_bytes() == small_treebank.read_bytes()
    assert arbora("convert", path, "-o", tmp_path / "copy.xyz").status == 0


def test_guessed_spaces_are_noted(arbora, synthetic, tmp_path):
    plain = tmp_path / "plain.conllu"
    lines = synthetic[0].read_text().replace("SpaceAfter=No", "_").split("\n")
    plain.write_text("\n".join(line for line in lines if not line.startswith("#")))
    assert "guessed" in arbora("convert", plain, "-o", tmp_path / "a.txt").stderr
    plain.write_text(f"# text = a b\n{plain.read_text()}")
    assert "guessed" not in arbora("convert", plain, "-o", tmp_path / "b.txt").stderr
