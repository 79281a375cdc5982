"""`arbora induce`: models, reports, and errors of command line and data."""

import io
import json
import re

import pytest

from arbora.data import treebank
from arbora.data.synthetic import generate
from arbora.induction.rules import RULES, Rules

QUICK = ["--only", "parser", "-p", "rounds=2", "-p", "passes=1"]


@pytest.fixture
def words(tmp_path):
    path = tmp_path / "words.conllu"
    treebank.write(generate(60, seed=3), path)
    return path


def test_a_model_is_written_and_parses(arbora, words, tmp_path):
    model = tmp_path / "x.arbora"
    done = arbora("induce", words, "-o", model, *QUICK)
    assert done.status == 0, done.stderr
    assert "seed" in done.stdout
    assert "crfae: projective trees from" in done.stdout
    assert re.search(r"^crfae, seed 0 round 2/2: objective -?[\d.]+, [\d.]+ s$", done.stderr, re.MULTILINE)
    parsed = arbora("parse", words, "-m", model)
    assert parsed.status == 0, parsed.stderr
    assert "\troot\t" in parsed.stdout
    sure = arbora("parse", words, "-m", model, "--probabilities", "--kbest", "2")
    assert "HeadProb=" in sure.stdout
    told = arbora("info", model)
    assert "induced parser" in told.stdout
    assert "crfae" in told.stdout


def test_json_contains_all_starts(arbora, words, tmp_path):
    done = arbora("induce", words, "-o", tmp_path / "x.arbora", *QUICK, "--restarts", "2", "--json", "-q")
    assert done.status == 0, done.stderr
    told = json.loads(done.stdout)
    assert [start["seed"] for start in told["starts"]] == [0, 1]
    assert len(told["starts"][0]["history"]) == 2
    assert told["config"]["parameters"]["rounds"] == 2


def test_plain_text_is_enough(arbora, tmp_path):
    text = tmp_path / "story.txt"
    lines = ["the dog sees a cat .", "a cat sleeps .", "the man gives the dog a bone .", "a dog runs ."]
    text.write_text("\n".join(lines * 20))
    model = tmp_path / "x.arbora"
    classes = ["-p", "classes.count=4", "-p", "classes.least_count=2"]
    done = arbora("induce", text, "-o", model, "-p", "rounds=1", *classes)
    assert done.status == 0, done.stderr
    assert "classes of words stand for tags" in done.stderr
    parsed = arbora("parse", "the cat sees a man.", "-m", model, "--format", "conllu")
    assert parsed.status == 0, parsed.stderr
    assert parsed.stdout.count("\troot\t") == 1


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--model", "crfea"], "crfae"),
        (["-p", "rouns=3"], "rounds"),
        (["-p", "rounds"], "NAME=VALUE"),
        (["-p", "classes.cuont=3"], "classes"),
        (["--rules", "nosuch"], "universal"),
        (["--restarts", "0"], "restarts"),
    ],
)
def test_command_line_errors_are_status_2(arbora, words, tmp_path, options, told):
    done = arbora("induce", words, "-o", tmp_path / "x.arbora", *options)
    assert done.status == 2
    assert told in done.stderr
    assert not (tmp_path / "x.arbora").exists()


def test_data_errors_are_status_1(arbora, tmp_path):
    empty = tmp_path / "empty.conllu"
    empty.write_text("")
    done = arbora("induce", empty, "-o", tmp_path / "x.arbora")
    assert done.status == 1
    assert "empty.conllu" in done.stderr
    bad = tmp_path / "bad.txt"
    bad.write_bytes(b"\xff\xfe\x00")
    done = arbora("induce", bad, "-o", tmp_path / "x.arbora")
    assert done.status == 1
    assert "UTF-8" in done.stderr


def test_one_word_per_line_is_a_warning(arbora, tmp_path):
    text = tmp_path / "words.txt"
    text.write_text("\n".join(["dog", "cat", "sleeps"] * 30))
    done = arbora("induce", text, "-o", tmp_path / "x.arbora", *QUICK, "-p", "classes.count=2")
    assert done.status == 0
    assert "warning: 90 of 90 sentences to learn from have a single word" in done.stderr
    assert "give it with one sentence per line" in done.stderr
    assert "with 1 tag\n" in done.stderr or "classes of words stand for tags" in done.stderr


def test_settings_of_word_classes_need_untagged_words(arbora, words, tmp_path):
    done = arbora("induce", words, "-o", tmp_path / "x.arbora", *QUICK, "-p", "classes.count=40")
    assert done.status == 2
    assert "classes.count: does nothing here; it needs words without UPOS tags" in done.stderr


def test_info_rules_prints_a_rules_file(arbora, words, tmp_path):
    mine = tmp_path / "mine.txt"
    for name, rules in RULES.items():
        told = arbora("info", "rules", name)
        assert (told.status, told.stderr) == (0, "")
        assert Rules.parse(told.stdout) == rules
        described = json.loads(arbora("info", "rules", name, "--json").stdout)
        assert described["pairs"] == rules.to_list()
        assert f"{name}\t{len(rules.pairs)}\t{described['summary']}\n" in arbora("list", "rules").stdout
        mine.write_text(told.stdout)
        assert arbora("induce", words, "-o", tmp_path / "x.arbora", *QUICK, "--rules", mine).status == 0
    assert [each["name"] for each in json.loads(arbora("list", "rules", "--json").stdout)] == list(RULES)
    wrong = arbora("info", "rules", "univarsal")
    assert wrong.status == 2
    assert "did you mean 'universal'" in wrong.stderr


def test_malformed_rules_are_reported_with_the_line(arbora, words, tmp_path):
    rules = tmp_path / "mine.txt"
    rules.write_text("VERB -> NOUN\nVERB NOUN\n")
    done = arbora("induce", words, "-o", tmp_path / "x.arbora", "--rules", rules, *QUICK)
    assert done.status in (1, 2)
    assert "mine.txt:2" in done.stderr


def test_text_is_read_from_any_file_and_from_stdin(arbora, tmp_path, monkeypatch):
    data = b"\xef\xbb\xbfthe dog sees a cat .\r\na cat sleeps .\r\n" * 10
    classes = ["-p", "rounds=1", "-p", "classes.count=3", "-p", "classes.least_count=2"]
    upper, other = tmp_path / "STORY.TXT", tmp_path / "story"
    upper.write_bytes(data)
    other.write_bytes(data)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(data)))
    models = []
    for number, given in enumerate([[upper], [other, "--format", "text"], ["-", "--format", "text"]]):
        models.append(tmp_path / f"{number}.arbora")
        done = arbora("induce", *given, "-o", models[-1], *classes)
        assert done.status == 0, done.stderr
    assert len({model.read_bytes() for model in models}) == 1
