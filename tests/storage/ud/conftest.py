"""A small Danish treebank on a server that does as GitHub does."""

from __future__ import annotations

import pytest
from fake_github import FakeGitHub, serving

from arbora.data.synthetic import generate
from arbora.progress import Silent
from arbora.storage.ud.github import Catalogue, Client

DANISH = "UD_Danish-DDT"


def treebank(sentences: int, seed: int) -> bytes:
    return "".join(sentence.to_conllu() for sentence in generate(sentences, seed=seed)).encode()


@pytest.fixture(scope="session")
def danish_files() -> dict[str, bytes]:
    counts = {"train": 300, "dev": 40, "test": 40}
    return {
        f"da_ddt-ud-{part}.conllu": treebank(count, seed)
        for seed, (part, count) in enumerate(counts.items(), start=1)
    }


@pytest.fixture
def github(danish_files):
    found = FakeGitHub()
    older = {name: content + content for name, content in danish_files.items()}
    found.add(DANISH, "r2.9", older)
    found.add(DANISH, "r2.14", danish_files)
    found.add("UD_Danish-Other", "r2.14", {"da_other-ud-test.conllu": treebank(5, 1)})
    found.add("UD_Old_French-SRCMF", "r2.14", {"fro_srcmf-ud-train.conllu": treebank(5, 1)})
    found.add("docs", "v1", {})
    found.repositories["UD_Klingon-New"] = {}
    with serving(found):
        yield found


class Observer(Silent):
    def __init__(self) -> None:
        self.notes: list[str] = []
        self.pauses: list[float] = []
        self.total = self.bytes = 0

    def begin(self, task, total, **options) -> None:
        self.total = total

    def advance(self, steps=1) -> None:
        self.bytes += steps

    def note(self, text) -> None:
        self.notes.append(text)


@pytest.fixture
def observer() -> Observer:
    return Observer()


@pytest.fixture
def catalogue(github, observer) -> Catalogue:
    client = Client(timeout=2, note=observer.note, pause=observer.pauses.append)
    return Catalogue(client, github.url)
