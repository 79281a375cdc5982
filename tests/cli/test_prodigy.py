"""`arbora convert` from and to Prodigy's tasks."""

import json

from arbora.data.synthetic import generate
from arbora.data.treebank import write


def test_tasks_are_written_and_read(arbora, tmp_path):
    treebank, tasks = tmp_path / "in.conllu", tmp_path / "out.jsonl.gz"
    write(generate(5, seed=1), treebank)
    assert arbora("convert", treebank, "-o", tasks).status == 0
    printed = arbora("convert", treebank, "-o", "-", "--to", "prodigy").stdout.splitlines()
    assert [set(json.loads(line)) >= {"text", "tokens", "relations"} for line in printed] == [True] * 5
    assert arbora("convert", tasks, "-o", "-").stdout == treebank.read_text()
    answered = [{**json.loads(line), "answer": "accept"} for line in printed]
    answered[1]["answer"] = "ignore"
    exported = tmp_path / "annotated.jsonl"
    exported.write_text("".join(json.dumps(each) + "\n" for each in answered))
    result = arbora("convert", exported, "-o", tmp_path / "annotated.conllx")
    assert result.status == 0
    assert "1 rejected or ignored tasks skipped" in result.stderr
    assert (tmp_path / "annotated.conllx").read_text().count("\n\n") == 4


def test_other_targets_and_options_are_rejected(arbora, tmp_path):
    tasks = tmp_path / "in.jsonl"
    tasks.write_text("{}\n")
    for options in (("-o", "x.jsonl"), ("-o", "-", "--to", "same"), ("-o", "-", "--roots", "single")):
        assert arbora("convert", tasks, *options).status == 2
    result = arbora("convert", tasks, "-o", "-")
    assert result.status == 1
    assert "in.jsonl:1: tokens" in result.stderr
    result = arbora("convert", tasks, "-o", "-", "--lenient")
    assert (result.status, result.stdout) == (0, "")
    assert "1 sentence skipped" in result.stderr
