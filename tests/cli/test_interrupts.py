"""Ctrl-C on the command line."""

import signal

import pytest

from arbora.cli import console


@pytest.fixture
def python_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_signals_that_follow_at_once_are_one_interrupt(python_handler, monkeypatch):
    console.join_interrupts()
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
    signal.raise_signal(signal.SIGINT)
    monkeypatch.setattr(console, "REPEATED", 0.0)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_ignored_signals_stay_ignored(python_handler):
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    console.join_interrupts()
    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
