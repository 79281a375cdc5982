"""kill -9 at any moment: a rerun gives the bytes of an undisturbed run, and nothing is parsed in vain.

ARBORA_KILLS says how often each is killed; for an hour's confidence, 20.
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from corpus_toys import model, outputs, parse_all, write_corpus

from arbora.distributed import CorpusOptions, Pool

KILLS = int(os.environ.get("ARBORA_KILLS", "3"))
RUN = """
import sys
from arbora.distributed import CorpusOptions, Pool, parse
source, target, model, engine = sys.argv[1:]
parse([source], target, model, pool=Pool(engine, 2), options=CorpusOptions(shard_size=300))
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A corpus, a model file, and what must come out."""
    folder = tmp_path_factory.mktemp("kills")
    source = write_corpus(folder / "in")
    text = (source / "a.txt").read_text()
    for number in range(5):
        (source / f"more{number}.txt").write_text(text)
    model().save(folder / "m.arbora")
    parse_all(source, folder / "expected", pool=Pool(), options=CorpusOptions(shard_size=300))
    return folder, outputs(folder / "expected")


def start(folder, target, engine="local"):
    command = [sys.executable, "-c", RUN, folder / "in", target, folder / "m.arbora", engine]
    return subprocess.Popen([*map(str, command)], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)


def children(pid):
    """Processes that a process has started, by `/proc`."""
    try:
        return [int(each) for each in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def actors():
    """Processes of Ray's actors, which have their title."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if b"ray::_Actor" in path.read_bytes():
                found.append(int(path.parent.name))
        except OSError:
            continue
    return found


def whole_outputs(target):
    return outputs(target) if target.exists() else {}


def check_rerun(folder, target, expected):
    before = {name for name in whole_outputs(target) if not name.rpartition("/")[2].startswith(".")}
    assert all(whole_outputs(target)[name] == expected[name] for name in before)
    ran = start(folder, target)
    assert ran.wait(timeout=120) == 0
    assert outputs(target) == expected
    report = json.loads((target / "_report.json").read_text())
    assert report["parsed"] == len(expected) - len(before)
    assert (report["failed"], report["is_finished"]) == (0, True)


@pytest.mark.parametrize("number", range(KILLS))
def test_the_driver_is_killed(number, corpus, tmp_path):
    folder, expected = corpus
    ran = start(folder, tmp_path / "out")
    time.sleep(random.Random(number).uniform(0.2, 1.6))
    ran.kill()
    ran.wait()
    time.sleep(0.3)  # its workers notice
    check_rerun(folder, tmp_path / "out", expected)


@pytest.mark.parametrize("number", range(KILLS))
def test_a_worker_is_killed(number, corpus, tmp_path):
    folder, expected = corpus
    ran = start(folder, tmp_path / "out")
    time.sleep(random.Random(number).uniform(0.4, 1.6))
    for pid in children(ran.pid)[:1]:
        os.kill(pid, signal.SIGKILL)
    assert ran.wait(timeout=120) == 0
    assert outputs(tmp_path / "out") == expected


@pytest.mark.parametrize("number", range(KILLS))
def test_an_actor_is_killed(number, corpus, tmp_path):
    pytest.importorskip("ray", reason="ray is not installed")
    folder, expected = corpus
    others = set(actors())
    ran = start(folder, tmp_path / "out", "ray")
    end = time.monotonic() + 60
    while not (found := set(actors()) - others) and time.monotonic() < end and ran.poll() is None:
        time.sleep(0.05)
    time.sleep(random.Random(number).uniform(0.0, 1.0))
    for pid in [*found][:1]:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    assert ran.wait(timeout=240) == 0
    assert outputs(tmp_path / "out") == expected
