"""`arbora get` and `arbora list models`: from the name of a language to a model that has this name."""

import json

import pytest
from fake_github import FakeGitHub, serving
from pipeline_toys import conllu

import arbora as package
from arbora.cli import get

TEXT = "Ann visits the dogs."


@pytest.fixture
def github(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    get._obtainable.cache_clear()
    found = FakeGitHub()
    small, large, dev = conllu(30).encode(), conllu(60).encode(), conllu(20, 1).encode()
    found.add("UD_Danish-Old", "r2.14", {"da_old-ud-train.conllu": small})
    found.add("UD_Danish-DDT", "r2.14", {"da_ddt-ud-train.conllu": large, "da_ddt-ud-dev.conllu": dev})
    unspaced = b"\n".join(
        line.replace(b"SpaceAfter=No", b"_") for line in small.splitlines() if not line.startswith(b"# text")
    )
    found.add("UD_Old_Zulu-New", "r2.14", {"zu_new-ud-train.conllu": unspaced + b"\n"})
    with serving(found):
        monkeypatch.setenv("ARBORA_UD_URL", found.url)
        monkeypatch.setenv("ARBORA_DATA", str(tmp_path / "treebanks"))
        monkeypatch.setenv("ARBORA_MODELS", str(tmp_path / "models"))
        yield found


def test_a_treebank_becomes_a_model_with_a_name(github, arbora, tmp_path):
    result = arbora("get", "UD_Danish-DDT", "--threads", 1)
    assert result.status == 0
    assert "CC BY-SA 4.0" in result.stderr
    assert (tmp_path / "models" / "danish-ddt.arbora").exists()
    assert not list((tmp_path / "models").glob("*.checkpoint"))
    nlp = package.load("danish-ddt")
    assert [word.form for word in nlp(TEXT)[0]] == ["Ann", "visits", "the", "dogs", "."]
    assert nlp.parser.is_calibrated
    assert arbora("parse", "-m", "danish-ddt", TEXT).status == 0
    github.requests.clear()
    again = arbora("get", "UD_Danish-DDT")
    assert (again.status, again.stdout, github.requests) == (0, "", [])


def test_an_interrupted_training_is_continued(github, arbora, tmp_path, monkeypatch):
    """Also where Ctrl-C has left the best model so far; --replace begins anew."""
    given = []

    def interrupted(*arguments, **options):
        given.append(options["resume"])
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(get, "train", interrupted)
        assert arbora("get", "UD_Danish-DDT_r2.14").status == 130
        folder = tmp_path / "models"
        for name in ("danish-ddt_r2.14.arbora", "danish-ddt_r2.14.arbora.checkpoint"):
            (folder / name).write_bytes(b"x")
        result = arbora("get", "UD_Danish-DDT_r2.14")
        assert result.status == 130
        assert "`arbora get UD_Danish-DDT_r2.14` continues" in result.stderr
        assert arbora("get", "UD_Danish-DDT_r2.14", "--replace").status == 130
    assert given == [False, True, False]
    assert arbora("get", "UD_Danish-DDT_r2.14", "--replace", "-q").status == 0
    assert package.load("danish-ddt_r2.14").parser.gives_labels
    assert arbora("get", "UD_Danish-DDT", "--threads", 0).status == 2


def test_a_language_stands_for_its_largest_treebank(github, arbora, tmp_path):
    assert arbora("data", "get", "UD_Danish-DDT", "UD_Danish-Old", "-q").status == 0
    github.requests.clear()
    result = arbora("get", "Danish", "--quiet", "--json")
    assert result.status == 0
    assert github.requests == []  # both are on disk
    found = json.loads(result.stdout)
    assert found["data"][0]["name"] == "UD_Danish-DDT r2.14"
    assert package.load("danish").source == str(tmp_path / "models" / "danish.arbora")


def test_without_dev_and_without_spaces(github, arbora):
    """A part is held out, and the segmenter guesses spaces."""
    result = arbora("get", "old_zulu", "--threads", 1)
    assert result.status == 0
    nlp = package.load("old_zulu")
    assert nlp.segmenter is not None
    assert nlp.parser.is_calibrated
    assert "las" in nlp.about["dev"]


@pytest.mark.parametrize("name", ["english", "dannish", "UD_Danish", "../danish", ""])
def test_other_names_are_rejected(github, arbora, name):
    assert arbora("get", name).status == 2


def test_a_typo_is_explained_without_a_network_too(github, arbora, monkeypatch):
    assert arbora("data", "get", "UD_Danish-DDT", "-q").status == 0
    monkeypatch.setenv("ARBORA_UD_URL", "http://127.0.0.1:9")
    result = arbora("get", "dannish")
    assert result.status == 2
    assert "danish?" in result.stderr
    assert arbora("get", "klingon").status == 1


def test_models_are_listed_with_their_state(github, arbora, monkeypatch):
    assert arbora("get", "UD_Danish-DDT", "-q").status == 0
    rows = json.loads(arbora("list", "models", "--json").stdout)
    assert {row["name"]: row["state"] for row in rows} == {
        "english": "bundled",
        "danish-ddt": "installed",
        "danish": "obtainable",
        "old_zulu": "obtainable",
    }
    get._obtainable.cache_clear()
    monkeypatch.setenv("ARBORA_UD_URL", "http://127.0.0.1:9")
    offline = arbora("list", "models")
    assert offline.status == 0
    assert "old_zulu" not in offline.stdout
