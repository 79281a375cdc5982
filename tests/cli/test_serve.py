"""`arbora serve` as a process: it responds, logs, and ends on a signal."""

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

for package in ("msgspec", "starlette", "uvicorn"):
    pytest.importorskip(package, reason=f"arbora serve needs {package} (extra: serve)")


@contextmanager
def served(model, *options, files=None):
    """A process that serves, and its port; `files`: the most file descriptors that it may have."""
    command = [sys.executable, "-m", "arbora", "serve", "-m", str(model), "--port", "0", *options]
    if files is not None:
        command = ["sh", "-c", f'ulimit -n {files}; exec "$@"', "sh", *command]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        line = process.stderr.readline()
        port = re.search(r"http://127\.0\.0\.1:(\d+)/", line)
        assert port, line
        yield process, int(port[1])
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stderr.close()


def send(port, value):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("POST", "/api/parse", json.dumps(value), {"Content-Type": "application/json"})
    return connection


def receive(connection):
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, json.loads(body)


def post(port, value):
    return receive(send(port, value))


def test_requests_under_way_are_finished(model):
    with served(model) as (process, port):
        status, answer = post(port, {"text": "tafo zondos.", "k": 2})
        assert status == 200
        assert len(answer["sentences"][0]["trees"]) == 2
        status, answer = post(port, {"text": "x" * 3_000_000})
        assert (status, answer["error"]["code"]) == (413, "too_large")
        with socket.create_connection(("127.0.0.1", port), timeout=20) as raw:
            raw.sendall(b"HEAD / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            response = b"".join(iter(lambda: raw.recv(65536), b""))
        assert response.startswith(b"HTTP/1.1 200")
        assert response.endswith(b"\r\n\r\n")  # no body
        with socket.create_connection(("127.0.0.1", port), timeout=20) as raw:
            raw.sendall(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
            assert raw.recv(100).startswith(b"HTTP/1.1 400")
        for line in (b"GET / HTTP/1.1", b"POST /api/parse HTTP/1.1"):
            with socket.create_connection(("127.0.0.1", port), timeout=20) as raw:
                raw.sendall(line + b"\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\nno chunk\r\n")
                assert raw.recv(100).startswith(b"HTTP/1.1 400")
        # Requests that are under way when the signal comes are answered.
        text = "tafo zondos kunzangu nultorpel tafo zondos kunzangu. " * 200
        under_way = [send(port, {"text": text}) for _ in range(4)]
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        assert [receive(connection)[0] for connection in under_way] == [200] * 4
        assert process.wait(20) == 0
        log = process.stderr.read()
        assert log.endswith("ended\n")
        assert "Traceback" not in log
        assert "tafo" not in log


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_busy_server_ends(model, number):
    """Requests that would take far longer are stopped, in the queue, too."""
    text = (" ".join(["tafo"] * 2000) + " . ") * 60
    limits = ("--max-words", "3000", "--max-work", str(10**12), "--timeout", "300")
    with served(model, *limits) as (process, port):
        running = [send(port, {"text": text}) for _ in range(3)]
        time.sleep(0.5)
        assert process.poll() is None
        begun = time.monotonic()
        process.send_signal(number)
        assert process.wait(20) == 0
        assert time.monotonic() - begun < 6  # 2 on an idle machine
        for connection in running:
            with suppress(OSError, http.client.HTTPException):  # those that waited are dropped
                status, answer = receive(connection)
                assert (status, answer["error"]["code"]) == (503, "stopping")
        log = process.stderr.read()
        assert log.endswith("ended\n")
        assert "Traceback" not in log


def cpu_seconds(process):
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="counts CPU seconds in /proc")
def test_silent_clients_keep_nobody_out(model):
    """More clients that send nothing or half a header than there are file descriptors."""
    with served(model, "--quiet", files=128) as (process, port), ExitStack() as stack:
        before = cpu_seconds(process)
        silent = [stack.enter_context(socket.create_connection(("127.0.0.1", port), 20)) for _ in range(200)]
        for each in silent[::2]:
            with suppress(OSError):  # closed already, since there are too many
                each.sendall(b"GET / HTTP/1.1\r\nHost: local")
        assert [post(port, {"text": "tafo"})[0] for _ in range(5)] == [200] * 5
        time.sleep(1)
        assert cpu_seconds(process) - before < 2
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        assert len(process.stderr.read()) < 1000


def test_silent_connections_are_closed(model):
    starts = (b"", b"GET / HTTP/1.1\r\nHost: local", b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
    with served(model, "--silence", "1") as (_, port), ExitStack() as stack:
        begun, connections = time.monotonic(), []
        for start in starts:
            raw = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=20))
            raw.sendall(start)
            connections.append(raw)
        for raw in connections:
            with suppress(ConnectionResetError):
                while raw.recv(65536):
                    pass
            assert 0.5 < time.monotonic() - begun < 10


def test_quiet_server_ends_on_ctrl_c(model):
    with served(model, "--quiet") as (process, port):
        assert post(port, {"text": "tafo"})[0] == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stderr.read() == "ended\n"


def test_bad_options_are_rejected(arbora, model, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = arbora("serve", "-m", model, "--port", taken.getsockname()[1])
    assert result.status == 1
    assert "in use" in result.stderr
    assert arbora("serve", "-m", tmp_path / "none").status == 2
    assert arbora("serve", "-m", model, "--port", "70000").status == 2


def test_missing_packages_name_the_extra(arbora, model, monkeypatch):
    monkeypatch.setattr("arbora.cli.serve.find_spec", lambda name: None)
    result = arbora("serve", "-m", model)
    assert result.status == 2
    assert "pip install 'arbora-nlp[serve]'" in result.stderr


def test_import_without_the_extra():
    names = ("msgspec", "starlette", "uvicorn", "httpx")
    code = (
        f"import sys; sys.modules |= dict.fromkeys({names!r}); import arbora, arbora.cli.serve; arbora.load"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
