"""Signal handlers run while native code computes: what they raise ends the call."""

import signal
import threading
import time
from contextlib import contextmanager

import numpy as np
import pytest

from arbora import _core, inference
from arbora.errors import StoppedError

SOON = 0.15
PATIENCE = 3.0  # seconds; without checks within a call, most of the calls below take longer


class AlarmError(Exception):
    """What the handler raises."""


@contextmanager
def alarm():
    """Raise AlarmError soon, from a signal handler; expects it."""

    def ring(number, frame):
        raise AlarmError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, SOON)
    begun = time.monotonic()
    try:
        with pytest.raises(AlarmError):
            yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert time.monotonic() - begun < SOON + PATIENCE


def scores(n, *more):
    return np.random.default_rng(n).normal(size=(n + 1, n + 1, *more))


def siblings(n):
    return np.random.default_rng(n).normal(size=(n + 1,) * 3)


def batch(n, count=2000):
    return [scores(n)] * count


PROJECTIVE, CROSSING = {"trees": "projective"}, {"trees": "nonprojective"}
# Calls that take 5 seconds or more, and the same with little to do.
CALLS = {
    "argmax": lambda n: inference.argmax(batch(3 * n), **PROJECTIVE)[-1].score,
    "argmax of crossing trees": lambda n: inference.argmax(batch(3 * n), **CROSSING)[-1].score,
    "argmax on threads": lambda n: inference.argmax(batch(3 * n, 4000), threads=2, **PROJECTIVE)[-1].score,
    "log_partition": lambda n: inference.log_partition(batch(3 * n), **PROJECTIVE)[-1],
    "log_partition on threads": lambda n: inference.log_partition(batch(3 * n), threads=3, **CROSSING)[-1],
    "log_partition of far scores": lambda n: inference.log_partition(1e4 * scores(16 * n), **CROSSING),
    "log_partition with labels": lambda n: inference.log_partition([scores(n, 50)] * 200, **CROSSING)[-1],
    "marginals": lambda n: inference.marginals(scores(20 * n), **PROJECTIVE)[0, 1],
    "marginals of crossing trees": lambda n: inference.marginals(scores(20 * n), **CROSSING)[0, 1],
    "kbest": lambda n: [tree.score for tree in inference.kbest(scores(5 * n), 1000, **PROJECTIVE)][-1],
    "kbest of crossing trees": lambda n: [t.score for t in inference.kbest(scores(5 * n), 1000, **CROSSING)][
        -1
    ],
    "sample": lambda n: inference.sample(scores(n), 500 * n, seed=1, **PROJECTIVE)[-1].score,
    "sample of crossing trees": lambda n: inference.sample(scores(n), 5000 * n, seed=1, **CROSSING)[-1].score,
    "siblings": lambda n: inference.log_partition(
        [scores(n)] * 500, siblings=[siblings(n)] * 500, **PROJECTIVE
    )[-1],
    "hill climbing": lambda n: (
        inference.argmax([scores(n)] * 500, siblings=[siblings(n)] * 500, **CROSSING)[-1].score
    ),
    "grandparents": lambda n: inference.log_partition(scores(n), grandparents=siblings(n), **PROJECTIVE),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_signal_handler_ends_a_native_call(name):
    call = CALLS[name]
    expected = call(5)
    with alarm():
        while True:  # machines differ in speed
            call(170)
    assert call(5) == expected


def test_handlers_that_raise_nothing_change_nothing():
    large = scores(400)
    expected = inference.log_partition(large, trees="projective")
    calls = []
    before = signal.signal(signal.SIGALRM, lambda number, frame: calls.append(np.float64(5e-324) / 1.0))
    signal.setitimer(signal.ITIMER_REAL, 0.01, 0.01)
    try:
        for _ in range(1000):
            assert inference.log_partition(large, trees="projective") == expected
            if len(calls) > 5:
                break
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert len(calls) > 5
    assert min(calls) > 0.0  # the core flushes such small numbers to zero, but handlers do not


def test_all_native_calls_can_be_stopped():
    errors = []

    def work():
        try:
            while True:
                inference.argmax(batch(600), trees="projective", threads=2)
        except StoppedError as error:
            errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    time.sleep(SOON)
    try:
        _core.stop_native(True)
        for thread in threads:
            thread.join(PATIENCE)
        assert len(errors) == 2
        with pytest.raises(StoppedError):
            inference.argmax(batch(50))
    finally:
        _core.stop_native(False)
    inference.argmax(scores(5))
