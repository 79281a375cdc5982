"""Shards cover each file, cut it where it may be cut, and need nothing but sizes."""

import random

import pytest
from errors import rejects

from arbora.distributed.inputs import Input, find_inputs
from arbora.distributed.shards import Shard, count_shards, find_cut, open_range, plan_shards
from arbora.errors import InputError

TEXTS = {
    "paragraphs": "".join(f"Paragraph {i}.\nMore of it: ä€😀.\n\n" for i in range(60)).encode(),
    "crlf": "".join(f"Paragraph {i}.\r\n\r\n" for i in range(60)).encode(),
    "lines": "".join(f"Line {i} ä€😀\n" for i in range(90)).encode(),
    "one line": " ".join(f"word{i}ä" for i in range(300)).encode(),
    "no space": ("ä€😀" * 200).encode(),
    "blank": b"\n" * 500,
}


def pieces(path, size, **options):
    shards = list(plan_shards([Input(str(path), path.name, path.stat().st_size)], size))
    found = []
    for shard in shards:
        with open_range(shard, **options) as stream:
            found.append(stream.read())
    return shards, found


@pytest.mark.parametrize("size", [1, 7, 100, 333, 5000])
@pytest.mark.parametrize("name", TEXTS)
def test_shards_of_a_text_are_all_of_it(name, size, tmp_path, monkeypatch):
    monkeypatch.setattr("arbora.distributed.shards.WINDOW", 64)
    path = tmp_path / "a.txt"
    path.write_bytes(TEXTS[name])
    for lines in (False, True):
        shards, found = pieces(path, size, lines=lines)
        assert b"".join(found) == TEXTS[name]
        assert len(shards) == max(1, -(-len(TEXTS[name]) // size))
        for piece in found:
            piece.decode()  # no character is cut


@pytest.mark.parametrize("size", [50, 100, 333])
def test_texts_are_cut_at_blank_lines(size, tmp_path):
    for name in ("paragraphs", "crlf"):
        path = tmp_path / "a.txt"
        path.write_bytes(TEXTS[name])
        _, found = pieces(path, size)
        assert all(piece.startswith(b"Paragraph") for piece in found if piece)
        assert sum(map(bool, found)) > 1


@pytest.mark.parametrize("ending", ["conllu", "jsonl"])
def test_sentences_and_rows_are_never_cut(ending, tmp_path, monkeypatch):
    monkeypatch.setattr("arbora.distributed.shards.WINDOW", 32)
    monkeypatch.setattr("arbora.distributed.shards.PIECE", 16)
    chance = random.Random(4)
    end = b"\n\n" if ending == "conllu" else b"\n"
    units = [bytes(chance.choices(b"abc \t", k=chance.randint(1, 300))) + b"x" + end for _ in range(40)]
    if ending == "conllu":
        units = [unit.replace(b" ", b"\n1").replace(b"\n\n", b"\n") + b"\n" for unit in units]
    path = tmp_path / f"a.{ending}"
    path.write_bytes(b"".join(units))
    _, found = pieces(path, 97)
    assert b"".join(found) == b"".join(units)
    at, ends = 0, set()
    for unit in units:
        at += len(unit)
        ends.add(at)
    at = 0
    for piece in found:
        at += len(piece)
        assert at in ends | {0}


def test_cuts_never_go_back(tmp_path, monkeypatch):
    """Each cut is at or after the one before, whatever the text."""
    monkeypatch.setattr("arbora.distributed.shards.WINDOW", 8)
    chance = random.Random(0)
    for _ in range(200):
        data = bytes(chance.choices(b"a \n\n\xc3\xa4", k=chance.randint(1, 120)))
        path = tmp_path / "a"
        path.write_bytes(data)
        for kind in ("text", "treebank", "json"):
            for lines in (False, True):
                with path.open("rb") as file:
                    cuts = [find_cut(file, at, kind, lines=lines) for at in range(len(data) + 1)]
                assert cuts == sorted(cuts)
                assert all(at <= cut <= len(data) for at, cut in enumerate(cuts))


def test_inputs_are_found_by_name_folder_and_pattern(tmp_path):
    for name in ("a.txt", "b.md", "_c.txt", ".d.txt", "in/e.conllu.gz", "in/f.JSONL", "in/deep/g.parquet"):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x" * len(name))
    whole = ["a.txt", "in/deep/g.parquet", "in/e.conllu.gz", "in/f.JSONL"]
    found = find_inputs([str(tmp_path)])
    assert [each.name for each in found] == whole
    assert [each.kind for each in found] == ["text", "parquet", "treebank", "json"]
    assert [each.size for each in found] == [5, 17, 14, 10]
    assert [each.name for each in find_inputs([f"{tmp_path}/**/*.[cJ]*"])] == ["in/e.conllu.gz", "in/f.JSONL"]
    assert [each.kind for each in find_inputs([str(tmp_path / "b.md")])] == ["text"]
    assert [each.name for each in find_inputs([str(tmp_path / "in"), str(tmp_path / "a.txt")])] == [
        "a.txt",
        "deep/g.parquet",
        "e.conllu.gz",
        "f.JSONL",
    ]


def test_inputs_that_cannot_be_used_are_rejected(tmp_path):
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "a.txt").touch()
    (tmp_path / "y").mkdir()
    (tmp_path / "y" / "a.txt").touch()
    (tmp_path / "empty").mkdir()
    for given in (["missing.txt"], ["miss*.txt"], [str(tmp_path / "empty")]):
        with rejects(InputError, field="inputs"):
            find_inputs(given)
    with rejects(InputError, field="inputs"):
        find_inputs([str(tmp_path / "x"), str(tmp_path / "y")])
    assert len(find_inputs([str(tmp_path / "x"), str(tmp_path / "x" / "a.txt")])) == 1


def test_large_corpora_are_planned_from_sizes():
    inputs = [Input(f"{i}.txt", f"{i}.txt", 10_000_000) for i in range(1000)]
    assert count_shards(inputs, 1_000_000) == 10_000
    first = next(plan_shards(inputs, 1_000_000))
    assert first == Shard("0.txt.00000", "0.txt", "text", 0, 1_000_000)
    assert first.document == "0.txt"
