"""SIGINT (Ctrl-C), SIGTERM and SIGHUP on the command line: the handler; test_stopping.py runs commands."""

import signal

import pytest

from arbora.cli import console

SIGNALS = [(signal.SIGINT, "Ctrl-C", 130), (signal.SIGTERM, "SIGTERM", 143), (signal.SIGHUP, "SIGHUP", 129)]


@pytest.fixture(params=SIGNALS, ids=["SIGINT", "SIGTERM", "SIGHUP"])
def stopping(request):
    """A signal with Python's own handler, what it is called, and the exit status."""
    default = dict.fromkeys(console.STOPPING, signal.SIG_DFL)
    default[signal.SIGINT] = signal.default_int_handler
    before = {number: signal.signal(number, handler) for number, handler in default.items()}
    yield request.param
    for number, handler in before.items():
        signal.signal(number, handler)


def test_signals_that_follow_at_once_are_one_interrupt(stopping, monkeypatch):
    number, name, status = stopping
    interrupts = console.Interrupts()
    interrupts.catch()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)
    signal.raise_signal(number)
    signal.raise_signal(signal.SIGINT)
    assert (interrupts.name, interrupts.status) == (name, status)
    monkeypatch.setattr(console, "REPEATED", 0.0)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(number)


def test_ignored_signals_stay_ignored(stopping):
    number, _, _ = stopping
    signal.signal(number, signal.SIG_IGN)
    console.Interrupts().catch()
    assert signal.getsignal(number) is signal.SIG_IGN
