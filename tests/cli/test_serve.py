"""`arbora serve` as a process: it answers, it says what it does, it ends when told to."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

pytest.importorskip("uvicorn", reason="arbora serve needs uvicorn (extra: serve)")


@contextmanager
def served(model, *options):
    """A process that serves, and its port."""
    command = [sys.executable, "-m", "arbora", "serve", "-m", str(model), "--port", "0", *options]
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


def test_it_serves_and_ends(model):
    with served(model) as (process, port):
        status, told = post(port, {"text": "tafo zondos.", "k": 2})
        assert status == 200
        assert len(told["sentences"][0]["trees"]) == 2
        status, told = post(port, {"text": "x" * 3_000_000})
        assert (status, told["error"]["code"]) == (413, "too_large")
        with socket.create_connection(("127.0.0.1", port), timeout=20) as raw:
            raw.sendall(b"\x16\x03\x01 this is no HTTP\r\n\r\n")
            assert raw.recv(100).startswith(b"HTTP/1.1 400")
        # Requests that are under way when the signal comes are answered.
        text = "tafo zondos kunzangu nultorpel tafo zondos kunzangu. " * 200
        under_way = [send(port, {"text": text}) for _ in range(4)]
        time.sleep(0.1)
        process.send_signal(signal.SIGTERM)
        assert [receive(connection)[0] for connection in under_way] == [200] * 4
        assert process.wait(20) == 0
        told = process.stderr.read()
        assert told.endswith("ended\n")
        assert "tafo" not in told


def test_ctrl_c_and_quiet(model):
    with served(model, "--quiet") as (process, port):
        assert post(port, {"text": "tafo"})[0] == 200
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 0
        assert process.stderr.read() == "ended\n"


def test_what_it_refuses(arbora, model, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        result = arbora("serve", "-m", model, "--port", taken.getsockname()[1])
    assert result.status == 1
    assert "in use" in result.stderr
    assert arbora("serve", "-m", tmp_path / "none").status == 2
    assert arbora("serve", "-m", model, "--port", "70000").status == 2


def test_without_uvicorn(arbora, model, monkeypatch):
    monkeypatch.setattr("arbora.cli.serve.find_spec", lambda name: None)
    result = arbora("serve", "-m", model)
    assert result.status == 2
    assert "pip install 'arbora[serve]'" in result.stderr
