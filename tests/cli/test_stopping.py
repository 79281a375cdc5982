"""`arbora parse` ends soon after SIGINT or SIGTERM, wherever it is in native code, and leaves no file."""

import signal
import subprocess
import sys
import time
from functools import lru_cache
from itertools import cycle, islice
from pathlib import Path

import pytest

from arbora.data import treebank
from arbora.data.synthetic import generate
from arbora.storage.models import DEFAULT
from arbora.training import train

PATIENCE = 3.0  # seconds from the signal to the end
SMALL = {"tree_bits": 12, "label_bits": 12, "only": "parser", "parameters": {"epochs": 1}}
PRUNED = {**SMALL, "pruner_settings": {"bits": 10, "keep": 4}}
MODELS = {
    "graph": {**PRUNED, "order": 1, "trees": "projective"},
    "graph-2": {**PRUNED, "order": 2, "trees": "projective"},
    "graph-2-crossing": {**PRUNED, "order": 2, "trees": "nonprojective"},
    "cube": {**PRUNED, "parser": "cube"},
    "transition": {**SMALL, "parser": "transition"},
}


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    """Models by name; `english` is the bundled one, which is neural."""
    folder = tmp_path_factory.mktemp("models")

    @lru_cache
    def make(name):
        if name == DEFAULT:
            return name
        parser = train(list(generate(30, seed=1)), list(generate(10, seed=2)), config=MODELS[name]).parser
        parser.save(folder / f"{name}.arbora")
        return folder / f"{name}.arbora"

    return make


@pytest.fixture(scope="module")
def inputs(tmp_path_factory):
    """Treebanks that take far longer than the tests wait: many sentences, and sentences of 2,000 words."""
    folder = tmp_path_factory.mktemp("inputs")
    some = list(generate(300, seed=3))
    rows = [line.split("\t") for s in some for line in s.to_conllu().splitlines() if line[:1].isdigit()]
    numbered = enumerate(islice(cycle(rows), 2000), 1)
    words = [[str(number), *row[1:6], "_", "_", "_", "_"] for number, row in numbered]
    many = "".join(sentence.to_conllu() for sentence in some)
    (folder / "many.conllu").write_text(many * 300)
    (folder / "long.conllu").write_text(("\n".join(map("\t".join, words)) + "\n\n") * 200)
    return folder


def stop(command, folder, number):
    """Send the signal while the command writes to the folder: exit status, seconds to the end, stderr."""
    with subprocess.Popen(
        command,
        stderr=subprocess.PIPE,
        text=True,
        # Where tests run in the background of a shell, Ctrl-C would be ignored.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        end = time.monotonic() + 60
        while not any(folder.iterdir()):
            assert process.poll() is None, process.stderr.read()
            assert time.monotonic() < end
            time.sleep(0.01)
        time.sleep(0.3)
        assert process.poll() is None
        begun = time.monotonic()
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
        return process.returncode, time.monotonic() - begun, err


@pytest.mark.parametrize(
    ("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)], ids=["int", "term"]
)
@pytest.mark.parametrize(
    ("name", "source", "options"),
    [
        ("graph", "long", ["--probabilities"]),
        ("graph-2", "many", []),
        ("graph-2", "long", ["--threads", "2"]),
        ("graph-2-crossing", "long", []),
        ("cube", "many", ["--threads", "2"]),
        ("cube", "long", []),
        ("transition", "many", []),
        ("transition", "long", ["--threads", "2"]),
        (DEFAULT, "many", ["--threads", "2"]),
        (DEFAULT, "long", ["--probabilities"]),
    ],
    ids=lambda value: "".join(value) if isinstance(value, list | str) else None,
)
def test_parsing_stops_and_leaves_nothing(model, inputs, tmp_path, number, status, name, source, options):
    source = inputs / f"{source}.conllu"
    target = tmp_path / "x.conllu"
    command = [sys.executable, "-m", "arbora", "parse", source, "-m", model(name), "-o", target, *options]
    found, seconds, err = stop([*map(str, command)], tmp_path, number)
    assert (found, list(tmp_path.iterdir())) == (status, [])
    assert "error: stopped" in err
    assert "Traceback" not in err
    assert seconds < PATIENCE


@pytest.mark.parametrize("is_ignored", [False, True])
def test_a_closed_terminal_stops_commands_unless_ignored(model, inputs, tmp_path, is_ignored):
    """`nohup` ignores its signal."""
    command = [sys.executable, "-m", "arbora", "parse", inputs / "many.conllu", "-m", model("graph")]
    handler = signal.SIG_IGN if is_ignored else signal.SIG_DFL
    with subprocess.Popen(
        [*map(str, command), "-o", tmp_path / "x.conllu"],
        stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGHUP, handler),
    ) as process:
        while not any(tmp_path.iterdir()):
            time.sleep(0.01)
        process.send_signal(signal.SIGHUP)
        if is_ignored:
            time.sleep(0.5)
            assert process.poll() is None
            process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == (143 if is_ignored else 129)
    assert not any(tmp_path.iterdir())


def test_an_existing_output_survives(model, inputs, tmp_path):
    folder = tmp_path / "out"
    folder.mkdir()
    kept = tmp_path / "kept.conllu"
    treebank.write(generate(1), kept)
    before = kept.read_bytes()
    (folder / "x.conllu").symlink_to(kept)
    command = [sys.executable, "-m", "arbora", "parse", inputs / "many.conllu", "-m", model("graph-2")]
    command += ["-o", folder / "x.conllu"]
    with subprocess.Popen([*map(str, command)], stderr=subprocess.PIPE) as process:
        while not any(path.suffix == ".tmp" for path in tmp_path.iterdir()):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
    assert process.returncode == 143
    assert kept.read_bytes() == before
    assert sorted(path.name for path in tmp_path.iterdir()) == ["kept.conllu", "out"]


SCRIPT = Path(__file__).parents[1] / "fuzz" / "stop_commands.py"


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="needs /proc")
def test_commands_stop_at_any_moment():
    commands = ("parse-text", "parse-corpus", "train-graph", "tune", "convert", "serve")
    options = ("--stops", "1", "--limit", str(PATIENCE), "--commands", *commands)
    done = subprocess.run([sys.executable, SCRIPT, *options], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
