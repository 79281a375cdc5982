"""`arbora train`: models, checkpoints, interruption, and errors."""

import json
import os
import re
import resource
import signal
import subprocess
import sys
from xml.etree import ElementTree

import pipeline_toys
import pytest

import arbora as package
from arbora.cli.progress import TerminalProgress
from arbora.cli.training import SHARED
from arbora.data.synthetic import generate
from arbora.data.treebank import read, write
from arbora.pipeline.pipeline import Pipeline
from arbora.registry import learners
from arbora.settings import parameters_of
from arbora.storage.model_file import read_model, write_model
from arbora.training.config import TrainConfig
from arbora.web import plots

SMALL = ("--only", "parser", "-p", "tree_bits=12", "-p", "label_bits=12", "-p", "pruner_settings.bits=10")
ROW = "{}\tw{}\t_\tN\t_\t_\t{}\t{}\t_\t_\n"


@pytest.fixture
def train(arbora, synthetic, tmp_path, monkeypatch):
    """`arbora train` on the synthetic treebanks, to m.arbora in a folder of its own."""
    monkeypatch.chdir(tmp_path)

    def call(*more, dev=True):
        judged = ("--dev", synthetic[1]) if dev else ()
        return arbora("train", synthetic[0], *judged, "-o", "m.arbora", *SMALL, *more)

    return call


def stop_at(monkeypatch, stage, epoch, *, within=False):
    """Ctrl-C when an epoch of a stage ends, or in the midst of it."""
    report_epoch, advance = TerminalProgress.report, TerminalProgress.advance
    done = {"epoch": 0, "asked": 0}

    def stopping_end(self, report):
        report_epoch(self, report)
        done["epoch"] = report.epoch.number if report.stage == stage else 0
        done["asked"] = 0
        if not within and done["epoch"] == epoch:
            raise KeyboardInterrupt

    def stopping_advance(self, steps=1):
        advance(self, steps)
        done["asked"] += steps
        if within and done["epoch"] == epoch - 1 and done["epoch"] and done["asked"] > 10:
            raise KeyboardInterrupt

    monkeypatch.setattr(TerminalProgress, "report", stopping_end)
    monkeypatch.setattr(TerminalProgress, "advance", stopping_advance)


def test_a_model_with_its_table_of_epochs(train, synthetic, tmp_path):
    result = train("--epochs", 3)
    assert result.status == 0
    rows = [line.split() for line in result.stdout.splitlines()]
    assert rows[0] == ["stage", "epoch", "loss", "updates", "seconds", "dev"]
    assert [row[0] for row in rows[1:12]] == ["labels"] * 5 + ["pruner"] * 3 + ["tree"] * 3
    assert [row[-1] for row in rows[1:12]].count("*") == 3
    assert "on dev" in result.stdout
    assert "calibrated" not in result.stdout
    assert "tree epoch 2/3: loss" in result.stderr
    assert "left" in result.stderr
    assert "\x1b" not in result.stdout + result.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["m.arbora"]  # no checkpoint is left
    parser = package.load("m.arbora")
    gold = list(read(synthetic[1]))
    parsed = parser.parse(gold)
    assert package.evaluate(gold, parsed, subtypes=True).las == pytest.approx(parser.about["dev"]["las"])
    assert parser.about["dev"]["las"] > 80
    assert parser.parser.about["config"]["trees"] == "nonprojective"  # resolved


def test_quiet_and_json(train):
    result = train("--order", 1, "--epochs", 2, "--quiet", "--json", "--seed", 7)
    assert (result.status, result.stderr) == (0, "")
    found = json.loads(result.stdout)
    assert found["config"]["seed"] == found["config"]["parameters"]["seed"] == 7
    assert found["config"]["order"] == 1
    assert found["dev"].keys() == {"las", "uas"}
    assert [epoch["epoch"] for epoch in found["epochs"] if epoch["stage"] == "tree"] == [1, 2]
    assert all(epoch["seconds"] >= 0 for epoch in found["epochs"])
    result = train("--order", 1, "--epochs", 1, "--quiet")
    assert result == (0, "", "")


def test_without_dev_the_last_epoch_is_kept(train):
    result = train("--order", 1, "--epochs", 3, "--labels", "none", dev=False)
    assert result.status == 0
    assert "epoch 3 of the tree stage: not evaluated without --dev" in result.stdout
    assert result.stdout.count("probabilities: not calibrated, ") == 1
    assert read_model("m.arbora").metadata["about"]["dev"] == {}


def test_patience_ends_training_and_the_best_epoch_is_kept(train):
    found = json.loads(train("--order", 1, "--epochs", 50, "--patience", 1, "--json").stdout)
    tree = [epoch for epoch in found["epochs"] if epoch["stage"] == "tree"]
    assert len(tree) == found["best_epoch"] + 1 < 50
    assert found["dev"]["las"] == max(epoch["dev"]["las"] for epoch in tree)


def test_several_treebanks_are_one(arbora, train, synthetic, tmp_path):
    sentences = list(read(synthetic[0]))
    write(sentences[:30], tmp_path / "a.conllu")
    write(sentences[30:], tmp_path / "b.conllu.gz")
    assert train("--order", 1, "--epochs", 2, "-q").status == 0
    parts = arbora(
        "train", "a.conllu", "b.conllu.gz", "--dev", synthetic[1], "-o", "parts.arbora", *SMALL,
        "--order", 1, "--epochs", 2, "-q",
    )  # fmt: skip
    assert parts.status == 0
    assert (tmp_path / "parts.arbora").read_bytes() == (tmp_path / "m.arbora").read_bytes()


def test_options_override_a_config_file(arbora, train, tmp_path):
    (tmp_path / "x.toml").write_text(
        'order = 1\nlearner = "mira"\nparameters = {C = 0.5, epochs = 2}\npatience = 9\n'
    )
    found = json.loads(train("--config", "x.toml", "-p", "C=0.25", "--json", "-q").stdout)["config"]
    assert (found["learner"], found["patience"]) == ("mira", 9)
    assert found["parameters"] == {"epochs": 2, "seed": 0, "C": 0.25, "k": 1}
    found = json.loads(train("--config", "x.toml", "--learner", "perceptron", "--epochs", 1, "--json").stdout)
    assert found["config"]["parameters"] == {"epochs": 1, "seed": 0}


@pytest.mark.parametrize("learner", ["one_slack", "pegasos"])
def test_other_learners(train, learner):
    result = train("--learner", learner, "--epochs", 2, "--order", 1, "--labels", "joint")
    assert result.status == 0
    assert ("gap" in result.stdout.partition("\n")[0]) == (learner == "one_slack")


def test_a_loss_chooses_the_learner(train):
    result = train("--loss", "crf", "--epochs", 1, "--order", 1, "--json", "-q")
    assert result.status == 0
    config = json.loads(result.stdout)["config"]
    assert (config["loss"], config["learner"]) == ("crf", "adagrad")
    for options in (("--loss", "crff"), ("--parser", "grahp"), ("--parser", "ensemble")):
        assert train(*options).status == 2


def test_one_and_two_threads_give_the_same_bytes(train, tmp_path):
    found = []
    for threads in (1, 2):
        assert train("--epochs", 2, "-q", "--threads", threads).status == 0
        found.append((tmp_path / "m.arbora").read_bytes())
    assert found[0] == found[1]


@pytest.mark.parametrize(
    ("stage", "epoch", "within"),
    [("labels", 2, False), ("pruner", 1, False), ("tree", 1, False), ("tree", 3, False), ("tree", 3, True)],
)
def test_resuming_gives_the_same_bytes(train, tmp_path, monkeypatch, stage, epoch, within):
    assert train("--epochs", 4).status == 0
    whole = (tmp_path / "m.arbora").read_bytes()
    (tmp_path / "m.arbora").unlink()
    with monkeypatch.context() as patch:
        stop_at(patch, stage, epoch, within=within)
        result = train("--epochs", 4)
    assert result.status == 130
    assert "stopped by Ctrl-C" in result.stderr
    assert (tmp_path / "m.arbora").exists() == (stage == "tree")
    assert (tmp_path / "m.arbora.checkpoint").exists()
    if stage == "tree":
        assert "m.arbora holds the best so far, --resume continues to the end" in result.stderr
        assert package.load("m.arbora").parse([["a", "b"]])[0].heads
    result = train("--epochs", 4, "--resume")
    assert result.status == 0
    assert (tmp_path / "m.arbora").read_bytes() == whole
    assert [path.name for path in tmp_path.iterdir()] == ["m.arbora"]


def test_resuming_a_finished_training_changes_nothing(train, tmp_path, monkeypatch):
    options = ("--order", 1, "--epochs", 50, "--patience", 1)
    assert train(*options).status == 0
    whole = (tmp_path / "m.arbora").read_bytes()
    with monkeypatch.context() as patch:
        patch.setattr("arbora.pipeline.pipeline.Pipeline.save", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train(*options)
    assert train(*options, "--resume").status == 0
    assert (tmp_path / "m.arbora").read_bytes() == whole


def test_checkpoints_of_other_trainings_are_rejected(arbora, train, tmp_path, monkeypatch, synthetic):
    with monkeypatch.context() as patch:
        stop_at(patch, "tree", 1)
        assert train("--epochs", 3).status == 130
    result = train("--epochs", 3, "--resume", "--seed", 1)
    assert result.status == 1
    assert "m.arbora.checkpoint: the checkpoint is of another training: " in result.stderr
    assert "seed was 0, now it is 1; " in result.stderr
    other = arbora("train", synthetic[1], "-o", "m.arbora", *SMALL, "--epochs", 3, "--resume")
    assert "the treebanks have changed" in other.stderr
    assert "will be replaced; --resume would continue it" in train("--epochs", 1).stderr
    assert (
        "no m.arbora.checkpoint: training starts from the beginning"
        in train("--epochs", 1, "--resume").stderr
    )


def test_a_share_of_the_treebank_is_dev(train, tmp_path):
    found = json.loads(train("--epochs", 2, "--order", 1, "--dev", "20%", "--json", dev=False).stdout)
    assert found["dev"]["las"] > 0
    refused = train("--dev", "90%", dev=False)
    assert refused.status == 2


@pytest.mark.parametrize(
    ("number", "name", "status"), [(signal.SIGINT, "Ctrl-C", 130), (signal.SIGTERM, "SIGTERM", 143)]
)
def test_a_signal_keeps_the_best_so_far(synthetic, tmp_path, number, name, status):
    command = [sys.executable, "-m", "arbora", "train", *map(str, [synthetic[0], "--dev", synthetic[1]])]
    command += ["-o", "m.arbora", *SMALL, "--order", "1", "--epochs", "100000", "--patience", "0"]
    with subprocess.Popen(
        command,
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:
        told = ""
        while "tree epoch 2/" not in told:
            told = process.stderr.readline()
            assert told
        process.send_signal(number)
        out, err = process.communicate(timeout=60)
    assert process.returncode == status
    assert f"error: stopped by {name}; m.arbora holds the best so far" in err
    assert "*" in out
    assert package.load(tmp_path / "m.arbora").about["dev"]["las"] > 50
    assert (tmp_path / "m.arbora.checkpoint").exists()


def test_compact_reports_its_cost(train, tmp_path, synthetic):
    found = json.loads(train("--epochs", 2, "--full", "--json").stdout)
    assert found["compact"] is None
    size = found["bytes"]
    found = json.loads(train("--epochs", 2, "--json").stdout)
    cost = found["compact"] and found["compact"]["before"]["las"] - found["compact"]["after"]["las"]
    assert found["bytes"] < size if cost is not None and cost < 0.05 else cost is None
    result = train("--epochs", 2, "--compact")
    assert re.search(
        r"compact: before LAS .*, after LAS .* \(LAS [+-]\d\.\d\d, UAS [+-]\d\.\d\d\)", result.stdout
    )
    found = json.loads(train("--epochs", 2, "--compact", "--json").stdout)
    assert found["bytes"] < size
    gold = list(read(synthetic[1]))
    score = package.evaluate(gold, package.load("m.arbora").parse(gold), subtypes=True)
    assert score.las == pytest.approx(found["compact"]["after"]["las"])
    assert found["dev"] == found["compact"]["after"]
    result = train("--epochs", 1, "--order", 1, "--compact", dev=False)
    assert "compact: the cost is unknown without --dev" in result.stdout


def test_the_learning_curve(train, tmp_path):
    assert train("--epochs", 2, "--order", 1, "-q", "--plot", "c.svg").status == 0
    ElementTree.parse(tmp_path / "c.svg")
    first = (tmp_path / "c.svg").read_bytes()
    assert b"LAS" in first
    assert train("--epochs", 2, "--order", 1, "-q", "--plot", "c.svg").status == 0
    assert (tmp_path / "c.svg").read_bytes() == first
    assert train("--epochs", 2, "--order", 1, "-q", "--plot", "c.png", dev=False).status == 0
    assert (tmp_path / "c.png").read_bytes().startswith(b"\x89PNG")


def test_missing_matplotlib_is_reported_before_training(train, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    result = train("--plot", "c.svg")
    assert result.status == 2
    assert "pip install 'arbora-nlp[plot]'" in result.stderr
    with pytest.raises(package.InputError):
        plots.draw_curve([], "c.svg")
    assert list(tmp_path.iterdir()) == []


# Bad input


def test_wrong_settings_are_status_2(train, arbora, synthetic, tmp_path):
    (tmp_path / "bad.toml").write_text("ordr = 1\n")
    (tmp_path / "range.toml").write_text("parameters = {C = -1.0}\n")
    for options, told in {
        ("-p", "CC=1"): "unknown setting 'CC'; did you mean 'C'?",
        ("-p", "C=-1"): "C: expected a number > 0",
        ("-p", "C"): "expected NAME=VALUE, got 'C'",
        ("-p", "C=1", "-p", "C=2"): "-p C: given twice",
        ("-p", "seed=1", "--seed", "2"): "given twice",
        ("-p", "order=3"): 'order: expected 1 or 2 with parser = "graph", got 3',
        ("-p", "keep=many"): "-p keep=many: expected a whole number, got 'many'",
        ("--learner", "pegasus"): "unknown learner 'pegasus'; did you mean 'pegasos'?",
        ("--order", "4"): "invalid value for '--order'",
        ("--config", "bad.toml"): "bad.toml: unknown setting 'ordr'; did you mean 'order'?",
        ("--config", "range.toml"): "C: expected a number > 0",
        ("--config", "none.toml"): "none.toml: no such file",
        ("--plot", "curve.pdf"): "expected a name that ends in .svg or .png",
        ("--learner", "mira", "-p", "k=3"): "mira needs kbest",
    }.items():
        result = train(*options)
        assert (result.status, result.stdout) == (2, ""), options
        assert told in result.stderr
        assert result.stderr.splitlines()[-1].endswith("(see `arbora train --help`)")
    for options, told in {
        ("no.conllu", "-o", "m"): "no.conllu: no such file",
        (synthetic[0], "-o", "-"): "models are not written to stdout",
        (synthetic[0], "-o", "no/such/m"): "no such directory",
        (synthetic[0],): "missing option",
        (synthetic[0], "-o", "m", "-p", "tree_bits=99"): "tree_bits: expected a whole number >= 10 and <= 28",
        ("-", "--dev", "-", "-o", "m"): "only one of the files",
    }.items():
        result = arbora("train", *options)
        assert result.status == 2
        assert told in result.stderr
    assert not list(tmp_path.glob("m*"))


def test_unsuitable_treebanks_are_status_1(train, arbora, synthetic, tmp_path):
    train_file, dev_file = synthetic
    files = {
        "empty": "",
        "headless": ROW.format(1, 1, 0, "root") + ROW.format(2, 2, "_", "_") + "\n",
        "broken": ROW.format(1, 1, 7, "root") + "\n",
        "bare": re.sub(r"^(\d+\t\S+)\t\S+\t\S+", r"\1\t_\t_", dev_file.read_text(), flags=re.MULTILINE),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text)
    for options, told in {
        ("empty",): "empty: the treebank to train on has no words",
        ("headless",): "headless:2: HEAD: expected a head for every word, got `_`",
        ("headless", train_file): "headless:2: HEAD",
        ("broken",): "broken:1: head out of range: expected a number from 0 to 1, got 7 (--lenient",
        (train_file, "--dev", "empty"): "empty: the dev treebank has no words",
        (train_file, "--dev", "headless"): "headless:2: HEAD",
        (train_file, "--dev", "bare"): "bare: LEMMA: ",
        ("broken", "--lenient"): "broken: the treebank to train on has no words",
    }.items():
        result = arbora("train", *options, "-o", "m", *SMALL)
        assert (result.status, result.stdout) == (1, ""), options
        assert f"error: {told}" in result.stderr
    assert not list(tmp_path.glob("m*"))


def test_a_label_that_only_dev_has_is_noted(arbora, synthetic, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "dev.conllu").write_text(synthetic[1].read_text().replace("\tobl\t", "\tvocative\t"))
    result = arbora("train", synthetic[0], "--dev", "dev.conllu", "-o", "m", *SMALL, "--epochs", 1)
    assert result.status == 0
    assert "note: dev.conllu: labels that are not in train count as wrong: vocative" in result.stderr


def test_a_full_disk_leaves_nothing(synthetic, tmp_path):
    command = [
        sys.executable,
        "-B",
        "-m",
        "arbora",
        "train",
        *map(str, [synthetic[0], "--dev", synthetic[1]]),
    ]
    command += ["-o", "m.arbora", *SMALL, "--order", "1", "--epochs", "2"]
    result = subprocess.run(
        command,
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (8192, 8192)),
    )
    assert result.returncode == 1
    assert (
        "note: no checkpoint after epoch 1: m.arbora.checkpoint: the model could not be saved"
        in result.stderr
    )
    *_, told = result.stderr.splitlines()
    assert told.startswith("error: m.arbora: the model could not be saved (File too large); make room for ")
    assert list(tmp_path.iterdir()) == []


def test_an_old_model_survives_a_full_disk_and_devices_get_no_checkpoint(train, arbora, synthetic):
    result = arbora("train", synthetic[0], "-o", "/dev/full", *SMALL, "--order", 1, "--epochs", 1)
    assert result.status == 1
    assert "error: /dev/full: the model could not be saved (No space left on device)" in result.stderr
    assert not os.path.exists("/dev/full.checkpoint")  # noqa: PTH110
    result = arbora("train", synthetic[0], "-o", "/dev/full", *SMALL, "--resume")
    assert result.status == 2


def test_help_shows_options_and_examples(arbora):
    for verb in ("train", "parse", "tune"):
        result = arbora(verb, "--help")
        assert "Examples" in result.stdout
        assert "--threads" in result.stdout


def test_help_and_defaults_of_options_are_those_of_the_settings(arbora, monkeypatch):
    monkeypatch.setenv("COLUMNS", "900")
    shown = {
        verb: "".join(arbora(verb, "--help").stdout.replace("│", "").split()) for verb in ("train", "tune")
    }
    for declared in parameters_of(TrainConfig):
        if declared.name in SHARED.split():
            default = "" if declared.default is None else f" Default: {declared.default}."
            text = f"{declared.help}.{default}".replace("`", "").replace(" ", "")[1:]
            assert all(text in each for each in shown.values())
    assert f"mostly{learners.create('mira').epochs};50fornetworks." in shown["train"]


def test_bars_on_a_terminal(synthetic, tmp_path, run_in_terminal):
    command = [sys.executable, "-m", "arbora", "train", *map(str, [synthetic[0], "--dev", synthetic[1]])]
    command += ["-o", str(tmp_path / "m"), *SMALL, "--order", "1", "--epochs", "2"]
    shown = run_in_terminal(command, COLUMNS="150")
    assert all(text in shown for text in ("tree   epoch 2/2", "ETA", "last: LAS", "best: LAS"))
    plain = run_in_terminal(command, NO_COLOR="1")
    assert "\x1b" not in plain
    assert "tree epoch 2/2: loss" in plain


def test_bars_fit_in_eighty_columns(train_all, run_in_terminal):
    """Bars and tables of a training of all parts, and a table that is too wide for any line."""
    files = ["train", "train.conllu", "--dev", "dev.conllu", "-o", "m", "--config", "small.toml"]
    shown = run_in_terminal([sys.executable, "-m", "arbora", *files, "--epochs", "2"], COLUMNS="80")
    assert "…" not in shown
    assert "best 1" in shown or "best 9" in shown
    lines = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", line) for line in re.split(r"[\r\n]+", shown)]
    (header,) = (line for line in lines if line.startswith("stage "))
    assert header.split() == ["stage", "epoch", "loss", "updates", "seconds", "dev"]
    assert [
        line for line in lines if line.startswith("tree ") and "UAS" in line and line.rstrip().endswith("*")
    ]
    many = [*files, "--only", "parser", "--order", "1", "--learner", "log_linear", "--epochs", "2"]
    wide = run_in_terminal([sys.executable, "-m", "arbora", *many], COLUMNS="60")
    assert re.search(r"stage +epoch +loss +updates +objective +gradient +passes +seconds +dev\n", wide)


# Models as files


def test_unreadable_and_newer_models_are_rejected(arbora, model, synthetic, tmp_path):
    file = read_model(model)
    newer, other = tmp_path / "newer", tmp_path / "other"
    newer.write_bytes(model.read_bytes().replace(b'\\"format\\":1', b'\\"format\\":9'))
    write_model(other, {}, {"kind": "something"})
    for path, told in {
        newer: "written by a newer version of Arbora",
        other: "expected a parser, as `arbora train` writes it, got 'something'; the file is damaged",
        synthetic[0]: "a text file",
    }.items():
        result = arbora("parse", synthetic[1], "-m", path, "-o", tmp_path / "out")
        assert (result.status, result.stdout) == (1, "")
        assert result.stderr.startswith(f"error: {path}: ")
        assert told in result.stderr
        assert not (tmp_path / "out").exists()
    assert (file.metadata["kind"], file.metadata["search"]) == ("parser", "graph")
    assert arbora("parse", synthetic[1], "-m", "no-model").status == 2


def test_another_learner_keeps_common_parameters(train, tmp_path):
    (tmp_path / "p.toml").write_text("order = 1\nparameters = {C = 0.5, epochs = 2}\n")
    for given in (("--learner", "mira"), ("-p", "learner=mira")):
        result = train("--config", "p.toml", *given, "--json", "--quiet")
        parameters = json.loads(result.stdout)["config"]["parameters"]
        assert (parameters["epochs"], parameters["C"], result.stderr) == (2, 0.5, "")
    result = train("--config", "p.toml", "--learner", "perceptron", "--json", "--quiet")
    assert json.loads(result.stdout)["config"]["parameters"]["epochs"] == 2
    assert result.stderr == (
        "warning: perceptron has no parameter C: the values for passive_aggressive are ignored\n"
    )
    result = train("--epochs", 1, "-p", "learner=mira", "--order", 1, "--json")
    assert json.loads(result.stdout)["config"]["parameters"]["epochs"] == 1
    assert "unknown setting 'C'" in train("--learner", "perceptron", "-p", "C=1").stderr


def test_train_never_overwrites_an_input(arbora, synthetic, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, path in zip(("train.conllu", "dev.conllu"), synthetic, strict=True):
        (tmp_path / name).write_bytes(path.read_bytes())
    (tmp_path / "c.toml").write_text("order = 1\n")
    (tmp_path / "link").symlink_to("train.conllu")
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    for output in ("train.conllu", "dev.conllu", "c.toml", "link", "../" + tmp_path.name + "/dev.conllu"):
        result = arbora("train", "train.conllu", "--dev", "dev.conllu", "--config", "c.toml", "-o", output)
        assert result.status == 2
        assert "the output is also an input" in result.stderr
    result = arbora("convert", "train.conllu", "-o", "link")
    assert (result.status, "the output is also an input" in result.stderr) == (2, True)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_lenient_skips_sentences_without_heads_or_labels(arbora, synthetic, tmp_path):
    path = tmp_path / "train.conllu"
    whole = synthetic[0].read_text()
    headless = "".join(ROW.format(i, i, "_", "_") for i in (1, 2)) + "\n"
    bare = ROW.format(1, 1, 0, "_") + "\n"
    path.write_text(headless + whole + bare)
    options = (*SMALL, "--order", 1, "--epochs", 1, "-q", "-o", tmp_path / "m.arbora")
    result = arbora("train", path, *options)
    assert (result.status, "(--lenient skips such sentences)" in result.stderr) == (1, True)
    result = arbora("train", path, *options, "--lenient")
    assert result.status == 0
    assert f"warning: {path}: heads or labels are missing in 2 sentences" in result.stderr
    assert f"{path}: 2 sentences skipped" in result.stderr
    assert "1 sentence skipped" in arbora("train", path, *options, "--lenient", "--labels", "none").stderr
    path.write_text(whole + bare)
    result = arbora("train", path, *options)
    assert (result.status, "--labels none" in result.stderr) == (1, True)


def test_dev_that_is_also_train_is_a_warning(arbora, synthetic, tmp_path):
    options = (*SMALL, "--order", 1, "--epochs", 1, "-o", tmp_path / "m.arbora")
    result = arbora("train", synthetic[0], "--dev", synthetic[0], *options, "-q")
    assert (result.status, f"warning: --dev {synthetic[0]} is also TRAIN" in result.stderr) == (0, True)
    result = arbora("train", synthetic[0], "--dev", synthetic[1], *options)
    assert "warning" not in result.stderr
    assert "note: trees: " in result.stderr
    (tmp_path / "c.toml").write_text("epochs = 2\n")
    result = arbora("train", synthetic[0], *options, "--config", tmp_path / "c.toml")
    assert (result.status, "did you mean parameters.epochs?" in result.stderr) == (2, True)


def test_the_report_says_whether_las_has_subtypes(arbora, synthetic, tmp_path):
    train_file, options = tmp_path / "t.conllu", (*SMALL, "--order", 1, "--epochs", 1)
    train_file.write_text(synthetic[0].read_text().replace("\tobl\t", "\tobl:tmod\t"))
    call = ("--dev", synthetic[1], "-o", tmp_path / "m.arbora", *options)
    assert "(LAS with subtypes, as in `arbora eval --subtypes`)" in arbora("train", train_file, *call).stdout


def test_an_unknown_setting_is_a_short_error(arbora, synthetic):
    result = arbora("train", synthetic[0], "-o", "m.arbora", "-p", "xyzzy=1")
    assert result.status == 2
    assert "arbora list settings" in result.stderr
    assert len(result.stderr) < 200


@pytest.mark.parametrize(
    ("given", "value"), [(("--epochs", 0), "0"), (("--epochs=0",), "0"), (("--epochs", "three"), "three")]
)
def test_bad_numbers_are_reported_with_their_values(arbora, synthetic, given, value):
    result = arbora("train", synthetic[0], "-o", "m.arbora", *given)
    assert result.status == 2
    assert "--epochs" in result.stderr
    assert re.search(rf"\b{value}\b", result.stderr)


def test_unknown_parsers_are_compared_with_those_that_can_be_trained(arbora, synthetic):
    result = arbora("train", synthetic[0], "-o", "m.arbora", "--parser", "inducd")
    assert result.status == 2
    assert "did you mean" not in result.stderr
    assert "known: graph, cube, transition, exact" in result.stderr


def test_learners_of_a_loss_are_sent_to_a_parser_that_has_one(arbora, synthetic):
    result = arbora("train", synthetic[0], "-o", "m.arbora", "--learner", "adamw")
    assert result.status == 2
    assert "--parser exact" in result.stderr


# ---------------------------------------------------------------- all parts


@pytest.fixture
def train_all(arbora, tmp_path, monkeypatch):
    """`arbora train` of all parts on small treebanks, to m.arbora in a folder of its own."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.conllu").write_text(pipeline_toys.conllu(40))
    (tmp_path / "dev.conllu").write_text(pipeline_toys.conllu(15, 1))
    (tmp_path / "small.toml").write_text(
        "tree_bits = 10\nlabel_bits = 10\norder = 1\nfolds = 2\nsegmenter = {bits = 10, epochs = 3}\n"
        "lemmatizer = {bits = 10, parameters = {C = 0.1, epochs = 3}}\n"
        "tagger.upos = {bits = 10, parameters = {C = 0.1, epochs = 3}}\n"
        "tagger.morphology = {bits = 10, parameters = {C = 0.1, epochs = 2}}\n"
    )
    given = ("train", "train.conllu", "--dev", "dev.conllu", "-o", "m.arbora", "--config", "small.toml")
    return lambda *more: arbora(*given, *more)


STAGES = ["segmenter", "tags", "morphology", "lemmas", "labels", "pruner", "tree"]


def test_the_report_of_all_parts(train_all, tmp_path):
    result = train_all("--epochs", 3, "--plot", "curve.svg", "--licence", "CC0-1.0")
    assert result.status == 0
    header, *rows = (line.split() for line in result.stdout.partition("\n\n")[0].splitlines())
    assert header == ["stage", "epoch", "loss", "updates", "seconds", "dev"]
    scores = [" ".join(row[5:]).rstrip(" *") for row in rows]
    for stage, first in {"segmenter": "WORDS", "morphology": "MORPHOLOGY", "tree": "LAS"}.items():
        assert next(text for row, text in zip(rows, scores, strict=True) if row[0] == stage).startswith(first)
    assert list(dict.fromkeys(row[0] for row in rows)) == STAGES
    assert [row[0] for row in rows if row[-1] == "*"] == STAGES
    assert "before parsing: WORDS 100.00, SENTENCES 100.00, UPOS " in result.stdout
    assert "on dev with predicted tags" in result.stdout
    assert "data: train.conllu (CC0-1.0)" in result.stdout
    for stage in STAGES:
        assert f"{stage} epoch 1/" in result.stderr
    assert re.search(r"segmenter epoch 1/3: loss 0\.0\d+, WORDS .* \*\n", result.stderr)
    drawn = "".join(ElementTree.parse(tmp_path / "curve.svg").getroot().itertext())
    assert "LAS" in drawn
    assert "UPOS" not in drawn
    found = package.load("m.arbora")
    assert found.parts == ("segmenter", "tagger", "lemmatizer", "parser")
    assert found.about["data"][0]["licence"] == "CC0-1.0"


def test_the_json_of_all_parts(train_all):
    found = json.loads(train_all("--epochs", 3, "--json", "-q", "--compact").stdout)
    tree = [epoch for epoch in found["epochs"] if epoch["stage"] == "tree"]
    best = max(tree, key=lambda epoch: (epoch["dev"]["las"], -epoch["epoch"]))
    assert found["best_epoch"] == best["epoch"]
    assert found["parts"]["names"] == ["segmenter", "tagger", "lemmatizer", "parser"]
    assert found["parts"]["dev"].keys() == {
        "words",
        "sentences",
        "upos",
        "morphology",
        "lemmas",
        "las",
        "uas",
    }
    assert found["dev"] == found["compact"]["after"]
    assert all(epoch["seconds"] >= 0 for epoch in found["epochs"])
    stored = package.load("m.arbora").about["dev"]
    assert stored == found["parts"]["dev"]


def test_only_the_parser_and_gold_tags(train_all):
    assert train_all("--only", "parser", "-q", "--epochs", 1).status == 0
    assert package.load("m.arbora").parts == ("parser",)
    result = train_all("--tags", "gold", "--epochs", 1)
    assert "jackknifing" not in result.stderr
    assert "predicted tags" not in result.stdout
    assert "tagger" in package.load("m.arbora").parts


def test_resuming_all_parts_gives_the_same_bytes(train_all, tmp_path, monkeypatch):
    assert train_all("--epochs", 4, "-q").status == 0
    whole = (tmp_path / "m.arbora").read_bytes()
    with monkeypatch.context() as patch:
        stop_at(patch, "tree", 2)
        assert train_all("--epochs", 4, "-q").status == 130
    assert (tmp_path / "m.arbora.checkpoint").exists()
    assert train_all("--epochs", 4, "-q", "--resume").status == 0
    assert (tmp_path / "m.arbora").read_bytes() == whole
    assert not (tmp_path / "m.arbora.checkpoint").exists()


@pytest.mark.parametrize("stage", ["segmenter", "tags", "lemmas"])
def test_ctrl_c_before_the_parser(train_all, tmp_path, monkeypatch, stage):
    stop_at(monkeypatch, stage, 1)
    result = train_all("--epochs", 2, "-q")
    assert result.status == 130
    assert not (tmp_path / "m.arbora").exists()


def test_pseudo_projective_trees(train, arbora, synthetic, tmp_path):
    """Marks are told of, and what is parsed has none; trees that may cross as well are refused."""
    lifted = ("-p", "projectivize=pseudo-projective")
    result = train("--epochs", 2, *lifted)
    assert result.status == 0
    assert "pseudo-projective (head) trees, single root" in result.stdout
    assert re.search(r"trees: \d+ of 80 have crossing arcs \(.*\): pseudo-projective", result.stderr)
    assert "lifts.encoding\thead\nlifts.lifted\t^\n" in arbora("info", "m.arbora").stdout
    parsed = arbora("parse", synthetic[1], "-m", "m.arbora").stdout
    assert not any(
        mark in line.split("\t")[7] for line in parsed.splitlines() if "\t" in line for mark in "^~"
    )
    refused = train("--trees", "nonprojective", *lifted)
    assert refused.status == 2
    assert "projectivize: has no effect here; it needs projective trees" in " ".join(refused.stderr.split())


def test_without_dev_a_part_is_held_out_and_probabilities_are_calibrated(arbora, tmp_path):
    write(generate(120, seed=1), tmp_path / "train.conllu")
    model = tmp_path / "m.arbora"
    for dev, calibrated in (((), True), (("--dev", "none"), False)):
        result = arbora("train", tmp_path / "train.conllu", "-o", model, *dev, "--epochs", 1, "--order", 1)
        assert result.status == 0
        assert ("12 sentences of TRAIN, held out" in result.stdout) == calibrated
        assert Pipeline.load(model).parser.is_calibrated == calibrated


def test_a_treebank_without_spaces_gives_a_model_for_raw_text(arbora, tmp_path):
    text = "".join(sentence.to_conllu() for sentence in generate(60, seed=1))
    lines = [line for line in text.replace("SpaceAfter=No", "_").split("\n") if "text =" not in line]
    (tmp_path / "train.conllu").write_text("\n".join(lines), encoding="utf-8")
    model = tmp_path / "m.arbora"
    result = arbora("train", tmp_path / "train.conllu", "-o", model, "--epochs", 1, "--order", 1)
    assert "raw text: split by likely spaces" in result.stdout
    assert [len(sentence) for sentence in Pipeline.load(model)("Ann calls the dogs.")] == [5]


def test_a_missing_package_is_an_error_before_anything_is_trained(arbora, synthetic, monkeypatch):
    monkeypatch.setattr("arbora.training.recipes.find_spec", lambda name: None)
    result = arbora("train", synthetic[0], "-o", "m.arbora", "--parser", "neural")
    assert result.status == 2
    assert "segmenter" not in result.stderr
