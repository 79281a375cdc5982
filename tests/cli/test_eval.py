import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console
from treebanks import random_treebank, spoil_all
from typer.testing import CliRunner

from arbora.cli.console import Table, show
from arbora.cli.main import app, run
from arbora.evaluation.attachment import evaluate


@pytest.fixture
def files(tmp_path):
    gold = random_treebank(0)
    sides = {"gold": gold, "good": spoil_all(gold, 1, 0.1), "bad": spoil_all(gold, 2, 0.3)}
    for name, sentences in sides.items():
        text = "".join(sentence.to_conllu() for sentence in sentences)
        (tmp_path / f"{name}.conllu").write_text(text, encoding="utf-8")
    return {name: str(tmp_path / f"{name}.conllu") for name in sides} | {"sentences": sides}


def invoke(*arguments, **options):
    return CliRunner().invoke(app, ["eval", *arguments], **options)


def test_json_holds_every_measure(files):
    result = invoke(files["gold"], files["good"], "--json")
    assert result.exit_code == 0
    answer = json.loads(result.stdout)
    expected = evaluate(files["sentences"]["gold"], files["sentences"]["good"]).to_json()
    assert answer == expected
    assert {"uas", "las", "uas_nopunct", "las_nopunct", "sentences", "tokens"} <= set(answer)
    assert {"la", "clas", "exact_match", "root_accuracy", "uas_conllx", "las_conllx"} <= set(answer)


def test_a_pipe_gets_plain_aligned_text(files):
    result = invoke(files["gold"], files["good"])
    assert result.exit_code == 0
    title, headings, *rows = result.stdout.splitlines()
    assert "40 sentences" in title
    assert headings.split()[:3] == ["words", "UAS", "LAS"]
    assert [row[:14].strip() for row in rows] == ["all words", "no punctuation", "CoNLL-X rule"]
    assert len(set(map(len, rows))) == 1
    scores = evaluate(files["sentences"]["gold"], files["sentences"]["good"])
    assert rows[0].split()[2:5] == [str(scores.tokens), f"{scores.uas:.2f}", f"{scores.las:.2f}"]


def test_options_change_what_is_compared(files):
    answers = {
        option: json.loads(invoke(files["gold"], files["good"], "--json", option).stdout)
        for option in ("--subtypes", "--no-subtypes", "--punctuation=form", "--punctuation=upos")
    }
    assert answers["--subtypes"]["las"] < answers["--no-subtypes"]["las"]
    by_form = answers["--punctuation=form"]
    assert by_form["tokens_nopunct"] == by_form["tokens_conllx"]
    assert answers["--punctuation=upos"]["tokens_nopunct"] != by_form["tokens_conllx"]


def test_breakdowns(files):
    wanted = ["--by", "label", "--by", "arc-length", "--by", "sentence-length"]
    result = invoke(files["gold"], files["good"], *wanted)
    assert result.exit_code == 0
    for heading in ("label ", "arc length ", "sentence length "):
        assert f"\n{heading}" in result.stdout
    answer = json.loads(invoke(files["gold"], files["good"], "--json", *wanted).stdout)
    assert sum(group["gold"] for group in answer["by_label"].values()) == answer["tokens"]
    assert sum(g["tokens"] for g in answer["by_sentence_length"].values()) == answer["tokens"]
    left_out = json.loads(invoke(files["gold"], files["good"], "--json", "--nopunct", *wanted).stdout)
    counted = sum(group["gold"] for group in left_out["by_arc_length"].values())
    assert counted == left_out["tokens_nopunct"] < left_out["tokens"]


@pytest.mark.parametrize("test", ["sign", "bootstrap", "randomization"])
def test_two_outputs_are_compared(files, test):
    arguments = [files["gold"], files["good"], "--compare", files["bad"], "--test", test]
    result = invoke(*arguments, "--samples", "500", "--seed", "3")
    assert result.exit_code == 0
    assert f"{test} test" in result.stdout
    answer = json.loads(invoke(*arguments, "--samples", "500", "--seed", "3", "--json").stdout)
    assert answer["compare"]["uas"]["difference"] == pytest.approx(answer["uas"] - answer["other"]["uas"])
    assert answer["compare"]["las"]["p_value"] < 0.05
    again = invoke(*arguments, "--samples", "500", "--seed", "3", "--json")
    assert json.loads(again.stdout) == answer


def test_one_side_may_come_from_stdin(files):
    text = Path(files["good"]).read_text(encoding="utf-8")
    piped = invoke(files["gold"], "-", "--json", input=text)
    assert piped.exit_code == 0
    assert json.loads(piped.stdout) == json.loads(invoke(files["gold"], files["good"], "--json").stdout)
    twice = invoke("-", "-", input=text)
    assert twice.exit_code == 2
    assert "stdin" in twice.stderr


def test_wrong_options_are_status_2(files):
    assert invoke(files["gold"], files["good"], "--punctuation", "none").exit_code == 2
    assert invoke(files["gold"]).exit_code == 2
    for missing in (
        [files["gold"], "no.conllu"],
        [files["gold"], files["good"], "--compare", "no"],
    ):
        result = invoke(*missing)
        assert result.exit_code == 2
        assert "no such file" in result.stderr
    assert invoke(files["gold"], files["good"], "--samples", "0").exit_code == 2


@pytest.mark.parametrize(
    ("idle", "needed"),
    [
        (["--test", "sign"], ["--compare"]),
        (["--samples", "10"], ["--compare"]),
        (["--seed", "0"], ["--compare"]),
        (["--seed", "1", "--by", "label"], ["--compare"]),
        (["--nopunct"], ["--by", "--compare"]),
    ],
)
def test_options_without_effect_are_status_2(files, idle, needed):
    result = invoke(files["gold"], files["good"], *idle)
    assert (result.exit_code, result.stdout) == (2, "")
    for option in (idle[0], *needed):
        assert option in result.stderr
    by = [] if "--by" in idle else ["--by", "label"]
    assert invoke(files["gold"], files["good"], *idle, *by, "--compare", files["bad"]).exit_code == 0


def test_different_words_are_status_1_and_one_line(files, tmp_path, monkeypatch, capsys):
    short = tmp_path / "short.conllu"
    first, _, _ = (tmp_path / "gold.conllu").read_text(encoding="utf-8").partition("\n\n")
    short.write_text(first + "\n\n", encoding="utf-8")
    monkeypatch.setattr("sys.argv", ["arbora", "eval", files["gold"], str(short)])
    with pytest.raises(SystemExit) as stop:
        run()
    assert stop.value.code == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "short.conllu" in captured.err
    assert "expected sentence 2" in captured.err
    assert captured.err.count("\n") == 1


def test_help_shows_options_and_examples():
    result = invoke("--help")
    assert result.exit_code == 0
    for word in ("GOLD", "--compare", "CoNLL-X", "punctuation"):
        assert word in result.stdout


def test_terminals_get_a_drawn_table_that_fits():
    rows = [["no punctuation", "100000", *["100.00"] * 7]]
    table = Table("[red]file[/red]", ["", "words", *["exact"] * 7], rows)
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    show([table, table], console)
    drawn = console.file.getvalue()
    assert drawn.count("100.00") == 14
    assert "[red]file[/red]" in drawn
    assert "…" not in drawn


def test_plain_tables_are_aligned():
    table = Table("title", ["name", "x"], [["a", "1"], ["long name", "100"]])
    assert table.plain() == "title\nname         x\na            1\nlong name  100\n"


def test_labels_that_look_like_markup_are_printed_verbatim():
    table = Table("title", ["label", "x"], [["[bold]", "1"]])
    console = Console(file=io.StringIO(), force_terminal=True, width=80, color_system=None)
    show([table], console)
    assert "[bold]" in console.file.getvalue()


def test_a_closed_pipe_is_no_error(files):
    command = [sys.executable, "-m", "arbora", "eval", files["gold"], files["good"]]
    for output in ("--json", "--by=label"):
        reading, writing = os.pipe()
        os.close(reading)
        ended = subprocess.run([*command, output], stdout=writing, stderr=subprocess.PIPE, check=False)
        os.close(writing)
        assert (ended.returncode, ended.stderr) == (0, b"")


def test_aligned(arbora, tmp_path):
    (tmp_path / "gold.conllu").write_text(
        "1\tab\t_\tX\t_\t_\t0\troot\t_\t_\n2\tc\t_\tX\t_\t_\t1\tdep\t_\t_\n\n"
    )
    (tmp_path / "mine.conllu").write_text(
        "1\ta\t_\tX\t_\t_\t0\troot\t_\t_\n2\tb\t_\tX\t_\t_\t1\tdep\t_\t_\n\n1\tc\t_\tX\t_\t_\t0\troot\t_\t_\n\n"
    )
    pair = (tmp_path / "gold.conllu", tmp_path / "mine.conllu")
    result = arbora("eval", *pair)
    assert (result.status, "arbora eval --aligned" in result.stderr) == (1, True)
    result = arbora("eval", *pair, "--aligned")
    assert (result.status, result.stderr) == (0, "")
    rows = {row[0]: row[1:] for line in result.stdout.splitlines() if (row := line.split())}
    assert rows["words"] == ["33.33", "50.00", "40.00", "100.00"]
    assert rows["LAS"] == ["0.00", "0.00", "0.00", "0.00"]
    assert rows["sentences"] == ["0.00", "0.00", "0.00"]
    found = json.loads(arbora("eval", *pair, "--aligned", "--json").stdout)
    assert (found["upos"]["f1"], found["words"]["aligned"], found["tokens"]["gold"]) == (40, 1, 2)
    for options in (("--by", "label"), ("--calibration",), ("--compare", pair[1]), ("--nopunct",)):
        result = arbora("eval", *pair, "--aligned", *options)
        assert (result.status, f"{options[0]} needs" in result.stderr) == (2, True)
