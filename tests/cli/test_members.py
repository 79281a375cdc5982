"""`arbora train --members`: one model of several parsers."""

import json

from arbora.data.synthetic import generate
from arbora.data.treebank import write


def test_members_are_joined_and_listed(arbora, tmp_path):
    trees = list(generate(90, seed=3))
    write(trees[:60], tmp_path / "t.conllu")
    write(trees[60:], tmp_path / "d.conllu")
    options = ("--parser", "graph", "--order", "1", "--epochs", "1", "--only", "parser")
    given = ("train", tmp_path / "t.conllu", "--dev", tmp_path / "d.conllu", "-o", tmp_path / "m.arbora")
    command = (*given, *options, "--members", "2")
    result = arbora(*command, "--workers", "2", "--json")
    assert result.status == 0, result.stderr
    found = json.loads(result.stdout)
    assert {epoch["stage"] for epoch in found["epochs"]} >= {"tree", "tree 2"}
    assert arbora("info", tmp_path / "m.arbora").stdout.count("\nmember") == 2
    assert list(tmp_path.glob("*.checkpoint*")) == []
    for wrong in ("--resume", ("--together", "--workers", "2")):
        assert arbora(*command, *([wrong] if isinstance(wrong, str) else wrong)).status == 2
