"""The program of a local worker: it makes an object, then calls its methods on request.

Messages are pickles, each after its length in 8 bytes, from the process that started this one and to it. No
one else can write to these pipes.
"""

from __future__ import annotations

import io
import os
import pickle
import signal
from queue import SimpleQueue
from threading import Thread
from typing import IO, Any

from arbora.distributed.engines import StartError, in_words

HEADER = 8


def write_message(stream: IO[bytes], data: bytes) -> None:
    """Write one message."""
    stream.write(len(data).to_bytes(HEADER, "little"))
    stream.write(data)
    stream.flush()


def read_message(stream: IO[bytes]) -> bytes | None:
    """Read one message; None at the end of the stream, also in the middle of a message."""
    header = stream.read(HEADER)
    if len(header) < HEADER:
        return None
    data = stream.read(int.from_bytes(header, "little"))
    return data if len(data) == int.from_bytes(header, "little") else None


def main() -> None:
    """Answer calls until the input ends."""
    for name in ("SIGINT", "SIGHUP"):  # the terminal sends them to all processes; the first one ends the rest
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_IGN)
    requests = os.fdopen(os.dup(0), "rb")
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # all other output goes to stderr
    waiting: SimpleQueue[bytes | None] = SimpleQueue()
    Thread(target=_receive, args=(requests, waiting), daemon=True).start()
    first = waiting.get()
    if first is None:
        return
    made: Any = None
    failed: BaseException | None = None
    try:
        made = pickle.loads(first)()
    except BaseException as error:
        failed = StartError(in_words(error))
    while (request := waiting.get()) is not None:
        answer: Any = (None, failed)
        if failed is None:
            try:
                method, arguments = pickle.loads(request)
                answer = (getattr(made, method)(*arguments), None)
            except BaseException as error:
                answer = (None, error)
        write_message(answers, _packed(*answer))


def _receive(requests: io.BufferedIOBase | IO[bytes], waiting: SimpleQueue[bytes | None]) -> None:
    """Put requests into a queue; end the process when the one that started it has ended."""
    while True:
        data = read_message(requests)  # type: ignore[arg-type]
        if data is None:
            os._exit(0)
        waiting.put(data)


def _packed(value: Any, error: BaseException | None) -> bytes:
    """The answer; an error that cannot be pickled becomes one with the same text."""
    try:
        data = pickle.dumps((value, error))
        pickle.loads(data)
    except Exception as why:
        text = f"{type(error).__name__}: {error}" if error is not None else f"result: {why}"
        data = pickle.dumps((None, RuntimeError(text)))
    return data


if __name__ == "__main__":
    main()
