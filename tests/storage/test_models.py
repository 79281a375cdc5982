"""Models that come with Arbora have names; files go first."""

import shutil

from errors import rejects

import arbora
from arbora.errors import ModelError
from arbora.storage.models import BUNDLED, find_model, is_named


def test_the_english_model_has_a_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert find_model() == find_model("english") == find_model("English") == BUNDLED["english"]
    assert repr(arbora.load("english")) == repr(arbora.load())
    assert find_model("da.arbora") == "da.arbora"
    assert find_model(tmp_path / "da.arbora") == tmp_path / "da.arbora"


def test_a_file_of_that_name_goes_first(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "english").write_text("no model")
    assert not is_named("english")
    with rejects(ModelError, source="english"):
        arbora.load("english")
    shutil.copy(BUNDLED["english"], "english")
    assert arbora.load("english").source == "english"
    assert arbora.load().source == str(BUNDLED["english"])


def test_unknown_names_are_rejected(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with rejects(ModelError, source="danish"):
        arbora.load("danish")
    with rejects(ModelError, source="danish.arbora"):
        arbora.load("danish.arbora")
    monkeypatch.setitem(BUNDLED, "english", tmp_path / "gone.arbora")
    with rejects(ModelError, source="english"):
        arbora.load()
