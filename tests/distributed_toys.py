"""Objects for workers in tests of `arbora.distributed`."""

import os
import signal
import time
from functools import partial
from pathlib import Path

__all__ = ["Toy", "partial"]


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
