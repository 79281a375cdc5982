"""Downloads from a server that behaves like GitHub, and from servers that fail, lie or attack."""

import errno
import hashlib
import json
import os
import shutil
import socket
import ssl
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

pytest.importorskip("httpx", reason="downloads need httpx (extra: data)")
from fake_github import commit_of, git_sha1

from arbora.errors import DataError, DownloadError, InputError
from arbora.storage.ud import download as module
from arbora.storage.ud import github as client_module
from arbora.storage.ud.download import download
from arbora.storage.ud.folders import MANIFEST, Folder, Manifest, StoredFile, TreebankName, digest
from arbora.storage.ud.github import Catalogue, Client, NotFoundError, require_safe

DANISH = TreebankName("UD_Danish-DDT")
TRAIN = "da_ddt-ud-train.conllu"


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != MANIFEST}


@pytest.fixture
def get(catalogue, observer, tmp_path):
    def run(name: TreebankName = DANISH, **options) -> Folder:
        return download(name, tmp_path / "treebanks", catalogue, observer, **options)

    return run


def once(path_end, act, times=1):
    """A fault for the first requests of a path."""
    left = [times]

    def fault(request) -> bool:
        if not request.path.endswith(path_end) or not left[0]:
            return False
        left[0] -= 1
        act(request)
        return True

    return fault


def always(path_end, act):
    return once(path_end, act, times=1000)


def test_checksum_is_that_of_git(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"hello\n")
    assert git_sha1(b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"
    assert digest(path)[0] == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_newest_release_is_downloaded(get, danish_files, github, tmp_path, observer):
    folder = get()
    assert folder.path == tmp_path / "treebanks" / "UD_Danish-DDT"
    found = contents(folder.path)
    assert found.keys() == {*danish_files, "README.md", "LICENSE.txt"}
    assert {name: found[name] for name in danish_files} == danish_files
    assert [path.name for path in folder.path.parent.iterdir()] == ["UD_Danish-DDT"]  # nothing left behind
    assert folder.origin.licence == "CC BY-SA 4.0"
    assert folder.origin.name == "UD_Danish-DDT r2.14"
    assert folder.origin.attribution == (
        "UD_Danish-DDT r2.14, by Nobody, Norma; Someone, Søren; "
        "https://github.com/UniversalDependencies/UD_Danish-DDT"
    )
    manifest = Manifest.load(folder.path)
    assert manifest is not None
    assert manifest.commit == commit_of("UD_Danish-DDT", "r2.14")
    assert {file.name: file.sha256 for file in manifest.files} == {
        name: hashlib.sha256(content).hexdigest() for name, content in found.items()
    }
    assert list(manifest.faults(folder.path)) == []
    assert observer.bytes == observer.total == sum(map(len, found.values()))
    assert len(observer.notes) == 1
    assert all("Arbora" in h["User-Agent"].title() for _, h in github.requests)


def test_named_release_has_its_own_folder(get, danish_files):
    folder = get(TreebankName.parse("UD_Danish-DDT_r2.9"))
    assert folder.path.name == "UD_Danish-DDT_r2.9"
    assert contents(folder.path)[TRAIN] == 2 * danish_files[TRAIN]
    assert folder.origin.name == "UD_Danish-DDT r2.9"


def test_plain_file_server_is_a_mirror(danish_files, tmp_path, observer):
    commit = "c" * 40
    api = tmp_path / "www/api/repos/UniversalDependencies/UD_Danish-DDT"
    raw = tmp_path / "www/raw/UniversalDependencies/UD_Danish-DDT" / commit
    (api / "git/trees").mkdir(parents=True)
    raw.mkdir(parents=True)
    (api / "tags").write_text(json.dumps([{"name": "r2.14", "commit": {"sha": commit}}]))
    entries = []
    for name, content in danish_files.items():
        (raw / name).write_bytes(content)
        entries.append({"path": name, "type": "blob", "sha": git_sha1(content), "size": len(content)})
    (api / "git/trees" / commit).write_text(json.dumps({"tree": entries}))
    command = [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1", "-d", tmp_path / "www"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as server:
        try:
            port = server.stdout.readline().split(" port ")[1].split()[0]
            catalogue = Catalogue(Client(timeout=5), f"http://127.0.0.1:{port}/")
            folder = download(DANISH, tmp_path / "data", catalogue, observer)
        finally:
            server.terminate()
    assert contents(folder.path) == danish_files
    assert folder.origin.licence is None


# Interruptions


def cut(size):
    """The connection ends after so many bytes."""

    def act(request) -> None:
        content = request._files("UD_Danish-DDT", request.path.split("/")[-2])[TRAIN]
        request.answer(content[:size], length=len(content))

    return act


def test_lost_connection_is_resumed(get, github, danish_files, observer):
    github.faults.append(once(TRAIN, cut(1000)))
    folder = get()
    assert contents(folder.path)[TRAIN] == danish_files[TRAIN]
    first, second = github.asked(TRAIN)
    assert "Range" not in first
    assert second["Range"] == "bytes=1000-"
    assert observer.pauses == [0.5]
    assert len(observer.notes) == 2


def test_file_that_changes_between_two_parts_is_fetched_again(get, github, danish_files):
    other = b"#" * len(danish_files[TRAIN])
    github.faults.append(once(TRAIN, lambda r: r.answer(other[:500], length=len(other))))
    assert contents(get().path)[TRAIN] == danish_files[TRAIN]
    assert [headers.get("Range") for headers in github.asked(TRAIN)] == [None, "bytes=500-", None]


def test_interrupted_download_is_resumed_by_the_next_run(get, github, danish_files, observer, tmp_path):
    def stop(request) -> None:
        observer.advance = interrupt
        cut(2000)(request)

    def interrupt(steps) -> None:
        if steps:
            raise KeyboardInterrupt

    keep = observer.advance
    github.faults.append(once(TRAIN, stop))
    with pytest.raises(KeyboardInterrupt):
        get()
    data = tmp_path / "treebanks"
    assert not (data / "UD_Danish-DDT").exists()
    (hidden,) = data.iterdir()
    (part,) = hidden.glob("*.part")
    there = part.stat().st_size
    assert 0 < there <= 2000
    observer.advance = keep
    github.requests.clear()
    assert contents(get().path)[TRAIN] == danish_files[TRAIN]
    assert github.asked(TRAIN)[0]["Range"] == f"bytes={there}-"
    assert github.asked("README.md") == []  # it was there
    assert [path.name for path in data.iterdir()] == ["UD_Danish-DDT"]


def leave_part(tmp_path, danish_files, content):
    hidden = tmp_path / "treebanks" / ".UD_Danish-DDT.partial"
    hidden.mkdir(parents=True)
    (hidden / f"{TRAIN}.{git_sha1(danish_files[TRAIN])}.part").write_bytes(content)
    return hidden


def test_leftover_part_with_wrong_content_is_fetched_again(get, danish_files, tmp_path):
    leave_part(tmp_path, danish_files, b"x" * 700)
    assert contents(get().path)[TRAIN] == danish_files[TRAIN]


@pytest.mark.parametrize("extra", [b"", b"y", b"y" * 10_000_000])
def test_leftover_part_may_be_complete_or_too_long(get, danish_files, tmp_path, extra):
    leave_part(tmp_path, danish_files, danish_files[TRAIN] + extra)
    assert contents(get().path)[TRAIN] == danish_files[TRAIN]


def test_leftovers_of_another_release_are_removed(get, danish_files, tmp_path):
    hidden = leave_part(tmp_path, danish_files, b"")
    (hidden / f"{TRAIN}.{'a' * 40}.part").write_bytes(b"old")
    (hidden / f"{TRAIN}.{'a' * 40}.part.etag").write_text("left by version 0.1")
    (hidden / TRAIN).write_bytes(b"of another release")
    folder = get()
    assert contents(folder.path).keys() == {*danish_files, "README.md", "LICENSE.txt"}
    assert contents(folder.path)[TRAIN] == danish_files[TRAIN]


@pytest.mark.parametrize(
    "where", ["bytes 5-10/11", "bytes x-y/z", "", "bytes 0-999999999999999999999/5", "bytes 1000-1/2"]
)
def test_wrong_range_starts_over(get, github, danish_files, where):
    github.faults.append(once(TRAIN, cut(1000)))
    wrong = lambda r: r.answer(b"#" * 10, 206, {"Content-Range": where})  # noqa: E731
    github.faults.append(once(TRAIN, wrong))
    folder = get()
    assert contents(folder.path)[TRAIN] == danish_files[TRAIN]


def test_server_without_ranges(get, github, danish_files):
    github.faults.append(once(TRAIN, cut(1000)))
    github.faults.append(once(TRAIN, lambda r: r.answer(b"", 416)))
    assert contents(get().path)[TRAIN] == danish_files[TRAIN]


def test_retries_without_progress_end(get, github, observer):
    """What is fetched, thrown away and fetched again is no progress."""

    def act(request) -> None:
        if "Range" in request.headers:
            request.answer(b"", 416)
        else:
            cut(1000)(request)

    github.faults.append(always(TRAIN, act))
    with pytest.raises(DownloadError):
        get()
    assert len(observer.pauses) == 4


# Servers that fail


@pytest.mark.parametrize("status", [500, 502, 503, 429, 408])
def test_temporary_errors_are_retried(get, github, observer, status):
    github.faults.append(once("tags?per_page=100", lambda r: r.answer(b"", status), times=2))
    get()
    assert observer.pauses == [0.5, 1.0]


def test_server_may_request_a_pause(get, github, observer):
    github.faults.append(once("README.md", lambda r: r.answer(b"", 503, {"Retry-After": "7"})))
    get()
    assert observer.pauses == [7.0]
    github.faults.append(always("/tags?per_page=100", lambda r: r.answer(b"", 503, {"Retry-After": "7000"})))
    with pytest.raises(DownloadError) as error:
        get(TreebankName("UD_Danish-Other"))
    assert error.value.status == 503
    assert observer.pauses == [7.0]


def test_messages_have_no_control_characters(get, github, observer):
    def act(request) -> None:
        request.wfile.write(b"HTTP/1.1 500 \x1b[31mred\x07\r\nContent-Length: 0\r\n\r\n")

    github.faults.append(always(TRAIN, act))
    with pytest.raises(DownloadError) as error:
        get()
    assert str(error.value).isprintable()
    assert observer.notes
    assert all(note.isprintable() for note in observer.notes)


def test_number_of_retries_is_limited(get, github, observer):
    github.faults.append(always(TRAIN, lambda r: r.answer(b"", 500)))
    with pytest.raises(DownloadError) as error:
        get()
    assert error.value.status == 500
    assert observer.pauses == [0.5, 1.0, 2.0, 4.0]


def test_progress_resets_the_retries(get, github, danish_files, observer):
    def trickle(request) -> None:
        content = danish_files[TRAIN]
        start = int((request.headers.get("Range") or "bytes=0-")[6:-1])
        where = f"bytes {start}-{len(content) - 1}/{len(content)}"
        rest = content[start:]
        headers = {"Content-Range": where, "ETag": '"same"'}
        request.answer(rest[: len(content) // 9], 206 if start else 200, headers, length=len(rest))

    github.faults.append(once(TRAIN, trickle, times=8))
    assert contents(get().path)[TRAIN] == danish_files[TRAIN]
    assert observer.pauses == [0.5] * 8


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000000"}),
        (429, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9" * 15}),
        (403, {}),
        (401, {}),
        (410, {}),
        (302, {}),
        (204, {}),
    ],
)
def test_permanent_errors_are_not_retried(get, github, observer, status, headers):
    github.faults.append(always("/tags?per_page=100", lambda r: r.answer(b"", status, headers)))
    with pytest.raises(DownloadError) as error:
        get()
    assert error.value.status == status
    assert error.value.url.startswith(github.url)
    assert observer.pauses == []


def test_unknown_names_and_releases_suggest_others(get, tmp_path):
    with pytest.raises(NotFoundError) as error:
        get(TreebankName("UD_Danish-DTD"))
    assert "UD_Danish-DDT" in str(error.value)
    with pytest.raises(NotFoundError):
        get(TreebankName("UD_Zulu-None"))
    with pytest.raises(DownloadError) as error:
        get(TreebankName("UD_Danish-DDT", "r2.41"))
    assert "r2.14" in str(error.value)
    with pytest.raises(DownloadError):
        get(TreebankName("UD_Klingon-New"))
    assert not (tmp_path / "treebanks").exists()


def test_no_server_and_no_network(tmp_path, observer, monkeypatch):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    catalogue = Catalogue(Client(pause=observer.pauses.append), url)
    with pytest.raises(DownloadError):
        download(DANISH, tmp_path, catalogue, observer)
    assert len(observer.pauses) == 4
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda *_, **__: (_ for _ in ()).throw(socket.gaierror(-2, "no name"))
    )
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(DownloadError) as error:
        Catalogue(Client(pause=observer.pauses.append), "https://ud.example").repositories()
    assert "no name" in str(error.value)
    assert len(observer.pauses) == 4  # no retries


def test_silent_server_times_out(tmp_path, observer):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = Client(timeout=0.05, pause=observer.pauses.append)
        catalogue = Catalogue(client, f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(DownloadError):
            catalogue.repositories()
    assert len(observer.pauses) == 4


def test_loopback_bypasses_the_proxy(get, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("all_proxy", "http://127.0.0.1:9")
    get()


def test_proxy_of_the_environment_is_used(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as proxy:
        received = []

        def accept() -> None:
            with proxy.accept()[0] as connection:
                received.append(connection.recv(1000))
                connection.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")

        thread = threading.Thread(target=accept)
        thread.start()
        monkeypatch.setenv("https_proxy", f"http://127.0.0.1:{proxy.getsockname()[1]}")
        with pytest.raises(DownloadError):
            Client(timeout=0.2, pause=lambda seconds: None).json("https://ud.example")
        thread.join()
    assert received[0].startswith(b"CONNECT ud.example:443 ")


@pytest.mark.parametrize("proxy", ["gopher://127.0.0.1:9", "http://[::1"])
def test_bad_proxy_is_reported(monkeypatch, proxy):
    monkeypatch.setenv("https_proxy", proxy)
    with pytest.raises(DownloadError):
        Client().json("https://ud.example")


# Wrong and hostile answers


def test_wrong_content_is_rejected_and_discarded(get, github, danish_files, tmp_path):
    wrong = danish_files[TRAIN][:-1] + b"!"
    github.faults.append(always(TRAIN, lambda r: r.send_content(wrong)))
    with pytest.raises(DownloadError) as error:
        get()
    assert git_sha1(danish_files[TRAIN]) in str(error.value)
    data = tmp_path / "treebanks"
    assert not (data / "UD_Danish-DDT").exists()
    assert not list(data.glob("*/*.part*"))
    github.faults.clear()
    assert contents(get().path)[TRAIN] == danish_files[TRAIN]


@pytest.mark.parametrize("length", [None, 10**12])
def test_files_longer_than_announced_are_rejected(get, github, danish_files, tmp_path, length):
    endless = danish_files[TRAIN] + b"x" * 300_000

    def act(request) -> None:
        try:
            request.answer(endless, length=length)
        except OSError:  # we hang up
            request.close_connection = True

    github.faults.append(always(TRAIN, act))
    with pytest.raises(DownloadError):
        get()
    assert not list((tmp_path / "treebanks").glob("*/*.part*"))


@pytest.mark.parametrize(
    "name",
    [
        "../evil.conllu",
        "a/da_ddt-ud-train.conllu",
        "..",
        "a\\b-ud-train.conllu",
        "C:x-ud-train.conllu",
        "x\x1b[31m",
        "",
    ],
)
def test_unsafe_file_names_are_rejected(get, github, tmp_path, name):
    entry = {"path": name, "mode": "100644", "type": "blob", "sha": "0" * 40, "size": 1}
    github.listing = lambda entries: [*entries, entry]
    with pytest.raises(DownloadError):
        get()
    assert not (tmp_path / "treebanks").exists()


@pytest.mark.parametrize(
    "entry",
    [
        {"size": -1},
        {"size": 1 << 50},
        {"size": "5"},
        {"size": True},
        {"size": None},
        {"sha": "zz"},
        {"path": 5},
        {"path": "README.MD"},
    ],
)
def test_malformed_listings_are_rejected(get, github, tmp_path, entry):
    whole = {
        "path": "x-ud-train.conllu",
        "mode": "100644",
        "type": "blob",
        "sha": "0" * 40,
        "size": 1,
        **entry,
    }
    github.listing = lambda entries: [*entries, whole]
    with pytest.raises(DownloadError) as error:
        get()
    assert error.value.url.startswith(github.url)
    assert not (tmp_path / "treebanks").exists()


def test_links_folders_and_other_files_are_skipped(get, github, danish_files):
    link = {"path": "zz-ud-train.conllu", "mode": "120000", "type": "blob", "sha": "0" * 40, "size": 1}
    program = {"path": "run.sh", "mode": "100755", "type": "blob", "sha": "0" * 40, "size": 1}
    github.listing = lambda entries: [*entries, link, program]
    assert contents(get().path).keys() == {*danish_files, "README.md", "LICENSE.txt"}
    github.listing = lambda entries: [entry for entry in entries if "-ud-" not in entry["path"]]
    with pytest.raises(DownloadError):
        get(TreebankName("UD_Danish-Other"))


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b"{}",
        b"[1]",
        b'[{"name": "r2.14"}]',
        b'[{"name": "r2.14", "commit": {"sha": "../../x"}}]',
        b"",
    ],
)
def test_malformed_json_is_rejected(get, github, observer, body):
    github.faults.append(always("/tags?per_page=100", lambda r: r.answer(body)))
    with pytest.raises(DownloadError) as error:
        get()
    assert error.value.url.startswith(github.url)
    assert observer.pauses == []


def test_endless_json_is_rejected(get, github, monkeypatch):
    monkeypatch.setattr("arbora.storage.ud.github.MAX_JSON_BYTES", 1000)
    github.faults.append(always("/tags?per_page=100", lambda r: r.answer(b"[]" + b" " * 5000)))
    with pytest.raises(DownloadError) as error:
        get()
    assert error.value.url.startswith(github.url)


def test_truncated_json_is_requested_again(get, github, observer):
    github.faults.append(once("/tags?per_page=100", lambda r: r.answer(b'[{"name', length=500)))
    get()
    assert observer.pauses == [0.5]


def test_number_of_pages_is_limited(github, observer):
    def more(request) -> None:
        url = f"{github.url}/api/orgs/UniversalDependencies/repos"
        request.answer_json([{"name": "UD_Danish-DDT", "size": 1}], headers={"Link": f'<{url}>; rel="next"'})

    github.faults.append(lambda request: "/orgs/" in request.path and not more(request))
    assert len(Catalogue(Client(), github.url).repositories()) == 1
    assert len(github.requests) == 50


@pytest.mark.parametrize(
    "where",
    [
        "file:///etc/passwd",
        "http://example.org/x",
        "http://169.254.169.254/latest",
        "ftp://127.0.0.1/x",
        "data:text/plain,x",
        "gopher://127.0.0.1",
        "http://[::1",
        "https://",
        "//example.org/x",
        "https://example.org:99999999/x",
    ],
)
def test_unsafe_redirects_are_rejected(get, github, tmp_path, observer, where):
    github.faults.append(always(TRAIN, lambda r: r.answer(b"", 302, {"Location": where})))
    with pytest.raises(DownloadError):
        get()
    assert observer.pauses == []
    assert not (tmp_path / "treebanks" / "UD_Danish-DDT").exists()


def test_safe_redirects_are_followed(get, github, danish_files, observer):
    new = f"{github.url}/api/repos/UniversalDependencies/UD_Danish-DDT/tags?per_page=100"
    github.faults.append(
        once("/UD_Danish-DDT/tags?per_page=100", lambda r: r.answer(b"", 301, {"Location": new}))
    )
    assert contents(get().path)[TRAIN] == danish_files[TRAIN]
    github.faults.append(always("/tags?per_page=100", lambda r: r.answer(b"", 302, {"Location": r.path})))
    github.requests.clear()
    with pytest.raises(DownloadError):
        get(TreebankName("UD_Danish-Other"))
    assert len(github.requests) == 6


@pytest.mark.parametrize(
    "url", ["http://example.org", "file:///etc", "ftp://x", "x", "//127.0.0.1", "https://", "http://[::1"]
)
def test_unsafe_addresses_are_rejected(url):
    with pytest.raises(DownloadError):
        Catalogue(Client(), url)


def test_https_never_redirects_to_http():
    require_safe("http://127.0.0.1/x")
    require_safe("http://[::1]/x", before="http://localhost/y")
    require_safe("https://example.org", before="http://127.0.0.1")
    with pytest.raises(DownloadError):
        require_safe("http://127.0.0.1/x", before="https://example.org")


# What is there already


def test_existing_treebank_is_replaced_only_on_request(get, github, danish_files):
    folder = get()
    with pytest.raises(InputError):
        get()
    (folder.path / TRAIN).write_bytes(b"changed")
    assert list(folder.manifest.faults(folder.path)) == [
        f"{TRAIN}: expected {len(danish_files[TRAIN]):,} bytes, got 7"
    ]
    folder = get(replace=True)
    assert contents(folder.path)[TRAIN] == danish_files[TRAIN]
    assert [path.name for path in folder.path.parent.iterdir()] == ["UD_Danish-DDT"]


def test_foreign_files_are_never_replaced(get, tmp_path):
    folder = get()
    (folder.path / "notes.txt").write_text("mine")
    with pytest.raises(InputError):
        get(replace=True)
    assert (folder.path / "notes.txt").read_text() == "mine"
    mine = tmp_path / "treebanks" / "UD_Danish-Other"
    mine.mkdir()
    (mine / "da-ud-train.conllu").write_text("")
    with pytest.raises(InputError):
        get(TreebankName("UD_Danish-Other"), replace=True)


VALID_MANIFEST = json.dumps(
    Manifest(
        "UD_X-Y", "r1.0", "c", "s", "CC0", "a", True, (StoredFile("x-ud-test.conllu", 5, "1", "2"),)
    ).to_json()
)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        "[]",
        "[" * 100_000,
        "\xff",
        '{"format": 2}',
        '{"format": 1, "files": [{"name": "../x"}]}',
        VALID_MANIFEST.replace("CC0", "C\\u001b0"),
        VALID_MANIFEST.replace("x-ud-test.conllu", "../x"),
        VALID_MANIFEST.replace(": 5", ': "5"'),
        "null",
    ],
)
def test_damaged_manifest_is_reported_and_replaced(get, danish_files, text):
    folder = get()
    (folder.path / MANIFEST).write_text(text, encoding="latin-1")
    with pytest.raises(DataError) as error:
        Manifest.load(folder.path)
    assert error.value.source == str(folder.path / MANIFEST)
    assert list(get(replace=True).manifest.faults(folder.path)) == []


def test_changed_and_missing_files_are_reported(get):
    folder = get()
    content = (folder.path / TRAIN).read_bytes()
    (folder.path / TRAIN).write_bytes(b"X" + content[1:])
    (folder.path / "README.md").unlink()
    first, second = folder.manifest.faults(folder.path)
    assert first == "README.md: missing"
    assert second.startswith(f"{TRAIN}: expected SHA-256 ")


def test_old_files_are_restored_if_the_last_step_fails(get, github, danish_files, monkeypatch):
    folder = get()
    before = contents(folder.path)
    rename = Path.rename

    def failing(self, target):
        if self.name.endswith(".partial"):
            raise OSError(errno.EACCES, "no")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(PermissionError):
        get(replace=True)
    assert contents(folder.path) == before


# Disks


def test_full_disk_is_detected_before_the_download(get, github, monkeypatch):
    usage = type("Usage", (), {"free": 20 << 20})()
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: usage)
    monkeypatch.setattr(module, "RESERVE_BYTES", 20 << 20)
    with pytest.raises(DownloadError):
        get()
    assert github.asked(TRAIN) == []


def test_full_disk_keeps_what_was_downloaded(get, github, danish_files, monkeypatch, tmp_path):
    write = os.write

    def full(descriptor, piece):
        if len(piece) > 5000:
            write(descriptor, piece[:3000])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, piece)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError) as error:  # noqa: PT011
        get()
    assert error.value.errno == errno.ENOSPC
    assert error.value.filename.endswith(".part")
    monkeypatch.undo()
    github.requests.clear()
    assert contents(get().path)[TRAIN] == danish_files[TRAIN]
    assert any("Range" in headers for _, headers in github.requests)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_read_only_folder(get, tmp_path):
    (tmp_path / "treebanks").mkdir(mode=0o500)
    with pytest.raises(PermissionError):
        get()


def test_release_without_words_is_recorded(github, get):
    github.repositories["UD_Danish-Other"]["r2.14"]["README.md"] = (
        b"Includes text: no\nLicense: X \x1b[31m Y\n"
    )
    manifest = get(TreebankName("UD_Danish-Other")).manifest
    assert not manifest.includes_text
    assert manifest.licence == "X [31m Y"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the program openssl to make a certificate")
def test_untrusted_certificate_is_rejected(tmp_path, monkeypatch):
    """Rejected, unless this computer trusts it."""
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    made = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
    names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"]
    files = ["-keyout", key, "-out", certificate]
    subprocess.run(["openssl", "req", "-x509", *made, *names, *files], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *arguments: object) -> None:
            pass

        def do_GET(self) -> None:
            body = b'[{"name": "UD_Danish-DDT", "size": 1}]'
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *arguments: object) -> None:
            """Clients that hang up are expected."""

    with Server(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            pauses: list[float] = []
            client = Client(timeout=5, pause=pauses.append)
            catalogue = Catalogue(client, f"https://localhost:{server.server_port}")
            with pytest.raises(DownloadError):
                catalogue.repositories()
            assert pauses == []  # no retries
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
            client_module._certificates.cache_clear()
            assert list(catalogue.repositories()) == ["UD_Danish-DDT"]
        finally:
            client_module._certificates.cache_clear()
            server.shutdown()
            thread.join()
