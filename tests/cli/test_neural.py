"""Neural parsers from the command line: train, compress, describe, parse."""

import json

import pytest

from arbora.data.treebank import read

TINY = ("neural.units=6", "neural.arc_size=6", "neural.label_size=4", "neural.word_size=6", "words=80")


@pytest.fixture
def train(arbora, synthetic, tmp_path, monkeypatch):
    """`arbora train --parser neural` on the synthetic treebanks, to m.arbora in a folder of its own."""
    pytest.importorskip("torch", reason="networks are trained with PyTorch")
    monkeypatch.chdir(tmp_path)
    settings = [part for each in TINY for part in ("-p", each)]

    def call(*more):
        return arbora(
            "train",
            synthetic[0],
            "--dev",
            synthetic[1],
            "-o",
            "m.arbora",
            "--parser",
            "neural",
            *settings,
            *more,
        )

    return call


def test_a_compact_model_is_trained_described_and_used(arbora, train, synthetic):
    result = json.loads(train("--epochs", "2", "--compact", "--json").stdout)
    assert {"las", "uas"} == set(result["compact"]["before"])
    assert {"upos", "las"} < set(result["parts"]["dev"])
    shown = arbora("info", "m.arbora").stdout
    assert "parser neural" in shown
    assert "units 6" in shown
    assert "order 1" in arbora("info", "m.arbora", "--all").stdout.replace("\t", " ")
    arbora("parse", synthetic[1], "-m", "m.arbora", "--retag", "--probabilities", "-o", "parsed.conllu")
    parsed = list(read("parsed.conllu"))
    assert all(tag != "_" for sentence in parsed for tag in sentence.upos)
    assert all("HeadProb=" in misc for sentence in parsed for misc in sentence.misc)
    listed = arbora("parse", "a word and another", "-m", "m.arbora", "--kbest", "2").stdout
    assert "# kbest = 2/2" in listed


def test_bad_vectors_do_not_point_to_lenient(train, tmp_path):
    (tmp_path / "bad.vec").write_text("2 3\na 1 2 3\nb 1 2\n")
    result = train("--vectors", "bad.vec")
    assert result.status == 1
    assert "bad.vec:3" in result.stderr
    assert "--lenient" not in result.stderr


def test_a_model_is_adapted(train, arbora, synthetic):
    assert train("--epochs", "2", "-q").status == 0
    settings = ("--epochs", "1", "--dev", "20%", "-o", "new.arbora", "--from", "m.arbora", "--json")
    result = arbora("train", synthetic[1], *settings)
    assert result.status == 0
    assert json.loads(result.stdout)["config"]["start"] == "m.arbora"
    assert arbora("parse", "a word", "-m", "new.arbora").status == 0


def test_the_help_of_a_parser_lists_its_settings(arbora):
    described = json.loads(arbora("info", "parser", "neural", "--json").stdout)
    assert "neural.size" in {each["name"] for each in described["parameters"]}
