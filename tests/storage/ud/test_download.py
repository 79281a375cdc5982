"""Downloads against a server that does as GitHub does, and against servers that fail, lie or attack."""

import errno
import hashlib
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
from fake_github import commit_of, git_sha1

from arbora.errors import DataError, DownloadError, InputError
from arbora.storage.ud import download as module
from arbora.storage.ud import http
from arbora.storage.ud.download import download
from arbora.storage.ud.folders import Folder
from arbora.storage.ud.github import Catalogue
from arbora.storage.ud.http import Client, NotFoundError, require_safe
from arbora.storage.ud.manifest import MANIFEST, Manifest
from arbora.storage.ud.names import TreebankName

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


def test_git_checksum_is_git_s(tmp_path):
    path = tmp_path / "x"
    path.write_bytes(b"hello\n")
    assert git_sha1(b"hello\n") == "ce013625030ba8dba906f756967f9e9ca394464a"
    from arbora.storage.ud.manifest import digest

    assert digest(path).git_sha1 == "ce013625030ba8dba906f756967f9e9ca394464a"


def test_the_newest_release_arrives_whole(get, danish_files, github, tmp_path, observer):
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
    assert observer.sizes[TRAIN][-1] == len(danish_files[TRAIN])
    assert observer.notes == []
    assert all("Arbora" in h["User-Agent"].title() for _, h in github.requests)


def test_a_release_has_a_folder_of_its_own(get, danish_files):
    folder = get(TreebankName.parse("UD_Danish-DDT_r2.9"))
    assert folder.path.name == "UD_Danish-DDT_r2.9"
    assert contents(folder.path)[TRAIN] == 2 * danish_files[TRAIN]
    assert folder.origin.name == "UD_Danish-DDT r2.9"


def test_a_plain_file_server_is_a_mirror(danish_files, tmp_path, observer):
    import json

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
        headers = {"ETag": f'"{hashlib.sha256(content).hexdigest()}"'}
        request.answer(content[:size], headers=headers, length=len(content))

    return act


def test_a_lost_connection_goes_on_where_it_was(get, github, danish_files, observer):
    github.faults.append(once(TRAIN, cut(1000)))
    folder = get()
    assert contents(folder.path)[TRAIN] == danish_files[TRAIN]
    first, second = github.asked(TRAIN)
    assert "Range" not in first
    assert second["Range"] == "bytes=1000-"
    assert second["If-Range"] == f'"{hashlib.sha256(danish_files[TRAIN]).hexdigest()}"'
    assert observer.pauses == [0.5]
    assert "lost after 1,000 of" in observer.notes[0]


def test_without_strong_tags_the_checksum_decides(get, github, danish_files):
    github.tags = False
    github.faults.append(
        once(TRAIN, lambda r: r.answer(danish_files[TRAIN][:500], length=len(danish_files[TRAIN])))
    )
    assert contents(get().path)[TRAIN] == danish_files[TRAIN]
    _, second = github.asked(TRAIN)
    assert second["Range"] == "bytes=500-"
    assert "If-Range" not in second


def test_an_interrupted_download_goes_on_in_the_next_run(get, github, danish_files, observer, tmp_path):
    def stop(request) -> None:
        observer.moved = interrupt
        cut(2000)(request)

    def interrupt(file, size) -> None:
        if size:
            raise KeyboardInterrupt

    keep = observer.moved
    github.faults.append(once(TRAIN, stop))
    with pytest.raises(KeyboardInterrupt):
        get()
    data = tmp_path / "treebanks"
    assert not (data / "UD_Danish-DDT").exists()
    (hidden,) = data.iterdir()
    (part,) = hidden.glob("*.part")
    there = part.stat().st_size
    assert 0 < there <= 2000
    observer.moved = keep
    github.requests.clear()
    assert contents(get().path)[TRAIN] == danish_files[TRAIN]
    assert github.asked(TRAIN)[0]["Range"] == f"bytes={there}-"
    assert github.asked("README.md") == []  # it was there
    assert [path.name for path in data.iterdir()] == ["UD_Danish-DDT"]


def leave_part(tmp_path, danish_files, content, tag=None):
    hidden = tmp_path / "treebanks" / ".UD_Danish-DDT.partial"
    hidden.mkdir(parents=True)
    part = hidden / f"{TRAIN}.{git_sha1(danish_files[TRAIN])}.part"
    part.write_bytes(content)
    if tag:
        part.with_name(f"{part.name}.etag").write_text(tag)
    return hidden


@pytest.mark.parametrize("tag", [None, '"of another file"', "W/", "\x00\n"])
def test_what_was_left_and_does_not_fit_is_fetched_anew(get, github, danish_files, tmp_path, tag):
    leave_part(tmp_path, danish_files, b"x" * 700, tag)
    assert contents(get().path)[TRAIN] == danish_files[TRAIN]


@pytest.mark.parametrize("extra", [b"", b"y", b"y" * 10_000_000])
def test_a_part_that_is_whole_or_too_long(get, danish_files, tmp_path, extra):
    leave_part(tmp_path, danish_files, danish_files[TRAIN] + extra)
    assert contents(get().path)[TRAIN] == danish_files[TRAIN]


def test_what_another_release_left_goes_away(get, danish_files, tmp_path):
    hidden = leave_part(tmp_path, danish_files, b"")
    (hidden / f"{TRAIN}.{'a' * 40}.part").write_bytes(b"old")
    (hidden / TRAIN).write_bytes(b"of another release")
    folder = get()
    assert contents(folder.path).keys() == {*danish_files, "README.md", "LICENSE.txt"}
    assert contents(folder.path)[TRAIN] == danish_files[TRAIN]


@pytest.mark.parametrize(
    "where", ["bytes 5-10/11", "bytes x-y/z", "", "bytes 0-999999999999999999999/5", "bytes 1000-1/2"]
)
def test_a_wrong_range_begins_anew_or_is_refused(get, github, danish_files, where):
    github.faults.append(once(TRAIN, cut(1000)))
    wrong = lambda r: r.answer(b"#" * 10, 206, {"Content-Range": where})  # noqa: E731
    github.faults.append(once(TRAIN, wrong))
    folder = get()
    assert contents(folder.path)[TRAIN] == danish_files[TRAIN]


def test_a_server_that_has_no_ranges(get, github, danish_files):
    github.faults.append(once(TRAIN, cut(1000)))
    github.faults.append(once(TRAIN, lambda r: r.answer(b"", 416)))
    assert contents(get().path)[TRAIN] == danish_files[TRAIN]


def test_going_in_circles_comes_to_an_end(get, github, observer):
    """What is fetched, thrown away and fetched again is no progress."""

    def act(request) -> None:
        if "Range" in request.headers:
            request.answer(b"", 416)
        else:
            cut(1000)(request)

    github.faults.append(always(TRAIN, act))
    with pytest.raises(DownloadError, match="tried 5 times"):
        get()
    assert len(observer.pauses) == 4


# Servers that fail


@pytest.mark.parametrize("status", [500, 502, 503, 429, 408])
def test_what_may_pass_is_tried_again(get, github, observer, status):
    github.faults.append(once("tags?per_page=100", lambda r: r.answer(b"", status), times=2))
    get()
    assert observer.pauses == [0.5, 1.0]


def test_a_server_may_ask_for_a_pause(get, github, observer):
    github.faults.append(once("README.md", lambda r: r.answer(b"", 503, {"Retry-After": "7"})))
    get()
    assert observer.pauses == [7.0]
    github.faults.append(always("/tags?per_page=100", lambda r: r.answer(b"", 503, {"Retry-After": "7000"})))
    with pytest.raises(DownloadError, match="asks us to wait 7000 s"):
        get(TreebankName("UD_Danish-Other"))


def test_messages_have_no_control_characters(get, github, observer):
    def act(request) -> None:
        request.wfile.write(b"HTTP/1.1 500 \x1b[31mred\x07\r\nContent-Length: 0\r\n\r\n")

    github.faults.append(always(TRAIN, act))
    with pytest.raises(DownloadError, match=r"500 \?\[31mred\?"):
        get()
    assert all(note.isprintable() for note in observer.notes)


def test_patience_ends(get, github, observer):
    github.faults.append(always(TRAIN, lambda r: r.answer(b"", 500)))
    with pytest.raises(DownloadError, match=r"the server failed \(500 .*tried 5 times, try again later"):
        get()
    assert observer.pauses == [0.5, 1.0, 2.0, 4.0]


def test_as_long_as_something_comes_it_goes_on(get, github, danish_files, observer):
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
    ("status", "headers", "match"),
    [
        (
            403,
            {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "1700000000"},
            r"rate limit, 403\); try again after \d\d:",
        ),
        (429, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "9" * 15}, "rate limit, 429.*in an hour"),
        (403, {}, r"does not allow it \(403"),
        (401, {}, r"does not allow it \(401"),
        (410, {}, "answered 410"),
    ],
)
def test_what_will_not_pass_is_said_at_once(get, github, observer, status, headers, match):
    github.faults.append(always("/tags?per_page=100", lambda r: r.answer(b"", status, headers)))
    with pytest.raises(DownloadError, match=match):
        get()
    assert observer.pauses == []


def test_unknown_names_and_releases(get, tmp_path):
    with pytest.raises(NotFoundError, match=r"no treebank UD_Danish-DTD; did you mean UD_Danish-DDT"):
        get(TreebankName("UD_Danish-DTD"))
    with pytest.raises(NotFoundError, match="no treebank UD_Zulu-None; `arbora data list` names all"):
        get(TreebankName("UD_Zulu-None"))
    with pytest.raises(
        DownloadError, match=r"unknown release 'r2\.41'; did you mean 'r2\.14'\? known: r2\.14, r2\.9"
    ):
        get(TreebankName("UD_Danish-DDT", "r2.41"))
    with pytest.raises(DownloadError, match="UD_Klingon-New has no release yet"):
        get(TreebankName("UD_Klingon-New"))
    assert not (tmp_path / "treebanks").exists()


def test_no_server_and_no_network(tmp_path, observer, monkeypatch):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}"
    catalogue = Catalogue(Client(pause=observer.pauses.append), url)
    with pytest.raises(
        DownloadError, match=r"no connection to 127\.0\.0\.1 \(Connection refused\); tried 5 times"
    ):
        download(DANISH, tmp_path, catalogue, observer)
    monkeypatch.setattr(
        socket, "getaddrinfo", lambda *_, **__: (_ for _ in ()).throw(socket.gaierror(-2, "no name"))
    )
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with pytest.raises(DownloadError, match=r"cannot find ud\.example \(no name\); is there a connection"):
        Catalogue(Client(), "https://ud.example").repositories()


def test_a_server_that_says_nothing(tmp_path, observer):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        client = Client(timeout=0.05, pause=observer.pauses.append)
        catalogue = Catalogue(client, f"http://127.0.0.1:{silent.getsockname()[1]}")
        with pytest.raises(DownloadError, match="no answer in time; tried 5 times"):
            catalogue.repositories()


def test_a_proxy_is_not_asked_about_this_computer(get, monkeypatch):
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    get()


# Wrong and hostile answers


def test_wrong_content_is_refused_and_forgotten(get, github, danish_files, tmp_path):
    wrong = danish_files[TRAIN][:-1] + b"!"
    github.faults.append(always(TRAIN, lambda r: r.send_content(wrong)))
    with pytest.raises(DownloadError, match=f"wrong checksum: expected {git_sha1(danish_files[TRAIN])}"):
        get()
    data = tmp_path / "treebanks"
    assert not (data / "UD_Danish-DDT").exists()
    assert not list(data.glob("*/*.part*"))
    github.faults.clear()
    assert contents(get().path)[TRAIN] == danish_files[TRAIN]


@pytest.mark.parametrize("length", [None, 10**12])
def test_more_than_was_announced_is_cut_off(get, github, danish_files, tmp_path, length):
    endless = danish_files[TRAIN] + b"x" * 300_000

    def act(request) -> None:
        try:
            request.answer(endless, length=length)
        except OSError:  # we hang up
            request.close_connection = True

    github.faults.append(always(TRAIN, act))
    with pytest.raises(DownloadError, match="the server sends more; nothing of it is kept"):
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
def test_names_that_lead_elsewhere_are_refused(get, github, tmp_path, name):
    entry = {"path": name, "mode": "100644", "type": "blob", "sha": "0" * 40, "size": 1}
    github.listing = lambda entries: [*entries, entry]
    with pytest.raises(DownloadError, match="expected plain names of files"):
        get()
    assert not (tmp_path / "treebanks").exists()


@pytest.mark.parametrize(
    ("entry", "match"),
    [
        ({"size": -1}, "expected at most"),
        ({"size": 1 << 50}, "expected at most"),
        ({"size": "5"}, "size: expected int, got str"),
        ({"size": True}, "size: expected int"),
        ({"size": None}, "size: expected int"),
        ({"sha": "zz"}, "expected 40 hexadecimal digits"),
        ({"path": 5}, "path: expected str"),
        ({"path": "README.MD"}, "the same name stands there twice"),
    ],
)
def test_listings_that_make_no_sense(get, github, entry, match):
    whole = {
        "path": "x-ud-train.conllu",
        "mode": "100644",
        "type": "blob",
        "sha": "0" * 40,
        "size": 1,
        **entry,
    }
    github.listing = lambda entries: [*entries, whole]
    with pytest.raises(DownloadError, match=match):
        get()


def test_links_folders_and_other_files_are_left_out(get, github, danish_files):
    link = {"path": "zz-ud-train.conllu", "mode": "120000", "type": "blob", "sha": "0" * 40, "size": 1}
    program = {"path": "run.sh", "mode": "100755", "type": "blob", "sha": "0" * 40, "size": 1}
    github.listing = lambda entries: [*entries, link, program]
    assert contents(get().path).keys() == {*danish_files, "README.md", "LICENSE.txt"}
    github.listing = lambda entries: [entry for entry in entries if "-ud-" not in entry["path"]]
    with pytest.raises(DownloadError, match=r"UD_Danish-Other r2\.14 has no files of a treebank"):
        get(TreebankName("UD_Danish-Other"))


@pytest.mark.parametrize(
    ("body", "match"),
    [
        (b"<html>", "expected JSON, got '<html>'"),
        (b"\xff\xfe\x00", "expected JSON"),
        (b"[" * 100_000, "expected JSON"),
        (b"{}", "expected a list, got dict"),
        (b"[1]", "name: expected str, got int"),
        (b'[{"name": "r2.14"}]', "commit: expected dict"),
        (b'[{"name": "r2.14", "commit": {"sha": "../../x"}}]', "expected 40 hexadecimal digits"),
        (b"", "expected JSON"),
    ],
)
def test_answers_that_make_no_sense(get, github, body, match):
    github.faults.append(always("/tags?per_page=100", lambda r: r.answer(body)))
    with pytest.raises(DownloadError, match=match):
        get()


def test_answers_without_end(get, github, monkeypatch):
    monkeypatch.setattr("arbora.storage.ud.http.LONGEST_ANSWER", 1000)
    github.faults.append(always("/tags?per_page=100", lambda r: r.answer(b" " * 5000)))
    with pytest.raises(DownloadError, match="the answer is longer than 1,000 bytes"):
        get()


def test_half_an_answer_is_asked_for_again(get, github, observer):
    github.faults.append(once("/tags?per_page=100", lambda r: r.answer(b'[{"name', length=500)))
    get()
    assert observer.pauses == [0.5]


def test_pages_without_end(github, observer):
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
    ],
)
def test_redirects_to_other_protocols_are_refused(get, github, tmp_path, where):
    github.faults.append(always(TRAIN, lambda r: r.answer(b"", 302, {"Location": where})))
    with pytest.raises(DownloadError, match=r"the server sends us on to .*, which is refused"):
        get()
    assert not (tmp_path / "treebanks" / "UD_Danish-DDT").exists()


def test_redirects_within_reason_are_followed(get, github, danish_files, observer):
    new = f"{github.url}/api/repos/UniversalDependencies/UD_Danish-DDT/tags?per_page=100"
    github.faults.append(
        once("/UD_Danish-DDT/tags?per_page=100", lambda r: r.answer(b"", 301, {"Location": new}))
    )
    assert contents(get().path)[TRAIN] == danish_files[TRAIN]
    github.faults.append(always("/tags?per_page=100", lambda r: r.answer(b"", 302, {"Location": r.path})))
    with pytest.raises(DownloadError, match="at most 5 times"):
        get(TreebankName("UD_Danish-Other"))


@pytest.mark.parametrize(
    "url", ["http://example.org", "file:///etc", "ftp://x", "x", "//127.0.0.1", "https://"]
)
def test_addresses_that_are_refused(url):
    with pytest.raises(DownloadError, match="expected an address that begins with https://"):
        Catalogue(Client(), url)


def test_no_way_back_from_https():
    require_safe("http://127.0.0.1/x")
    require_safe("http://[::1]/x", before="http://localhost/y")
    require_safe("https://example.org", before="http://127.0.0.1")
    with pytest.raises(DownloadError, match="refused"):
        require_safe("http://127.0.0.1/x", before="https://example.org")


# What is there already


def test_what_is_there_stays_unless_told(get, github, danish_files):
    folder = get()
    with pytest.raises(InputError, match="is there already; --replace"):
        get()
    (folder.path / TRAIN).write_bytes(b"changed")
    assert list(folder.manifest.faults(folder.path)) == [
        f"{TRAIN}: expected {len(danish_files[TRAIN]):,} bytes, got 7"
    ]
    folder = get(replace=True)
    assert contents(folder.path)[TRAIN] == danish_files[TRAIN]
    assert [path.name for path in folder.path.parent.iterdir()] == ["UD_Danish-DDT"]


def test_what_did_not_come_with_a_download_is_not_replaced(get, tmp_path):
    folder = get()
    (folder.path / "notes.txt").write_text("mine")
    with pytest.raises(InputError, match=r"is not replaced: notes\.txt did not come with a download"):
        get(replace=True)
    mine = tmp_path / "treebanks" / "UD_Danish-Other"
    mine.mkdir()
    (mine / "da-ud-train.conllu").write_text("")
    with pytest.raises(InputError, match=r"da-ud-train\.conllu did not come with a download"):
        get(TreebankName("UD_Danish-Other"), replace=True)


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
        "null",
    ],
)
def test_a_damaged_manifest_is_said_and_replaced(get, danish_files, text):
    folder = get()
    (folder.path / MANIFEST).write_text(text, encoding="latin-1")
    with pytest.raises(DataError, match=r"damaged .*--replace"):
        Manifest.load(folder.path)
    assert list(get(replace=True).manifest.faults(folder.path)) == []


def test_faults_of_files(get):
    folder = get()
    content = (folder.path / TRAIN).read_bytes()
    (folder.path / TRAIN).write_bytes(b"X" + content[1:])
    (folder.path / "README.md").unlink()
    first, second = folder.manifest.faults(folder.path)
    assert first == "README.md: missing"
    assert second.startswith(f"{TRAIN}: expected SHA-256 ")


def test_when_the_last_step_fails_the_old_files_come_back(get, github, danish_files, monkeypatch):
    folder = get()
    before = contents(folder.path)
    rename = Path.rename

    def failing(self, target):
        if self.name.endswith(".partial"):
            raise OSError(errno.EACCES, "no")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", failing)
    with pytest.raises(OSError, match="no"):
        get(replace=True)
    assert contents(folder.path) == before


# Disks


def test_a_disk_without_room_is_seen_before(get, monkeypatch):
    usage = type("Usage", (), {"free": 20 << 20})()
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: usage)
    monkeypatch.setattr(module, "ROOM", 20 << 20)
    with pytest.raises(DownloadError, match=r"bytes free, and .* are needed; make room"):
        get()


def test_a_disk_that_fills_up_keeps_what_is_there(get, github, danish_files, monkeypatch, tmp_path):
    write = os.write

    def full(descriptor, piece):
        if len(piece) > 5000:
            write(descriptor, piece[:3000])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(descriptor, piece)

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space left") as caught:
        get()
    assert caught.value.filename.endswith(".part")
    monkeypatch.undo()
    github.requests.clear()
    assert contents(get().path)[TRAIN] == danish_files[TRAIN]
    assert any("Range" in headers for _, headers in github.requests)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_to(get, tmp_path):
    (tmp_path / "treebanks").mkdir(mode=0o500)
    with pytest.raises(PermissionError):
        get()


def test_a_release_without_words_says_so(github, get):
    github.repositories["UD_Danish-Other"]["r2.14"]["README.md"] = (
        b"Includes text: no\nLicense: X \x1b[31m Y\n"
    )
    manifest = get(TreebankName("UD_Danish-Other")).manifest
    assert not manifest.includes_text
    assert manifest.licence == "X [31m Y"


@pytest.mark.skipif(shutil.which("openssl") is None, reason="needs the program openssl to make a certificate")
def test_a_certificate_that_nobody_vouches_for(tmp_path, monkeypatch):
    """Refused, unless this computer is told to trust it; plain http is no way around."""
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
            """Those who hang up are expected."""

    with Server(("127.0.0.1", 0), Handler) as server:
        server.socket = context.wrap_socket(server.socket, server_side=True)
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            catalogue = Catalogue(Client(timeout=5), f"https://localhost:{server.server_port}")
            with pytest.raises(
                DownloadError, match=r"the server's certificate is not valid .*nothing was fetched"
            ):
                catalogue.repositories()
            monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
            http._certificates.cache_clear()
            assert [found.name for found in catalogue.repositories()] == ["UD_Danish-DDT"]
        finally:
            http._certificates.cache_clear()
            server.shutdown()
            thread.join()
