"""`arbora data`, and treebanks by name in the verbs that read them."""

import json
import signal
import subprocess
import sys
import threading
import time

import pytest
from fake_github import FakeGitHub, serving

from arbora.data import treebank
from arbora.data.synthetic import generate
from arbora.parsing.parser import Parser

SMALL = ("--order", 1, "--epochs", 1, "-p", "tree_bits=12", "-p", "label_bits=12")


@pytest.fixture
def github(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found = FakeGitHub()
    files = {}
    for seed, part in enumerate(("train", "dev", "test"), start=1):
        path = tmp_path / "x.conllu"
        treebank.write(generate(30, seed=seed), path)
        files[f"da_ddt-ud-{part}.conllu"] = path.read_bytes()
        path.unlink()
    found.add("UD_Danish-DDT", "r2.14", files)
    found.add("UD_Zulu-New", "r2.14", {"zu_new-ud-test.conllu": files["da_ddt-ud-test.conllu"]})
    with serving(found):
        monkeypatch.setenv("ARBORA_UD_URL", found.url)
        monkeypatch.setenv("ARBORA_DATA", str(tmp_path / "treebanks"))
        yield found


@pytest.fixture
def danish(github, arbora):
    """The Danish treebank on disk."""
    assert arbora("data", "get", "UD_Danish-DDT", "-q").status == 0
    return github


def test_get_shows_the_licence(github, arbora, tmp_path):
    result = arbora("data", "get", "UD_Danish-DDT")
    assert result.status == 0
    title, folder, licence, attribution, then = result.stdout.splitlines()
    assert title.startswith("UD_Danish-DDT r2.14: train 0.0 MB, dev")
    assert folder == f"folder: {tmp_path / 'treebanks' / 'UD_Danish-DDT'}"
    assert licence == "licence: CC BY-SA 4.0"
    assert attribution.startswith("attribution: UD_Danish-DDT r2.14, by Nobody, Norma; Someone, Søren; https")
    assert then == "`arbora train UD_Danish-DDT` trains a parser on it"
    assert "UD_Danish-DDT r2.14: 5 files" in result.stderr
    assert "da_ddt-ud-train.conllu: " in result.stderr


def test_get_of_an_installed_treebank_sends_no_requests(danish, arbora):
    danish.requests.clear()
    result = arbora("data", "get", "UD_Danish-DDT", "--json")
    assert result.status == 0
    assert "is in" in result.stderr
    assert "--replace" in result.stderr
    (manifest,) = json.loads(result.stdout)
    assert (manifest["release"], manifest["licence"]) == ("r2.14", "CC BY-SA 4.0")
    assert danish.requests == []
    assert arbora("data", "get", "UD_Danish-DDT", "--replace", "-q").status == 0
    assert danish.requests != []


def test_get_reports_errors(github, arbora, tmp_path):
    result = arbora("data", "get", "UD_Danish-DTD")
    assert (result.status, result.stdout) == (1, "")
    assert result.stderr == "error: no treebank UD_Danish-DTD; did you mean UD_Danish-DDT?\n"
    result = arbora("data", "get", "danish")
    assert result.status == 2
    result = arbora("data", "get", "UD_Danish-DDT", "--url", "http://example.org")
    assert result.status == 2
    assert "--url" in result.stderr
    (tmp_path / "file").write_text("")
    assert "expected a folder, got a file" in arbora("data", "get", "UD_Danish-DDT", "--data", "file").stderr
    mine = tmp_path / "treebanks" / "UD_Zulu-New"
    mine.mkdir(parents=True)
    result = arbora("data", "get", "UD_Zulu-New")
    assert result.status == 1


def test_a_message_with_a_hint_gets_no_second_one(arbora):
    result = arbora("data", "get", "UD_Foo")
    assert (result.status, result.stderr.count("see `arbora")) == (2, 1)


def test_list(danish, arbora, tmp_path):
    result = arbora("data", "list")
    assert result.status == 0
    heading, first, second = result.stdout.splitlines()
    assert heading.split() == ["treebank", "here", "MB", "repository", "MB"]
    assert first.split()[:2] == ["UD_Danish-DDT", "r2.14"]
    assert first.endswith("2.1  CC BY-SA 4.0")
    assert second.split() == ["UD_Zulu-New", "2.1"]
    assert "2 treebanks, 1 in " in result.stderr
    (row,) = json.loads(arbora("data", "list", "zulu", "--json").stdout)
    assert (row["language"], row["release"], row["repository_bytes"]) == ("Zulu", None, 2 << 20)
    danish.requests.clear()
    (row,) = json.loads(arbora("data", "list", "--installed", "--json").stdout)
    assert (row["name"], row["parts"]) == ("UD_Danish-DDT", ["train", "dev", "test"])
    assert danish.requests == []
    result = arbora("data", "list", "old", "french")
    assert (result.status, result.stdout) == (0, "")
    assert "no treebank with old french in its name" in result.stderr


def test_list_without_net(danish, arbora, monkeypatch):
    danish.faults.append(lambda request: not request.answer(b"", 403))
    result = arbora("data", "list")
    assert result.status == 0
    assert result.stdout.splitlines()[1].startswith("UD_Danish-DDT")
    assert "note: so this lists what is in" in result.stderr


def test_check(danish, arbora, tmp_path):
    folder = tmp_path / "treebanks" / "UD_Danish-DDT"
    assert arbora("data", "check").stdout == "UD_Danish-DDT r2.14: intact\n"
    (folder / "da_ddt-ud-dev.conllu").write_text("changed")
    result = arbora("data", "check", "UD_Danish-DDT")
    assert result.status == 1
    assert "da_ddt-ud-dev.conllu: expected" in result.stdout
    assert "1 treebank damaged; `arbora data get NAME --replace`" in result.stderr
    result = arbora("data", "get", "UD_Danish-DDT")
    assert result.status == 1
    assert "damaged: da_ddt-ud-dev.conllu" in result.stderr
    assert arbora("data", "get", "UD_Danish-DDT", "--replace", "-q").status == 0
    assert arbora("data", "check").status == 0
    (folder / "arbora-manifest.json").unlink()
    assert "no checksums" in arbora("data", "check").stdout
    assert "did you mean UD_Danish-DDT?" in arbora("data", "check", "UD_Danish-DDTT").stderr


def test_an_interrupted_download_resumes(github, tmp_path):
    """A real process, a server that stops in the middle, a real signal."""
    stopped = threading.Event()
    waiting = []

    def stall(request) -> bool:
        if not request.path.endswith("train.conllu") or waiting:
            return False
        content = github.repositories["UD_Danish-DDT"]["r2.14"]["da_ddt-ud-train.conllu"]
        request.answer(content[:500], headers={"ETag": '"x"'}, length=len(content))
        request.wfile.flush()
        waiting.append(request)
        stopped.wait(30)
        return True

    github.faults.append(stall)
    command = [sys.executable, "-m", "arbora", "data", "get", "UD_Danish-DDT"]
    with subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # Where tests run in the background of a shell, Ctrl-C would be ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        hidden = tmp_path / "treebanks" / ".UD_Danish-DDT.partial"
        end = time.monotonic() + 30
        while not any(path.stat().st_size == 500 for path in hidden.glob("*.part")):
            assert time.monotonic() < end
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        stopped.set()
    assert (process.returncode, out) == (130, "")
    assert "stopped by Ctrl-C; the same command resumes the download of UD_Danish-DDT" in err
    assert subprocess.run(command, capture_output=True, check=False).returncode == 0
    assert github.asked("train.conllu")[-1]["Range"] == "bytes=500-"


def test_bars_on_a_terminal(github, run_in_terminal):
    shown = run_in_terminal([sys.executable, "-m", "arbora", "data", "get", "UD_Danish-DDT"])
    assert "licence: CC BY-SA 4.0" in shown


# Treebanks by name


def test_train_by_name(danish, arbora, tmp_path):
    result = arbora("train", "UD_Danish-DDT", *SMALL)
    assert result.status == 0
    assert "LAS" in result.stdout  # so dev was found
    assert "data: UD_Danish-DDT r2.14 (CC BY-SA 4.0)" in result.stdout
    (stored,) = Parser.load(tmp_path / "da_ddt.arbora").about["data"]
    assert stored["name"] == "UD_Danish-DDT r2.14"
    assert stored["licence"] == "CC BY-SA 4.0"
    assert "Nobody, Norma" in stored["attribution"]
    told = arbora("info", "da_ddt.arbora").stdout
    assert (
        "data\tUD_Danish-DDT r2.14\nlicence\tCC BY-SA 4.0\nattribution\tUD_Danish-DDT r2.14, by Nobody"
        in told
    )
    result = arbora("parse", "UD_Danish-DDT/test", "-m", "da_ddt.arbora", "-o", "parsed.conllu")
    assert result.status == 0
    result = arbora("eval", "UD_Danish-DDT/test", "parsed.conllu", "--json")
    assert json.loads(result.stdout)["sentences"] == 30


def test_options_override_the_licence(danish, arbora, synthetic, tmp_path):
    result = arbora(
        "train", synthetic[0], "-o", "m", *SMALL, "--licence", "CC0", "--attribution", "Me", "--json"
    )
    assert json.loads(result.stdout)["data"] == [
        {"name": "train.conllu", "licence": "CC0", "attribution": "Me"}
    ]
    assert Parser.load("m").about["data"][0]["licence"] == "CC0"
    assert arbora("train", synthetic[0], "-o", "m", *SMALL, "-q").status == 0
    assert "data" not in Parser.load("m").about
    file = tmp_path / "treebanks" / "UD_Danish-DDT" / "da_ddt-ud-train.conllu"
    result = arbora("train", file, synthetic[0], "-o", "m", *SMALL, "--json")
    names = [each["name"] for each in json.loads(result.stdout)["data"]]
    assert names == ["UD_Danish-DDT r2.14", "train.conllu"]


def test_wrong_treebank_names_are_rejected(danish, arbora, synthetic, tmp_path):
    for options, status, told in [
        (("train", "UD_Danish-DDTT"), 2, "error: UD_Danish-DDTT: no such file, and no such treebank in"),
        (("train", "UD_Danish-DDTT"), 2, "did you mean UD_Danish-DDT?"),
        (("stats", "Readme.txt"), 2, "Readme.txt: no such file ("),
        (("train", "UD_Zulu-New"), 2, "`arbora data get UD_Zulu-New` downloads it"),
        (("train", "UD_Danish-DDT", synthetic[0]), 2, "missing option '--output'"),
        (("train", "UD_Danish-DDT/train"), 2, "missing option '--output'"),
        (
            ("eval", "UD_Danish-DDT", "x"),
            2,
            "got a treebank; name a part: UD_Danish-DDT/train or UD_Danish-DDT/dev",
        ),
        (("eval", "UD_Danish-DDTT/test", "x"), 2, "did you mean UD_Danish-DDT/test?"),
        (
            ("tune", "UD_Danish-DDT", "--grid", "C=1,2", "--folds", "2"),
            2,
            "--folds has no effect with a dev set",
        ),
    ]:
        result = arbora(*options)
        assert (result.status, result.stdout) == (status, ""), options
        assert told in result.stderr
    assert arbora("data", "get", "UD_Zulu-New", "-q").status == 0
    result = arbora("train", "UD_Zulu-New")
    assert result.status == 1
    assert "UD_Zulu-New: expected a part train" in result.stderr
    (tmp_path / "treebanks" / "UD_Danish-DDT" / "da_ddt-ud-test-b.conllu").write_text("")
    result = arbora("eval", "UD_Danish-DDT/test", "x")
    assert "expected one file, got 2" in result.stderr


def test_stats_and_tune_by_name(danish, arbora):
    found = json.loads(arbora("stats", "UD_Danish-DDT", "--json").stdout)
    assert [file["sentences"] for file in found["files"]] == [30, 30, 30]
    found = json.loads(arbora("stats", "UD_Danish-DDT/dev", "--json").stdout)
    assert len(found["files"]) == 1
    result = arbora("tune", "UD_Danish-DDT", "--grid", "C=0.1", *SMALL, "--json", "-q")
    assert result.status == 0
    assert "las" in json.loads(result.stdout)["trials"][0]["scores"]


def test_a_treebank_without_dev_is_noted(danish, arbora, tmp_path):
    folder = tmp_path / "treebanks" / "UD_Danish-DDT"
    (folder / "da_ddt-ud-dev.conllu").unlink()
    result = arbora("train", "UD_Danish-DDT", *SMALL)
    assert result.status == 0
    assert "note: UD_Danish-DDT has no dev part" in result.stderr
    result = arbora("train", folder, "--dev", "UD_Danish-DDT/test", *SMALL)
    assert result.status == 0
    assert "LAS" in result.stdout


def test_missing_httpx_names_the_extra(tmp_path):
    code = "import sys; sys.modules['httpx'] = None; from arbora.cli.main import run; run()"
    command = [sys.executable, "-c", code, "data", "get", "UD_Danish-DDT", "--data", str(tmp_path / "data")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (1, "")
    assert "pip install 'arbora-nlp[data]'" in result.stderr
