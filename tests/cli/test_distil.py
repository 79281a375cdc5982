"""`arbora distil` from the command line."""

import json

from pipeline_toys import conllu, trained

OPTIONS = ["-p", "tree_bits=10", "-p", "label_bits=10", "--parser", "graph", "--order", "1", "--epochs", "2"]


def test_a_student_is_written_with_its_silver_trees(arbora, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    trained().pipeline.save("teacher.arbora")
    (tmp_path / "gold.conllu").write_text(conllu(20))
    (tmp_path / "raw.txt").write_text("Ann calls the dog.\n\nBob helps the boats.\n\nEmil wanted the tree!\n")
    call = ["distil", "teacher.arbora", "raw.txt", "--gold", "gold.conllu", "--dev", "20%", "--least", "0"]
    result = arbora(*call, "-o", "student.arbora", *OPTIONS, "--json")
    assert result.status == 0, result.stderr
    assert json.loads(result.stdout)["dev"]["las"] > 0
    assert "silver: 3 sentences" in result.stderr
    assert (tmp_path / "student.arbora.silver" / "000000.conllu").exists()
    assert arbora("parse", "Ann calls the dog.", "-m", "student.arbora").status == 0
    again = arbora(*call, "-o", "other.arbora", *OPTIONS, "-q", "--silver", "student.arbora.silver")
    assert again.status == 0
    refused = arbora(
        *call, "-o", "third.arbora", *OPTIONS, "--silver", "student.arbora.silver", "--least", "0.9"
    )
    assert refused.status == 2
    assert arbora(*call, "-o", "x.arbora", *OPTIONS, "--least-head", "0.5").status == 2
    assert (
        arbora("distil", "teacher.arbora", "none.txt", "--gold", "gold.conllu", "-o", "x.arbora").status == 2
    )
