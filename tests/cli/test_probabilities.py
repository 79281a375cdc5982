"""`arbora parse` with probabilities, k best trees and several models; `arbora eval --calibration`."""

import json
from dataclasses import replace

import pytest

from arbora.data.treebank import conllu_to_conllx, read, write
from arbora.parsing.ensemble import ensemble
from arbora.parsing.parser import Parser
from arbora.training import train


@pytest.fixture(scope="module")
def others(synthetic, tmp_path_factory):
    """Two more models: one that was not calibrated, and one of another kind."""
    folder = tmp_path_factory.mktemp("others")
    small = {"tree_bits": 12, "label_bits": 12, "parameters": {"epochs": 2}}
    train(synthetic[0], config={**small, "order": 1, "seed": 3}).parser.save(folder / "plain")
    crossing = {**small, "order": 2, "trees": "nonprojective"}
    train(*synthetic, config=crossing).parser.save(folder / "crossing")
    return folder / "plain", folder / "crossing"


def test_probabilities_in_conllu(arbora, model, parser, synthetic, tmp_path):
    out = tmp_path / "out.conllu"
    result = arbora("parse", synthetic[1], "-m", model, "-o", out, "--probabilities")
    assert result.status == 0
    assert "calibrated" not in result.stderr
    parsed = parser.parse(read(synthetic[1]), probabilities=True)
    assert out.read_text() == "".join(each.to_conllu() for each in parsed)
    first = next(read(out))
    assert first.misc[0] == f"HeadProb={parsed[0][0].head_probability:.4f}|" + (
        f"DeprelProb={parsed[0][0].label_probability:.4f}"
    )
    assert first.metadata["tree_probability"] == f"{parsed[0].probability:.4g}"
    again = tmp_path / "again.conllu"
    assert arbora("parse", out, "-m", model, "-o", again, "--probabilities", "-q") == (0, "", "")
    assert again.read_text() == out.read_text()  # replaced, not repeated
    crlf = tmp_path / "crlf.conllu"
    crlf.write_bytes(synthetic[1].read_bytes().replace(b"\n", b"\r\n"))
    assert arbora("parse", crlf, "-m", model, "-o", again, "--probabilities", "-q").status == 0
    assert again.read_bytes() == out.read_bytes().replace(b"\n", b"\r\n")
    risky = arbora("parse", synthetic[1], "-m", model, "--decode", "minimum-risk", "-q")
    expected = parser.parse(read(synthetic[1]), decode="minimum-risk")
    assert risky.stdout == "".join(each.to_conllu() for each in expected)


def test_json_and_trees(arbora, model, parser, synthetic):
    result = arbora("parse", synthetic[1], "-m", model, "--probabilities", "--format", "json", "-q")
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    parsed = parser.parse(read(synthetic[1]), probabilities=True)
    assert lines == [json.loads(json.dumps(each.to_json())) for each in parsed]
    assert 0 < lines[0]["words"][0]["label_probability"] <= 1
    drawn = arbora("parse", synthetic[1], "-m", model, "--probabilities", "--format", "tree", "-q")
    assert drawn.stdout.startswith(f"tree probability {parsed[0].probability:.4g}\n")
    ranked = arbora("parse", synthetic[1], "-m", model, "--kbest", "2", "--format", "json", "-q")
    first, second = (json.loads(line) for line in ranked.stdout.splitlines()[:2])
    assert (first["kbest"], second["kbest"]) == (1, 2)
    assert first["tree_probability"] >= second["tree_probability"]


def test_the_k_best_trees(arbora, model, parser, synthetic, tmp_path):
    out = tmp_path / "out.conllu"
    assert arbora("parse", synthetic[1], "-m", model, "-o", out, "--kbest", "3", "-q").status == 0
    found = read(out)
    for sentence in read(synthetic[1]):
        best = parser.kbest(sentence, 3)
        for i, tree in enumerate(best, start=1):
            written = next(found)
            assert (written.heads, written.deprels) == (tree.sentence.heads, tree.sentence.deprels)
            assert written.metadata["kbest"] == f"{i}/{len(best)}"
            assert written.metadata["tree_probability"] == f"{tree.probability:.4g}"
            assert written.misc == sentence.misc
    assert next(found, None) is None


def test_conllx_becomes_conllu(arbora, model, synthetic, tmp_path):
    write((conllu_to_conllx(s) for s in read(synthetic[1])), tmp_path / "in.conll")
    options = ("--input-format", "conllx", "--probabilities", "-q")
    result = arbora("parse", tmp_path / "in.conll", "-m", model, "-o", tmp_path / "out.conllu", *options)
    assert result == (0, "", "")
    assert all("HeadProb=" in misc for sentence in read(tmp_path / "out.conllu") for misc in sentence.misc)


def test_several_models(arbora, model, others, synthetic, tmp_path):
    out = tmp_path / "out.conllu"
    models = [part for path in (model, *others) for part in ("-m", path)]
    result = arbora("parse", synthetic[1], *models, "-o", out, "--probabilities")
    assert result.status == 0
    assert "the 3 models agree on" in result.stderr
    assert "together: UAS" in result.stderr
    assert f"note: {others[0]} has no temperature" in result.stderr
    assert all("HeadProb=" in misc for sentence in read(out) for misc in sentence.misc)
    plain = arbora("parse", synthetic[1], *models, "-q")
    written = "".join(sentence.to_conllu() for sentence in read(out))
    heads = [line.split("\t")[6:8] for line in written.splitlines() if line[:1].isdigit()]
    assert heads == [line.split("\t")[6:8] for line in plain.stdout.splitlines() if line[:1].isdigit()]
    bare = tmp_path / "bare.conllu"
    bare.write_text("1\ta\ta\tNOUN\t_\t_\t_\t_\t_\t_\n\n")
    told = arbora("parse", bare, *models).stderr
    assert "agree" in told
    assert "together" not in told  # there is nothing to compare with


def test_weights(arbora, model, others, parser, synthetic):
    models = ["-m", model, "-m", others[0]]
    plain = arbora("parse", synthetic[1], *models, "-q")
    assert arbora("parse", synthetic[1], *models, "-q", "--weights", "2,2") == plain
    weighted = arbora("parse", synthetic[1], *models, "-q", "--probabilities", "--weights", "3,1")
    expected = ensemble([parser, Parser.load(others[0])], [3, 1]).parse(
        read(synthetic[1]), probabilities=True
    )
    assert weighted.stdout == "".join(each.to_conllu() for each in expected)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--weights", "1"], "--weights needs several models"),
        (["-m", "OTHER", "--weights", "1"], "weights: expected 2 positive numbers"),
        (["-m", "OTHER", "--weights", "1,0"], "weights: expected 2 positive numbers"),
        (["-m", "OTHER", "--weights", "1,x"], "--weights: expected numbers such as 2,1, got 1,x"),
        (["--kbest", "2", "--decode", "minimum-risk"], "ranks trees by probability"),
        (["--kbest", "0"], "--kbest"),
        (["-m", "OTHER", "--kbest", "2"], "--kbest needs one model"),
        (["-m", "OTHER", "--decode", "argmax"], "argmax needs one model"),
        (["-m", "MODEL"], "got one twice"),
    ],
)
def test_options_that_exclude_each_other(options, message, arbora, model, others, synthetic):
    names = {"OTHER": others[0], "MODEL": model}
    result = arbora("parse", synthetic[1], "-m", model, *(names.get(each, each) for each in options))
    assert result.status == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())


def test_second_order_non_projective_trees_are_ranked(arbora, others, synthetic):
    ranked = arbora("parse", synthetic[1], "-m", others[1], "--kbest", "2")
    assert ranked.status == 0
    assert "# kbest = 2/2" in ranked.stdout
    parsed = arbora("parse", synthetic[1], "-m", others[1], "--probabilities")
    assert parsed.status == 0
    assert "HeadProb=" in parsed.stdout
    assert "tree_probability" in parsed.stdout


def test_calibration(arbora, model, synthetic, tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "out.conllu"
    arbora("parse", synthetic[1], "-m", model, "-o", out, "--probabilities", "-q")
    picture = tmp_path / "reliability.svg"
    result = arbora("eval", synthetic[1], out, "--calibration", "--plot", picture)
    assert result.status == 0
    assert "ECE" in result.stdout
    assert "right among the most certain" in result.stdout
    assert picture.read_text().startswith("<?xml")
    told = json.loads(arbora("eval", synthetic[1], out, "--calibration", "--json").stdout)
    assert set(told["calibration"]) == {"heads", "labels", "arcs"}
    assert told["calibration"]["heads"]["accuracy"] == pytest.approx(told["uas"] / 100)
    assert told["calibration"]["arcs"]["accuracy"] == pytest.approx(told["las"] / 100)
    refused = arbora("eval", synthetic[1], synthetic[1], "--calibration")
    assert refused.status == 1
    assert "expected HeadProb=" in refused.stderr
    assert arbora("eval", synthetic[1], out, "--plot", picture).status == 2


def test_keep_heads(arbora, model, parser, synthetic, tmp_path):
    given = []
    for sentence in read(synthetic[1]):
        kept = [i % 3 == 0 for i in range(len(sentence))]
        pairs = zip(sentence.heads, sentence.deprels, kept, strict=True)
        heads, labels = zip(*((h, f"my:{d}") if keep else (-1, "_") for h, d, keep in pairs), strict=True)
        if sentence.tree.is_projective():
            given.append(replace(sentence, heads=heads, deprels=labels))
    half = tmp_path / "half.conllu"
    write(given, half)
    expected = parser.parse(given, keep_heads=True)
    assert all(s.deprels[0].startswith("my:") for s in expected)
    plain = arbora("parse", half, "-m", model, "--keep-heads", "-q")
    assert plain == (0, "".join(s.to_conllu() for s in expected), "")
    told = arbora("parse", half, "-m", model, "--keep-heads", "-q", "--format", "json").stdout
    assert json.loads(told.splitlines()[0])["words"][0]["deprel"] == expected[0].deprels[0]
    sure = arbora("parse", half, "-m", model, "--keep-heads", "--probabilities", "-q").stdout
    parsed = parser.parse(given, keep_heads=True, probabilities=True)
    assert sure == "".join(each.to_conllu() for each in parsed)
    ranked = arbora("parse", half, "-m", model, "--keep-heads", "--kbest", "2", "-q").stdout
    (tmp_path / "ranked.conllu").write_text(ranked)
    assert next(read(tmp_path / "ranked.conllu")).heads[0] == given[0].heads[0]
    without = arbora("parse", half, "-m", model, "-q").stdout
    assert without == "".join(s.to_conllu() for s in parser.parse(given))
    two_roots = replace(given[0], heads=(0, -1, 0, *[-1] * (len(given[0]) - 3)))
    write([*given, two_roots], half)
    for more in ([], ["--probabilities"]):
        refused = arbora("parse", half, "-m", model, "--keep-heads", "-q", *more)
        line = sum(len(s.lines()) + 1 for s in given) + 1
        assert refused.status == 1
        assert f"half.conllu:{line}: words 1 and 3 are both given as roots" in refused.stderr
        assert "(--lenient skips such sentences)" in refused.stderr
        lenient = arbora("parse", half, "-m", model, "--keep-heads", "-q", "--lenient", *more)
        assert (lenient.status, lenient.stdout) == (0, sure if more else plain.stdout)
        assert f"half.conllu:{line}: words 1 and 3 are both given as roots" in lenient.stderr
        assert f"{half}: 1 sentence skipped" in lenient.stderr
    write([two_roots], half)
    for form in ("conllu", "json", "svg", "html", "tree"):
        none = arbora("parse", half, "-m", model, "--keep-heads", "--lenient", "--format", form)
        assert (none.status, "two_roots" in none.stdout) == (0, False)
        assert "0 sentences, 0 words" in none.stderr
    assert arbora("parse", half, "-m", model, "-m", half, "--keep-heads").status == 2


def test_greedy_parsers_say_that_their_probabilities_are_of_little_use(arbora, synthetic, tmp_path):
    model = tmp_path / "greedy.arbora"
    options = ("--only", "parser", "--parser", "transition", "--epochs", 1)
    assert arbora("train", synthetic[0], "--dev", synthetic[1], "-o", model, *options).status == 0
    asked = (("--probabilities",), ("--kbest", 2), ("--sort", "doubt"))
    for more in asked:
        assert "greedy" in arbora("parse", synthetic[1], "-m", model, *more).stderr
    assert "greedy" in arbora("select", synthetic[1], "-m", model, "--ignore-heads", "-n", 2).stderr
    assert "greedy" not in arbora("parse", synthetic[1], "-m", model).stderr
