"""Parquet by `convert` and `parse`."""

import sys

import pytest

from arbora.data.treebank import read
from arbora.integrations import table

pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'arbora-nlp[table]'")


def test_convert_round_trips(arbora, small_treebank, tmp_path):
    out, back = tmp_path / "x.parquet", tmp_path / "back.conllu"
    assert arbora("convert", small_treebank, "-o", out) == (0, "", "")
    assert list(table.read_parquet(out)) == list(read(small_treebank))
    assert arbora("convert", out, "-o", back) == (0, "", "")
    assert back.read_bytes() == small_treebank.read_bytes()
    assert arbora("convert", out, "-o", tmp_path / "x.conllx").status == 0
    assert arbora("convert", tmp_path / "x.conllx", "-o", tmp_path / "again.parquet").status == 0
    again = [sentence.heads for sentence in table.read_parquet(tmp_path / "again.parquet")]
    assert again == [sentence.heads for sentence in read(small_treebank)]


def test_convert_rejects_wrong_tables(arbora, small_treebank, tmp_path):
    out = tmp_path / "x.parquet"
    arbora("convert", small_treebank, "-o", out)
    result = arbora("convert", out, "-o", tmp_path / "y.parquet")
    assert result.status == 2
    assert "is a table already" in result.stderr
    assert arbora("convert", out, "-o", tmp_path / "y.conllu", "--lenient").status == 2
    bad = tmp_path / "bad.conllu"
    bad.write_text("1\ta\n\n")
    result = arbora("convert", bad, "-o", tmp_path / "z.parquet", "--lenient")
    assert result.status == 1
    assert "no good sentence" in result.stderr
    assert not (tmp_path / "z.parquet").exists()
    bad.rename(tmp_path / "bad.parquet")
    result = arbora("convert", tmp_path / "bad.parquet", "-o", tmp_path / "z.conllu")
    assert result.status == 1
    assert "expected a Parquet file of words" in result.stderr


def test_parse(arbora, model, parser, synthetic, tmp_path):
    out, gold = tmp_path / "x.parquet", list(read(synthetic[1]))
    result = arbora("parse", synthetic[1], "-m", model, "-o", out)
    assert (result.status, result.stdout) == (0, "")
    assert list(table.read_parquet(out)) == parser.parse(gold)
    assert arbora("parse", synthetic[1], "-m", model, "-o", out, "--probabilities", "-q").status == 0
    from pyarrow import parquet

    found = parquet.read_table(out)
    parsed = parser.parse(gold, probabilities=True)
    assert found["head_probability"].to_pylist() == [p for tree in parsed for p in tree.head_probabilities]
    assert found["head"].to_pylist() == [head for tree in parsed for head in tree.sentence.heads]
    result = arbora("parse", synthetic[1], "-m", model, "-o", out, "--kbest", "3")
    assert result.status == 2
    assert "one tree per sentence" in result.stderr


def test_missing_pyarrow_names_the_extra(arbora, small_treebank, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    result = arbora("convert", small_treebank, "-o", tmp_path / "x.parquet")
    assert result.status == 1
    assert "pip install 'arbora-nlp[table]'" in result.stderr
    assert list(tmp_path.iterdir()) == []
