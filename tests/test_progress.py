"""The progress protocol."""

import pytest
from training_toys import Recorder

from arbora.cli.progress import Mode, TerminalProgress
from arbora.interfaces import Epoch
from arbora.progress import EpochReport, Silent


def report(stage="tree", number=1, **scores):
    return EpochReport(stage, Epoch(number, 3.0, 3.0, 2, 0.5), scores, best=True)


def work(observer):
    """All calls of the protocol once, with a child inside a running task."""
    observer.begin("trainings", 2, unit="training")
    trial = observer.child("C=1")
    trial.begin("tree", 10, epochs=2)
    trial.advance(10)
    trial.report(report(las=80.0))
    trial.note("slow")
    trial.end()
    trial.end("LAS 80.00")
    observer.advance()
    observer.end()
    observer.begin("parsing")
    observer.advance(3)
    observer.end("3 sentences")


def test_children_of_recorders_have_a_prefix():
    recorder = Recorder()
    work(recorder)
    assert [stage[0] for stage in recorder.stages] == ["trainings", "C=1: tree", "parsing"]
    assert [each.stage for each in recorder.reports] == ["C=1: tree"]
    assert recorder.notes == ["C=1: slow"]


def test_silence_is_kept(capsys):
    work(Silent())
    with TerminalProgress(Mode.NOTHING) as progress:
        work(progress)
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("mode", [Mode.LINES, Mode.BARS])
def test_results_are_printed_as_lines(mode, capsys):
    with TerminalProgress(mode) as progress:
        work(progress)
    out, err = capsys.readouterr()
    assert out == ""
    assert "C=1: LAS 80.00" in err
    assert "parsing: 3 sentences" in err
    assert "tree epoch" not in err or mode is Mode.BARS  # a running task reports for its children


@pytest.mark.parametrize("mode", [Mode.LINES, Mode.BARS, Mode.NOTHING])
def test_the_status_says_how_far_the_work_is(mode, capsys):
    with TerminalProgress(mode) as progress:
        progress.begin("trainings", 3, unit="training")
        for done in (1, 2, 3):
            trial = progress.child(f"C={done}")
            trial.end("LAS 80.00")
            progress.advance()
            progress.status("best: C=1")
        progress.end()
    lines = [line for line in capsys.readouterr().err.splitlines() if line.startswith("trainings: ")]
    assert len(lines) == (mode is Mode.LINES)  # the others come too soon after it
    if lines:
        assert lines[0].startswith("trainings: 1 of 3 trainings, 0.0 s left, best: C=1")


def test_children_of_idle_observers_print_their_epochs(capsys):
    with TerminalProgress(Mode.LINES) as progress:
        fold = progress.child("fold 1")
        fold.begin("tree", 10, epochs=2)
        fold.report(report(las=80.0))
        fold.note("slow")
        fold.note("slow")
    lines = capsys.readouterr().err.splitlines()
    assert lines[0].startswith("fold 1: tree epoch 1/2: loss 3, LAS 80.00, 0.5 s")
    assert lines[1:] == ["note: fold 1: slow"]
    assert progress.seconds == {("fold 1: tree", 1): 0.5}
