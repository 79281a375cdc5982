"""SIGINT (Ctrl-C) and SIGTERM on the command line: the handler. Running commands are in test_stopping.py."""

import signal

import pytest

from arbora.cli import console

SIGNALS = [(signal.SIGINT, "Ctrl-C", 130), (signal.SIGTERM, "SIGTERM", 143)]


@pytest.fixture(params=SIGNALS, ids=["SIGINT", "SIGTERM"])
def stopping(request):
    """A signal with Python's own handler, what it is called, and the exit status."""
    default = {signal.SIGINT: signal.default_int_handler, signal.SIGTERM: signal.SIG_DFL}
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
