"""Parsed sentences are taken wherever sentences are: written, evaluated, trained on, made a table."""

import pytest
from pipeline_toys import SMALL, trained

import arbora
from arbora.data.treebank import read

TEXT = "Ann calls the dogs. Bob helped the tree!"


@pytest.fixture(scope="module")
def parsed():
    return trained().pipeline(TEXT)


def test_they_are_written_with_their_probabilities(parsed, tmp_path):
    assert arbora.write(parsed, tmp_path / "x.conllu") == 2
    again = list(read(tmp_path / "x.conllu"))
    assert [sentence.heads for sentence in again] == [sentence.heads for sentence in parsed]
    assert all("HeadProb=" in misc for sentence in again for misc in sentence.misc)
    assert all(any(c.startswith("# tree_probability") for c in sentence.comments) for sentence in again)


def test_they_are_evaluated(parsed):
    sentences = [each.sentence for each in parsed]
    assert arbora.evaluate(sentences, parsed).las == arbora.evaluate(parsed, sentences).las == 100


def test_they_are_trained_on(parsed):
    config = {**SMALL, "parser": "graph", "only": "parser"}
    one, other = (arbora.train(given, config=config) for given in (parsed, [e.sentence for e in parsed]))
    assert one.parser.scorer.tree.tobytes() == other.parser.scorer.tree.tobytes()


def test_tables_have_their_offsets(parsed):
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    from arbora.integrations import table

    rows = table.to_arrow(parsed).to_pylist()
    assert [TEXT[row["start"] : row["end"]] for row in rows] == [row["form"] for row in rows]
    assert all(0 < row["head_probability"] <= 1 for row in rows)
    rows = table.to_arrow([each.sentence for each in parsed]).to_pylist()
    assert [TEXT[row["start"] : row["end"]] for row in rows] == [row["form"] for row in rows]
    assert {row["head_probability"] for row in rows} == {None}


def test_probabilities_can_be_left_out(parsed):
    sentences = trained().pipeline(TEXT, probabilities=False)
    assert sentences == [each.sentence for each in parsed]
    assert [word.start for sentence in sentences for word in sentence][:2] == [0, 4]
