"""`arbora parse IN... -o FOLDER`, and lines that are answered one by one."""

import json
import os
import pty
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from corpus_toys import model, outputs, parse_all, write_corpus

from arbora.data.columns import parse_text
from arbora.distributed import CorpusOptions


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "m.arbora"
    model().save(path)
    return path


@pytest.fixture
def parse(arbora, saved, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: arbora("parse", *arguments, "-m", saved)


def test_a_folder_becomes_a_folder(parse, tmp_path):
    write_corpus("in")
    found = parse("in", "-o", "out", "--shard-size", "700", "--workers", "2")
    assert (found.status, found.stdout) == (0, "")
    parse_all("in", "expected", options=CorpusOptions(shard_size=700))
    assert outputs("out") == outputs("expected")
    again = parse("in", "-o", "out/", "--shard-size", "700")
    assert again.status == 0
    assert json.loads(Path("out/_report.json").read_text())["parsed"] == 0


def test_failures_give_status_1_until_they_are_mended(parse):
    Path("a.txt").write_bytes(b"\xff")
    Path("b.txt").write_text("Ann calls Bob.")
    assert parse("a.txt", "b.txt", "-o", "out").status == 1
    assert parse("a.txt", "b.txt", "-o", "out").status == 1
    assert set(outputs("out")) == {"b.txt.conllu"}
    Path("a.txt").write_text("x")
    assert parse("a.txt", "b.txt", "-o", "out", "--retry-failed").status == 0


def test_rows_and_formats(parse):
    Path("r.jsonl").write_text('{"name": "n1", "body": "Ann calls Bob."}\n')
    options = ("--text-column", "body", "--id-column", "name", "--format", "json", "--probabilities")
    assert parse("r.jsonl", "-o", "out", *options).status == 0
    rows = list(map(json.loads, Path("out/r.jsonl.jsonl").read_text().splitlines()))
    assert {row["document"] for row in rows} == {"n1"}
    assert all(0 < row["tree_probability"] <= 1 for row in rows)


@pytest.mark.parametrize(
    "arguments",
    [
        ("a.txt", "b.txt"),
        ("a.txt", "b.txt", "-o", "b.txt"),
        ("a.txt", "b.txt", "-o", "all.parquet"),
        ("a.txt", "b.txt", "-o", "all.conllu.gz"),
        ("a.txt", "--workers", "2"),
        ("a.txt", "-o", "x.conllu", "--retry-failed"),
        ("a.txt", "b.txt", "-o", "out", "--kbest", "2"),
        ("a.txt", "b.txt", "-o", "out", "--threads", "2"),
        ("a.txt", "b.txt", "-o", "out", "--format", "svg"),
        ("a.txt", "b.txt", "-o", "out", "--engine", "slurm"),
        ("a.txt", "b.txt", "-o", "out", "--engine", "local", "--address", "auto"),
        ("a.txt", "-", "-o", "out"),
        ("a.txt", "Ann calls Bob.", "-o", "out"),
        ("a.txt", "--format", "parquet"),
    ],
    ids=" ".join,
)
def test_options_that_do_not_fit_are_rejected(parse, arguments):
    Path("a.txt").write_text("Ann calls Bob.")
    Path("b.txt").write_text("Ann calls Bob.")
    assert parse(*arguments).status == 2
    assert {path.name for path in Path().iterdir()} == {"a.txt", "b.txt"}


def test_unknown_inputs_are_data_errors(parse):
    Path("a.txt").write_text("Ann calls Bob.")
    assert parse("a.txt", "missing", "-o", "out").status == 1


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_stopped_run_goes_on_later(parse, saved, number, status, tmp_path):
    (tmp_path / "in").mkdir()
    for name in range(30):
        (tmp_path / "in" / f"{name}.txt").write_text("Ann calls the dogs. " * 2000)
    command = [sys.executable, "-m", "arbora", "parse", "in", "-o", "out", "-m", str(saved), "--quiet"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        end = time.monotonic() + 60
        while not list(tmp_path.glob("out/*.conllu")) and time.monotonic() < end:
            time.sleep(0.02)
        process.send_signal(number)
        assert "same command" in process.communicate()[1]
    assert process.returncode == status
    assert list(Path("out").rglob(".*")) == []
    before = len(outputs("out"))
    assert 0 < before < 30
    assert parse("in", "-o", "out").status == 0
    assert len(outputs("out")) == 30
    assert json.loads(Path("out/_report.json").read_text())["parsed"] == 30 - before


def test_lines_are_answered_as_they_come(saved):
    command = [sys.executable, "-m", "arbora", "parse", "-", "--lines", "-q", "-m", str(saved)]
    environment = {**os.environ, "PYTHONUNBUFFERED": ""}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
    ) as process:
        for number, line in enumerate(["Ann calls the dogs.", "Bob helps", "Ann wants trees!"], start=1):
            process.stdin.write(f"{line}\n")
            process.stdin.flush()
            answer = []
            while (row := process.stdout.readline()).strip():
                answer.append(row)
            assert f"# sent_id = {number}\n" in answer
        process.stdin.close()
        assert process.stdout.read() == ""
    assert process.returncode == 0


def test_progress_of_a_pipe_begins_before_its_first_megabyte(saved, tmp_path):
    leader, follower = pty.openpty()
    command = [sys.executable, "-m", "arbora", "parse", "-", "-m", str(saved), "-o", tmp_path / "x.conllu"]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100", "NO_COLOR": ""}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stderr=follower, env=environment) as process:
        os.close(follower)
        process.stdin.write(b"Ann calls the dogs.\n")
        process.stdin.flush()
        shown = b""
        while b"20 bytes read" not in shown:
            shown += os.read(leader, 4096)
        assert b"<stdin>" in shown
        process.stdin.close()
        with suppress(OSError):  # the end, on Linux
            while data := os.read(leader, 4096):
                shown += data
    os.close(leader)
    assert process.returncode == 0
    assert b"1 sentence" in shown
    assert len(parse_text((tmp_path / "x.conllu").read_text())) == 1


def test_lines_do_not_depend_on_how_they_come(parse, saved):
    text = "Ann calls the dogs. Bob\n\nhelps Ann\r\nBob calls\n \nthe end"
    Path("x.txt").write_bytes(text.encode())
    expected = parse("x.txt", "--lines").stdout
    command = [sys.executable, "-m", "arbora", "parse", "-", "--lines", "-q", "-m", str(saved)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for start in range(0, len(text), 7):
            process.stdin.write(text[start : start + 7].encode())
            process.stdin.flush()
        process.stdin.close()
        found = process.stdout.read().decode()
    assert found.count("\n\n\n") == 2  # answers to empty lines
    assert found.replace("\n\n\n", "\n\n") == expected


@pytest.mark.parametrize("form", ["conllu", "json"])
def test_an_empty_line_ends_the_answer(saved, form):
    command = [
        sys.executable,
        "-m",
        "arbora",
        "parse",
        "-",
        "--lines",
        "-q",
        "-m",
        str(saved),
        "--format",
        form,
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        for text, count in (("Ann calls. Bob calls the dogs.", 2), ("", 0), ("Bob helps.", 1)):
            process.stdin.write(f"{text}\n\n" if text else "\n")
            process.stdin.flush()
            answer, blank = "", False
            while (line := process.stdout.readline()) != "\n" or (form == "conllu" and answer and not blank):
                answer += line
                blank = line == "\n"
            assert answer.count('"words"' if form == "json" else "# text") == count
        process.stdin.close()
        assert process.stdout.read() == ""
