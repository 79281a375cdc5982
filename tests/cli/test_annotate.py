"""`arbora annotate`: what it opens, what it writes, and what it refuses."""

import pytest

from arbora.annotation.learning import Learning
from arbora.cli import annotate as cli_annotate
from arbora.data.treebank import read
from arbora.web import network

TEXT = "She reads old books. He\nwrites them!\n"
ROW = "1\tGo\t_\tVERB\t_\t_\t0\troot\t_\t_\n\n"


@pytest.fixture
def annotate(arbora, monkeypatch):
    """Run `arbora annotate` until the server would wait for requests, without learning."""
    monkeypatch.setattr(network, "serve", lambda application, bound, limits: bound.close())
    monkeypatch.setattr(Learning, "open", lambda self: None)

    def call(*arguments):
        return arbora("annotate", *arguments, "--port", "0")

    return call


def test_raw_text_becomes_a_treebank_once(annotate, tmp_path):
    text, treebank = tmp_path / "story.txt", tmp_path / "story.conllu"
    text.write_text(TEXT)
    result = annotate(text)
    assert result.status == 0, result.stderr
    assert str(treebank) in result.stderr
    assert [sentence.text for sentence in read(treebank)] == ["She reads old books.", "He", "writes them!"]
    assert (tmp_path / "story.annotation" / "journal.jsonl").exists()
    treebank.write_text(ROW)
    assert annotate(text).status == 0
    assert treebank.read_text() == ROW


def test_rules_number_sentences_and_mark_paragraphs(annotate, tmp_path):
    text = tmp_path / "story.txt"
    text.write_text("She reads. He (the boy) writes.\n\nThe end\nof it.\n")
    assert annotate(text).status == 0
    comments = [list(sentence.comments) for sentence in read(tmp_path / "story.conllu")]
    assert [each[:-1] for each in comments] == [
        ["# newpar", "# sent_id = 1"],
        ["# sent_id = 2"],
        ["# newpar", "# sent_id = 3"],
        ["# sent_id = 4"],
    ]
    assert comments[1][-1] == "# text = He (the boy) writes."


def test_a_models_segmenter_splits_text(annotate, tmp_path):
    text = tmp_path / "story.txt"
    text.write_text("She reads. Don't!\n")
    assert annotate(text, "-m", "english").status == 0
    found = list(read(tmp_path / "story.conllu"))
    assert [len(sentence) for sentence in found] == [3, 3]


def test_a_folder_is_a_project(annotate, tmp_path):
    treebank = tmp_path / "p" / "a.conllu"
    treebank.parent.mkdir()
    treebank.write_text(ROW)
    assert annotate(treebank.parent).status == 0
    assert (treebank.parent / "journal.jsonl").exists()
    (treebank.parent / "b.conllu").write_text(ROW)
    assert annotate(treebank.parent).status == 2
    assert annotate(treebank, "--project", tmp_path / "other").status == 0
    assert (tmp_path / "other" / "journal.jsonl").exists()


def test_trees_can_be_the_parsers(annotate, tmp_path):
    treebank = tmp_path / "a.conllu"
    treebank.write_text(ROW)
    assert annotate(treebank).status == 0
    assert treebank.read_text() == ROW
    assert annotate(treebank, "--trees", "parser").status == 0
    assert "# annotation = parsed" in treebank.read_text()
    assert "Parser=HEAD,DEPREL" in treebank.read_text()


def test_validation_needs_udtools(annotate, tmp_path, monkeypatch):
    treebank = tmp_path / "a.conllu"
    treebank.write_text(ROW)
    monkeypatch.setattr(cli_annotate, "find_spec", lambda name: None if name == "udtools" else name)
    assert annotate(treebank).status == 0
    result = annotate(treebank, "--ud", "da")
    assert (result.status, "arbora-nlp[check]" in result.stderr) == (2, True)


@pytest.mark.parametrize(
    ("name", "content", "status"),
    [
        ("a.conllu", "1\tGo\n\n", 1),
        ("a.conllu", ROW.replace("\t0\t", "\t1\t"), 1),
        ("a.conllx", ROW, 2),
        ("a.txt", " \n", 1),
        ("a.txt", b"\xff\xfe", 1),
        ("a.arbora", b"\x08\0\0\0\0\0\0\0{}", 2),
        ("a.conllu", "", 1),
        ("none.conllu", None, 2),
    ],
)
def test_other_files_are_refused(annotate, tmp_path, name, content, status):
    path = tmp_path / name
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    result = annotate(path)
    assert (result.status, result.stdout) == (status, "")
    assert result.stderr.startswith("error: ")
    assert not list(tmp_path.glob("*.conllu")) or name.endswith(".conllu")
