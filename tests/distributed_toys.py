"""Objects for workers in tests of `arbora.distributed`."""

import logging
import os
import signal
import time
from contextlib import suppress
from functools import partial
from pathlib import Path

from arbora.training.tune import Trials

__all__ = ["DyingTrials", "Toy", "broken", "broken_at_first", "doubled", "partial"]


class Toy:
    def __init__(self, folder=None):
        self.sum = 0
        self.folder = folder

    def add(self, number):
        self.sum += number
        return self.sum

    def process(self, _):
        time.sleep(0.05)
        return os.getpid()

    def fail(self, number):
        raise ValueError(number)

    def fail_strangely(self, _):
        class LocalError(Exception):
            pass

        raise LocalError("cannot be pickled")

    def die_once(self, number):
        """Kill this process the first time that it gets this number, if it is odd."""
        mark = Path(self.folder, str(number))
        if number % 2 and not mark.exists():
            mark.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    def die(self, number):
        if number == 2:
            os.kill(os.getpid(), signal.SIGKILL)
        return number

    def sleep(self, seconds):
        time.sleep(seconds)
        return seconds

    def shout(self, text):
        print(text)
        os.write(1, b"noise")
        return text


def broken():
    raise RuntimeError("cannot be made")


def broken_at_first(folder, times):
    """A toy, except the first times."""
    for number in range(times):
        with suppress(FileExistsError):
            Path(folder, f"start {number}").touch(exist_ok=False)
            raise RuntimeError(f"start {number}")
    return Toy()


class ToyShare:
    """Some examples of a problem of `learners_toy`, for one stage with a learner."""

    def __init__(self, learner, numbers, **options):
        self.learner, self.numbers, self.options = learner, numbers, options

    def open(self):
        return self

    def problem(self):
        from learners_toy import ToyProblem

        problem = ToyProblem(**self.options)
        for name in ("features", "costs", "arcs", "members", "gold"):
            values = getattr(problem, name)
            setattr(problem, name, [values[i] for i in self.numbers])
        return problem

    def stage(self, name, done):
        from arbora.learners.stage import Stage

        return Stage(name=name, learner=self.learner, problem=self.problem())


def doubled(number, observer, folder=None):
    """Work of a job; 2 kills its worker each time, 4 the first time, 6 raises an error."""
    if number == 2 or (number == 4 and not Path(folder, "4").exists()):
        Path(folder, "4").touch()
        os.kill(os.getpid(), signal.SIGKILL)
    if number == 6:
        raise ValueError(number)
    observer.child("inner").note(f"note {number}")
    observer.begin("unseen", 1)
    logging.getLogger("arbora").warning(f"warning {number}")
    time.sleep(0.01 * (number % 3))
    return 2 * number


class DyingTrials(Trials):
    """Trials whose worker dies with patience 7."""

    def __call__(self, task, observer):
        if task[1].patience == 7:
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(task, observer)
