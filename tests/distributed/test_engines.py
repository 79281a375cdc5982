"""Engines: calls, errors, lost workers and limits are the same for processes and for Ray."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from distributed_toys import Toy, broken, broken_at_first, partial
from errors import rejects

from arbora.distributed.engines import (
    Outcome,
    StartError,
    TimeLimitError,
    WorkerLostError,
    engines,
    open_workers,
    run_tasks,
)
from arbora.errors import InputError


def ray_is_installed():
    return pytest.importorskip("ray", reason="ray is not installed")


@pytest.fixture(params=["local", "ray"])
def engine(request):
    if request.param == "ray":
        ray_is_installed()
    return request.param


pytestmark = pytest.mark.filterwarnings("ignore")  # ray has warnings of its own


def outcomes(workers, method, tasks, **options):
    found = [each for each in run_tasks(workers, method, tasks, **options) if each is not None]
    return dict(found)


def test_workers_keep_their_objects_and_replace_lost_ones(engine, tmp_path):
    with open_workers(engine, partial(Toy, str(tmp_path)), 2) as workers:
        assert workers.call_all("add", [(1,), (20,)]) == [1, 20]
        assert workers.call_all("add", [(1,), (20,)]) == [2, 40]
        pids = {outcome.get() for outcome in outcomes(workers, "process", range(8)).values()}
        assert len(pids) == 2
        assert os.getpid() not in pids

        failed = outcomes(workers, "fail", [3, 4])
        assert [(type(each.error), each.error.args) for each in failed.values()] == [
            (ValueError, (number,)) for number in failed
        ]
        with pytest.raises(ValueError, match="7"):
            workers.call_all("fail", [(7,), (7,)])

        found = outcomes(workers, "die_once", range(6))
        assert {number: outcome.get() for number, outcome in found.items()} == {n: n for n in range(6)}

        found = outcomes(workers, "die", range(4), attempts=2)
        assert isinstance(found.pop(2).error, WorkerLostError)
        assert sorted(outcome.get() for outcome in found.values()) == [0, 1, 3]

        limit = 5.0
        found = outcomes(workers, "sleep", [0.01, 60.0, 0.02], limit=limit)
        assert isinstance(found[60.0].error, TimeLimitError)
        assert found[0.02] == Outcome(0.02)


def test_idle_waits_are_reported():
    with open_workers("local", Toy, 1) as workers:
        assert list(run_tasks(workers, "sleep", [0.3], idle=0.1)).count(None) >= 1


def test_what_workers_print_does_not_disturb_answers():
    with open_workers("local", Toy, 1) as workers:
        assert workers.call_all("shout", [("loud",)]) == ["loud"]


def test_errors_that_cannot_be_pickled_keep_their_text():
    with open_workers("local", Toy, 1) as workers, pytest.raises(RuntimeError, match="cannot be pickled"):
        workers.call_all("fail_strangely", [(1,)])


def test_workers_that_do_not_start_end_the_run(engine):
    with open_workers(engine, broken, 2) as workers:
        if engine == "local":
            with pytest.raises(StartError, match="cannot be made"):
                workers.call_all("add", [(1,), (2,)])
        with pytest.raises(StartError, match="cannot be made"):
            outcomes(workers, "add", [1, 2, 3])


@pytest.mark.parametrize(("broken_starts", "attempts", "warnings"), [(1, 1, 1), (2, 3, 0)])
def test_the_others_go_on_if_a_worker_does_not_start(tmp_path, caplog, broken_starts, attempts, warnings):
    with open_workers("local", partial(broken_at_first, str(tmp_path), broken_starts), 2) as workers:
        found = outcomes(workers, "sleep", [0.1, 0.2, 0.3, 0.4], attempts=attempts)
    assert {task: outcome.get() for task, outcome in found.items()} == {n: n for n in (0.1, 0.2, 0.3, 0.4)}
    assert len(caplog.messages) == warnings


@pytest.fixture
def cluster(monkeypatch):
    """A Ray cluster of two nodes with a CPU each, of which the second can be lost."""
    ray_is_installed()
    from ray.cluster_utils import Cluster

    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))
    made = Cluster(initialize_head=True, head_node_args={"num_cpus": 1})
    made.add_node(num_cpus=1)
    yield made
    made.shutdown()


def test_a_cluster_may_be_too_small_and_lose_a_node(cluster, tmp_path, caplog):
    """Tasks do not wait for actors that have no place."""
    second = next(node for node in cluster.list_all_nodes() if node is not cluster.head_node)
    with open_workers("ray", partial(Toy, str(tmp_path)), 3, address=cluster.address) as workers:
        assert "2 CPUs" in caplog.text
        found, is_lost = [], False
        for each in run_tasks(workers, "sleep", [0.2] * 30, limit=30.0):
            if each is not None:
                found.append(each[1].get())
            if len(found) > 4 and not is_lost:
                is_lost = True
                cluster.remove_node(second, allow_graceful=False)
        assert found == [0.2] * 30


@pytest.mark.parametrize("address", ["auto", "127.0.0.1:1", "nonsense"])
def test_a_cluster_that_does_not_answer_is_an_input_error(address, monkeypatch):
    ray_is_installed()
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    with rejects(InputError, field="address"), open_workers("ray", Toy, 1, address=address):
        pass


@pytest.mark.parametrize("error", [OSError("no space"), RuntimeError("timed out"), SystemExit(1)])
def test_a_cluster_that_does_not_start_is_an_error(error, monkeypatch):
    ray_is_installed()
    from arbora.distributed.ray import ClusterError

    def fail(**_):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # Ray has a handler of its own
        raise error

    monkeypatch.setattr("ray.init", fail)
    before = signal.getsignal(signal.SIGTERM)
    with pytest.raises(ClusterError, match=str(error)), open_workers("ray", Toy, 1):
        pass
    assert signal.getsignal(signal.SIGTERM) == before


def test_sigterm_while_a_cluster_starts_goes_to_the_handler_of_before(monkeypatch):
    ray_is_installed()
    received = []

    def start(**_):
        signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(number))  # as Ray does
        signal.raise_signal(signal.SIGTERM)

    def handle(number, _frame):
        received.append(number)
        raise KeyboardInterrupt

    monkeypatch.setattr("ray.init", start)
    before = signal.signal(signal.SIGTERM, handle)
    try:
        with pytest.raises(KeyboardInterrupt), open_workers("ray", Toy, 1):
            pass
    finally:
        signal.signal(signal.SIGTERM, before)
    assert received == [signal.SIGTERM]


def test_unknown_engines_are_rejected():
    with rejects(InputError, field="engine"):
        engines.create("slurm", make=Toy, count=1)


@pytest.mark.parametrize("ending", ["os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_workers_end_with_the_process_that_started_them(ending):
    code = f"""
import os, sys
sys.path.insert(0, {str(Path(__file__).parents[1])!r})
from distributed_toys import Toy
from arbora.distributed.engines import open_workers
with open_workers("local", Toy, 2) as workers:
    print(*workers.call_all("process", [(0,), (0,)]), flush=True)
    workers.call(0, "sleep", 60)
    {ending}
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    pids = list(map(int, ran.stdout.split()))
    assert len(pids) == 2
    end = time.monotonic() + 10
    while any(map(is_running, pids)) and time.monotonic() < end:
        time.sleep(0.05)
    assert not any(map(is_running, pids))


def is_running(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
