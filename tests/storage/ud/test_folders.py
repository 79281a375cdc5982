"""Names of treebanks and of their parts, and treebanks on disk."""

from pathlib import Path

import pytest

pytest.importorskip("httpx", reason="downloads need httpx (extra: data)")
from arbora.errors import DataError, InputError
from arbora.storage.ud.folders import (
    FILE,
    Folder,
    TreebankName,
    _cache,
    advice,
    clean,
    data_folder,
    find,
    find_part,
    installed,
    language_of,
    readme_metadata,
)
from arbora.storage.ud.github import nearest


@pytest.mark.parametrize(
    ("text", "repository", "release"),
    [
        ("UD_Danish-DDT", "UD_Danish-DDT", None),
        ("UD_Danish-DDT_r2.14", "UD_Danish-DDT", "r2.14"),
        ("UD_Old_Church_Slavonic-PROIEL", "UD_Old_Church_Slavonic-PROIEL", None),
        ("UD_Swedish_Sign_Language-SSLC_r2.15.1", "UD_Swedish_Sign_Language-SSLC", "r2.15.1"),
    ],
)
def test_names(text, repository, release):
    name = TreebankName.parse(text)
    assert (name.repository, name.release, name.folder) == (repository, release, text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Danish",
        "UD_Danish",
        "UD_Danish-",
        "../UD_Danish-DDT",
        "UD_Danish-DDT/test",
        "UD_Danish-DDT_r2",
        "ud_danish-ddt",
        "UD_Danish-DDT\n",
        "UD_D\u0430nish-DDT",
        "UD_Danish-DDT?x",
        "UD_Danish-DDT_r٢.١",
    ],
)
def test_other_names_are_rejected(text):
    with pytest.raises(InputError):
        TreebankName.parse(text)


@pytest.mark.parametrize(
    ("file", "part", "code"),
    [
        ("da_ddt-ud-train.conllu", "train", "da_ddt"),
        ("cs_pdt-ud-train-c.conllu", "train", "cs_pdt"),
        ("eu-ud-dev.conllu", "dev", "eu"),
        ("sv-ud-test.conll", "test", "sv"),
        ("danish_ddt_test.conll", "test", "danish_ddt"),
        ("train.conllu", "train", None),
        ("my-dev.conllu.gz", "dev", "my"),
        ("README.md", None, None),
        ("latest.conllu", None, None),
        ("trainer.conllu", None, None),
    ],
)
def test_files(file, part, code):
    match = FILE.fullmatch(file)
    assert (match and match[1], match and match[2]) == (code, part)


def test_languages_and_similar_names():
    assert language_of("UD_Old_Church_Slavonic-PROIEL") == "Old Church Slavonic"
    assert language_of("mine") == ""
    assert nearest("ud_danish-dtd", ["UD_Danish-DDT", "UD_Zulu-X"]) == ["UD_Danish-DDT"]


def test_where_treebanks_are(monkeypatch, tmp_path):
    monkeypatch.setenv("ARBORA_DATA", str(tmp_path))
    assert data_folder() == tmp_path
    monkeypatch.setenv("ARBORA_DATA", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    assert data_folder() == tmp_path / "arbora" / "treebanks"
    monkeypatch.setenv("HOME", "/home/x")
    assert _cache("linux", {"XDG_CACHE_HOME": "not/absolute"}) == Path("/home/x/.cache")
    assert _cache("darwin", {}) == Path("/home/x/Library/Caches")
    assert _cache("win32", {"LOCALAPPDATA": "C:/x"}) == Path("C:/x")


@pytest.fixture
def data(tmp_path, monkeypatch):
    """Treebanks as people have them, without manifests."""
    danish = tmp_path / "UD_Danish-DDT"
    pieces = tmp_path / "UD_Czech-PDT_r2.5"
    for path in (danish, pieces, tmp_path / "empty", tmp_path / ".UD_Hidden-X.partial"):
        path.mkdir()
    (danish / "da_ddt-ud-train.conllu").write_text("1234")
    (danish / "da_ddt-ud-test.conllu").write_text("12")
    (danish / "README.md").write_text("License: first\nLicense: CC0 \nContributors: X, Y\n")
    (pieces / "cs_pdt-ud-train-l.conllu").write_text("")
    (pieces / "cs_pdt-ud-train-c.conllu").write_text("")
    (tmp_path / ".UD_Hidden-X.partial" / "x-ud-train.conllu").write_text("")
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("ARBORA_DATA", str(tmp_path))
    return tmp_path


def test_installed_treebanks_are_listed(data):
    assert [folder.name for folder in installed()] == ["UD_Czech-PDT_r2.5", "UD_Danish-DDT"]
    assert installed(data / "nowhere") == []
    danish = find("UD_Danish-DDT")
    assert list(danish.parts) == ["train", "test"]
    assert (danish.code, danish.size, danish.manifest) == ("da_ddt", 6, None)
    assert (danish.origin.licence, danish.origin.attribution) == ("CC0", "UD_Danish-DDT, by X, Y")
    names = [path.name for path in find("UD_Czech-PDT_r2.5").files("train")]
    assert names == ["cs_pdt-ud-train-c.conllu", "cs_pdt-ud-train-l.conllu"]
    with pytest.raises(DataError) as error:
        danish.files("dev")
    assert error.value.source == "UD_Danish-DDT"


def test_files_of_different_treebanks_are_not_one_part(data):
    (data / "UD_Danish-DDT" / "da_ddt-ud-train-train.conllu").write_text("")  # as a part of the same one
    assert len(find("UD_Danish-DDT").files("train")) == 2
    (data / "UD_Danish-DDT" / "other_train.conllu").write_text("")
    with pytest.raises(DataError):
        find("UD_Danish-DDT").files("train")


def test_finding_by_name_and_by_path(data, monkeypatch, tmp_path_factory):
    assert find_part("UD_Danish-DDT/test") == (Folder(data / "UD_Danish-DDT"), "test")
    assert find_part("UD_Danish-DDT") == (Folder(data / "UD_Danish-DDT"), None)
    assert find_part(f"{data}/UD_Danish-DDT/train") == (Folder(data / "UD_Danish-DDT"), "train")
    for name in ("UD_Danish-DDT/other", "empty", "/test", "test", "UD_Danish-DDT/../x/test", "file", ""):
        assert find_part(name) is None
    with pytest.raises(InputError):
        find("UD_Danish-DDTT")
    assert "did you mean UD_Danish-DDT/test?" in advice("UD_Danish-DTD/test")
    assert "`arbora data get UD_Zulu-X` downloads it" in advice("UD_Zulu-X/test")
    assert advice("train.conllu") is None


def test_readme_metadata(tmp_path):
    path = tmp_path / "README.md"
    path.write_bytes(
        b"License: no\n=== Machine-readable metadata ===\nLicense: \xff\x1b]0;x\x07 " + b"x" * 5000
    )
    found = readme_metadata(tmp_path)
    assert found["License"].startswith("\ufffd ]0;x x")
    assert len(found["License"]) == 2000
    assert clean("a\tb\u202e\nc ") == "a b c"


def test_real_folders(treebank_dir):
    found = {folder.name: folder for folder in installed(treebank_dir)}
    english = found.get("UD_English-EWT")
    if english is None:
        pytest.skip(f"needs UD_English-EWT in {treebank_dir}; set ARBORA_DATA to where it is")
    assert english.code == "en_ewt"
    assert {"train", "dev"} <= set(english.parts)
    assert english.origin.licence == "CC BY-SA 4.0"
    assert "Silveira, Natalia" in english.origin.attribution
