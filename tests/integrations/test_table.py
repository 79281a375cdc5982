"""Corpora as tables: one row per word, to Arrow, pandas, Polars and Parquet, and back without loss."""

from dataclasses import replace

import numpy as np
import pytest
from errors import rejects

import arbora
from arbora.data.columns import columns_of, parse_text
from arbora.data.synthetic import generate
from arbora.data.treebank import read_columns
from arbora.errors import DataError, InputError
from arbora.integrations import table

pytest.importorskip("pyarrow", reason="pyarrow is not installed: pip install 'arbora-nlp[table]'")


@pytest.fixture
def sentences(small_treebank):
    return list(arbora.read(small_treebank))


def check_rows(found, sentences):
    rows = found.to_pylist()
    words = [(s, sentence, word) for s, sentence in enumerate(sentences) for word in sentence]
    assert len(rows) == len(words)
    for row, (s, sentence, word) in zip(rows, words, strict=True):
        assert row["sentence"] == s
        assert row["sent_id"] == sentence.metadata.get("sent_id")
        assert (row["id"], row["form"]) == (word.id, word.form)
        assert row["head"] == (None if word.head < 0 else word.head)
        for name in ("lemma", "upos", "xpos", "feats", "deprel", "deps", "misc"):
            assert row[name] == (None if getattr(word, name) == "_" else getattr(word, name))


def test_one_row_per_word_and_back(sentences, small_treebank):
    found = table.to_arrow(sentences)
    check_rows(found, sentences)
    assert found.equals(table.to_arrow(read_columns(small_treebank)))
    assert list(table.from_table(found)) == sentences
    (batch, *_) = found.slice(0, len(sentences[0])).to_batches()
    assert list(table.from_table(batch)) == sentences[:1]
    assert table.to_arrow([]).num_rows == 0
    assert list(table.from_table(table.to_arrow([]))) == []


def test_real_treebanks_and_back(treebank_dir, tmp_path):
    path = min(treebank_dir.glob("*/*dev.conllu"))
    table.write_parquet(read_columns(path), tmp_path / "x.parquet")
    assert list(table.read_parquet(tmp_path / "x.parquet")) == list(arbora.read(path))


def test_pandas(sentences):
    pandas = pytest.importorskip("pandas", reason="pandas is not installed: pip install pandas")
    found = table.to_pandas(sentences)
    assert found["form"].dtype == "category"
    assert found["head"].dtype == pandas.Int32Dtype()
    assert list(table.from_table(found)) == sentences
    plain = pandas.DataFrame(
        {"sentence": [0, 0, 1], "form": ["a", "b", "c"], "head": [2, 0, np.nan], "mine": 1}
    )
    assert [s.heads for s in table.from_table(plain)] == [(2, 0), (-1,)]


@pytest.mark.parametrize("heads", [["2", "0", "_"], [2.0, 0.0, None], [2, 0, -1]])
def test_heads_of_any_type_are_read(heads):
    pyarrow = pytest.importorskip("pyarrow")
    given = pyarrow.table({"sentence": [0, 0, 1], "form": ["a", "b", "c"], "head": heads})
    assert [s.heads for s in table.from_table(given)] == [(2, 0), (-1,)]


@pytest.mark.parametrize("heads", [["x", "0", "0"], [2.5, 0.0, 0.0], [-3, 0, 0]])
def test_malformed_heads_are_rejected(heads):
    pyarrow = pytest.importorskip("pyarrow")
    given = pyarrow.table({"sentence": [0, 0, 1], "form": ["a", "b", "c"], "head": heads})
    with pytest.raises(InputError):
        list(table.from_table(given))


def test_polars(sentences):
    polars = pytest.importorskip("polars", reason="Polars is not installed: pip install polars")
    found = table.to_polars(sentences)
    assert isinstance(found, polars.DataFrame)
    assert list(table.from_table(found)) == sentences


def test_parquet_by_row_groups(sentences, tmp_path, monkeypatch):
    from pyarrow import parquet

    monkeypatch.setattr(table, "ROWS_PER_GROUP", 40)
    monkeypatch.setattr(table, "SENTENCES_AT_ONCE", 2)
    path = tmp_path / "x.parquet"
    assert table.write_parquet(iter(sentences), path) == len(sentences)
    with parquet.ParquetFile(path) as file:
        assert file.num_row_groups > 1
    assert list(table.read_parquet(path)) == sentences
    check_rows(parquet.read_table(path), sentences)


def test_offsets_and_probabilities_in_misc():
    text = (
        "# tree_probability = 0.25\n"
        "1\ta\t_\t_\t_\t_\t2\tdet\t_\tTokenRange=0:1|HeadProb=0.5000|DeprelProb=1.0000\n"
        "2\tb\t_\t_\t_\t_\t0\troot\t_\tTokenRange=x:3|MyTokenRange=4:5\n\n1\tc\t_\t_\t_\t_\t0\troot\t_\t_\n\n"
    )
    rows = table.to_arrow(parse_text(text, "conllu")).to_pylist()
    names = ("start", "end", "head_probability", "label_probability", "tree_probability")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (0, 1, 0.5, 1.0, 0.25),
        (None, None, None, None, 0.25),
        (None,) * 5,
    ]


def test_probabilities_of_a_parser():
    given = list(generate(30, seed=3))
    config = {"tree_bits": 12, "label_bits": 12, "order": 1, "parameters": {"epochs": 1}}
    parsed = arbora.train(given, config=config).parser.parse(given[:5], probabilities=True)
    rows = table.to_arrow(parsed).to_pylist()
    expected = [
        (word.head, word.deprel, word.head_probability, word.label_probability, tree.probability)
        for tree in parsed
        for word in tree
    ]
    names = ("head", "deprel", "head_probability", "label_probability", "tree_probability")
    assert [tuple(row[name] for name in names) for row in rows] == expected
    mixed = table.to_arrow([given[0], parsed[1]]).to_pylist()
    assert mixed[0]["head_probability"] is None
    assert mixed[-1]["head_probability"] == parsed[1].head_probabilities[-1]
    shown = parsed[0].to_displacy()
    assert len(shown["arcs"]) == sum(head > 0 for head in parsed[0].sentence.heads)
    first = next(word for word in parsed[0] if word.head > 0)
    assert shown["arcs"][0]["label"] == f"{first.deprel} {first.head_probability:.2f}"
    assert parsed[0].to_displacy(probabilities=False) == parsed[0].sentence.to_displacy()


def test_bad_tables_are_rejected(sentences, tmp_path):
    with pytest.raises(InputError):
        table.to_arrow("x.conllu")
    with pytest.raises(InputError):
        table.to_arrow([1])
    with rejects(InputError, field="table"):
        table.from_table(3)
    found = table.to_arrow(sentences)
    with rejects(InputError, field="table"):
        list(table.from_table(found.drop_columns(["form"])))
    with rejects(InputError, field="sentence 0"):
        list(table.from_table(found.slice(1)))
    first = found.slice(0, len(sentences[0]))
    place = first.column_names.index("head")
    import pyarrow as pa

    wrong = first.set_column(place, "head", pa.array([99] * first.num_rows))
    with rejects(InputError, field="sentence 0"):
        list(table.from_table(wrong))
    lines = first.set_column(len(first.column_names) - 1, "other_lines", pa.array(["x\ty"] * first.num_rows))
    with pytest.raises(InputError):
        list(table.from_table(lines))
    for form in ("b\n", "b\n2\tc\t_\t_\t_\t_\t0\troot\t_\t_\n3", "b\t"):
        broken = pa.table({"sentence": [0, 1], "form": ["a", form]})
        with rejects(InputError, field="sentence 1"):
            list(table.from_table(broken))
    for name, data in (("text", b"no parquet"), ("cut", b"PAR1" + bytes(100)), ("empty", b"")):
        (tmp_path / name).write_bytes(data)
        with rejects(DataError, source=str(tmp_path / name)):
            list(table.read_parquet(tmp_path / name))


def test_failed_writes_leave_no_file(sentences, tmp_path):
    def broken():
        yield sentences[0]
        raise InterruptedError

    with pytest.raises(InterruptedError):
        table.write_parquet(broken(), tmp_path / "x.parquet")
    assert list(tmp_path.iterdir()) == []


def test_documents_go_on_until_the_next(tmp_path):
    from pyarrow import parquet

    sentences = list(generate(4, seed=1))
    marked = [
        replace(sentence, comments=(*mark, *sentence.comments))
        for sentence, mark in zip(
            sentences, [(), ("# newdoc id = a",), (), ("# newdoc id = b",)], strict=True
        )
    ]
    expected = [name for sentence, name in zip(marked, [None, "a", "a", "b"], strict=True) for _ in sentence]
    assert table.to_arrow(marked)["document"].to_pylist() == expected
    with table.parquet_writer(tmp_path / "t.parquet") as writer:
        for sentence in marked:
            writer.write(columns_of([sentence]))
    assert parquet.read_table(tmp_path / "t.parquet")["document"].to_pylist() == expected
    assert list(table.read_parquet(tmp_path / "t.parquet")) == marked
