"""Arborator's parser server: the requests of its backend, one after the other, as it sends them."""

import asyncio
import json
import os
import signal
from contextlib import asynccontextmanager

import pytest

pytest.importorskip("starlette", reason="the server needs starlette (extra: serve)")
pytest.importorskip("msgspec", reason="the server needs msgspec (extra: serve)")

import pipeline_toys
from serving_toys import JSON, Client, engine

from arbora.data.columns import parse_text
from arbora.data.synthetic import generate
from arbora.web.doors import training
from arbora.web.doors.arborator import ParsingSettings, parse_keeping
from arbora.web.doors.catalog import Catalog, ModelInfo
from arbora.web.limits import Limits
from arbora.web.serving import Engine

TREEBANK = "".join(sentence.to_conllu() for sentence in generate(30, seed=1))
OWN = {"project_name": "arbora", "model_id": "toy"}
NOTHING_KEPT = dict.fromkeys(ParsingSettings.__struct_fields__, "NONE")
SAMPLE = (
    "# sent_id = a-1\n# user_id = kim\n"
    "1\tAnn\t_\tNOUN\t_\t_\t2\tmy:own\t_\tGloss=x\n"
    "2\tvisits\t_\t_\t_\t_\t_\t_\t_\t_\n\n"
)


class Backend:
    """Sends what `ArboratorParserAPI` sends."""

    def __init__(self, folder, limits=None, model=None):
        self.client = Client(limits, model or engine(), models=folder)

    async def get(self, path):
        reply = await self.client.call("GET", f"/parser/models{path}")
        return reply.json

    async def post(self, path, data, status=200, **headers):
        body = json.dumps(data).encode()
        reply = await self.client.call("POST", f"/parser/models{path}", body, {**JSON, **headers})
        assert reply.status == status, reply.body
        assert reply.json["status"] in ("success", "failure")
        return reply.json

    async def delete(self, path):
        return (await self.client.call("DELETE", f"/parser/models{path}")).json

    async def train(self, project, samples, epochs=2, base=None):
        data = {"project_name": project, "train_samples": samples, "max_epoch": epochs, "base_model": base}
        return await self.post("/train/start", data)

    async def until_ready(self, path, data):
        for _ in range(600):
            reply = await self.post(path, data)
            if reply["status"] == "failure" or reply["data"]["ready"]:
                return reply
            await asyncio.sleep(0.05)
        raise AssertionError("never ready")

    async def trained(self, started):
        return await self.until_ready("/train/status", started["data"])

    async def parsed(self, info, samples, **settings):
        data = {"model_info": info, "to_parse_samples": samples}
        started = await self.post("/parse/start", {**data, "parsing_settings": {**NOTHING_KEPT, **settings}})
        if started["status"] == "failure":
            return started
        return await self.until_ready("/parse/status", {"parse_task_id": started["data"]["parse_task_id"]})


@asynccontextmanager
async def running(backend):
    """The backend's server, started and stopped as uvicorn does."""
    async with backend.client.application.router.lifespan_context(backend.client.application):
        yield backend


def test_training_and_parsing(tmp_path):
    """One session: list, train, ask until it is ready, parse, delete; then the server starts again."""

    async def session():
        async with running(Backend(tmp_path)) as backend:
            assert await backend.get("/list") == {
                "status": "success",
                "data": [{"model_info": OWN, "scores_best": {}}],
            }
            started = await backend.train("../../other", {"a": TREEBANK, "b/../c": TREEBANK})
            info = started["data"]["model_info"]
            assert info["project_name"] == "../../other"
            waiting = await backend.post("/train/status", started["data"])
            assert waiting["data"] == {"ready": False, "scores_history": None, "scores_best": None}
            missing = await backend.parsed(info, {"a": SAMPLE})  # not before it is trained
            assert missing["status"] == "failure"
            done = (await backend.trained(started))["data"]
            assert done["model_info"] == info
            assert 0 < done["scores_best"]["LAS_chuliu_epoch"] <= done["scores_best"]["acc_head_epoch"] <= 1
            assert done["scores_best"]["training_diagnostics"]["epoch"] in (1, 2)
            assert len(done["scores_history"]) == 2
            (_, listed) = (await backend.get("/list"))["data"]
            assert listed == {"model_info": info, "scores_best": done["scores_best"]}
            found = await backend.parsed(info, {"x/../y": SAMPLE, "empty": ""})
            (sentence,) = parse_text(found["data"]["parsed_samples"]["x/../y"]).sentences()
            assert sentence.comments == ("# sent_id = a-1", "# user_id = kim")
            assert sentence.heads.count(0) == 1
            assert found["data"]["parsed_samples"]["empty"] == ""
            assert found["data"]["model_info"] == info
            return info

    info = asyncio.run(session())
    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".arbora", ".json"]
    assert {path.stem for path in tmp_path.iterdir()} == {info["model_id"]}
    (tmp_path / ".training-old").mkdir()

    async def again():
        async with running(Backend(tmp_path)) as backend:
            assert [each["model_info"] for each in (await backend.get("/list"))["data"]] == [OWN, info]
            settings = training.base_options(tmp_path / f"{info['model_id']}.arbora")
            assert settings[0] == "--stack"
            assert (await backend.delete(f"/list/other/{info['model_id']}"))["status"] == "failure"
            Catalog(tmp_path).remove(ModelInfo(**info))
            assert (await backend.delete("/list/arbora/toy"))["status"] == "failure"

    asyncio.run(again())
    assert list(tmp_path.iterdir()) == []


def test_a_shutdown_ends_the_training(tmp_path, monkeypatch):
    """The process is killed, its folder removed; a second training never begins."""
    processes = []

    async def start():
        create = asyncio.create_subprocess_exec

        async def watched(*arguments, **options):
            processes.append(await create(*arguments, **options))
            return processes[-1]

        monkeypatch.setattr(asyncio, "create_subprocess_exec", watched)
        async with running(Backend(tmp_path)) as backend:
            for _ in range(2):
                await backend.train("p", {"a": TREEBANK * 50}, epochs=1000)
            while not processes:
                await asyncio.sleep(0.01)

    asyncio.run(start())
    (process,) = processes
    assert process.returncode == -signal.SIGKILL
    with pytest.raises(ProcessLookupError):
        os.kill(process.pid, 0)
    assert list(tmp_path.iterdir()) == []


def test_a_failed_training_says_why(tmp_path):
    async def session():
        backend = Backend(tmp_path)
        found = await backend.trained(await backend.train("p", {"a": SAMPLE}))
        assert found["status"] == "failure"
        assert found["error"].startswith("train.conllu: ")
        assert str(tmp_path) not in found["error"]
        assert list(tmp_path.iterdir()) == []

    asyncio.run(session())


def test_what_cannot_be_done_is_a_failure(tmp_path):
    async def session():
        backend = Backend(tmp_path, Limits(sentences=3, words=40, body=100_000))
        unknown = {"project_name": "p", "model_id": "../toy"}
        for reply in (
            await backend.train("p", {"a": TREEBANK}, base=unknown),
            await backend.parsed(unknown, {"a": SAMPLE}),
            await backend.post("/train/status", {"model_info": unknown, "train_task_id": "x"}),
            await backend.post("/parse/status", {"parse_task_id": "../x"}),
            await backend.delete("/list/p/..%2Ftoy"),
        ):
            assert reply["status"] == "failure"
        wanted = {"project_name": "p", "train_samples": {"a": TREEBANK}}
        parsing = {"model_info": OWN, "to_parse_samples": {"a": SAMPLE}}
        for path, data, status in (
            ("/train/start", {"project_name": "p", "train_samples": {"a": "1\tbroken\n"}}, 422),
            ("/train/start", {"project_name": "p", "train_samples": {}}, 422),
            ("/train/start", {"project_name": "", "train_samples": {"a": TREEBANK}}, 422),
            ("/train/start", {**wanted, "max_epoch": 10**6}, 422),
            ("/train/start", {"train_samples": {"a": TREEBANK}}, 422),
            ("/train/start", {"project_name": "p", "train_samples": {"a": "x" * 200_000}}, 413),
            ("/parse/start", {"model_info": OWN, "to_parse_samples": {"a": SAMPLE * 4}}, 413),
            ("/parse/start", {"model_info": OWN, "to_parse_samples": {"a": 3}}, 422),
            ("/parse/start", {"model_info": OWN, "to_parse_samples": {}}, 422),
            ("/parse/start", {**parsing, "parsing_settings": {"keep_upos": "SOME"}}, 422),
        ):
            assert (await backend.post(path, data, status))["status"] == "failure"
        browser = {"origin": "https://evil.example"}
        for path in ("/train/start", "/parse/start"):
            await backend.post(path, {}, 403, **browser)
        await backend.post("/train/start", {}, 415, **{"content-type": "text/plain"})

    asyncio.run(session())


def test_too_many_tasks_are_rejected(tmp_path):
    async def session():
        async with running(Backend(tmp_path)) as backend:
            for _ in range(5):
                assert (await backend.train("p", {"a": TREEBANK}, epochs=1000))["status"] == "success"
            data = {"project_name": "p", "train_samples": {"a": TREEBANK}}
            assert (await backend.post("/train/start", data, 503))["status"] == "failure"

    asyncio.run(session())


def test_there_are_no_such_paths_without_a_folder():
    reply = Client()("GET", "/parser/models/list")
    assert reply.status == 404


def test_columns_are_kept():
    model = Engine(pipeline_toys.trained().pipeline, "toy")
    (given,) = parse_text(SAMPLE).sentences()

    def parsed(**settings):
        (found,) = parse_keeping([given], ParsingSettings(**settings), model)
        assert (found.comments, found.misc) == (given.comments, given.misc)
        return found

    nothing = parsed()
    assert nothing.upos == ("PROPN", "VERB")
    assert nothing.lemmas == ("Ann", "visit")
    assert "my:own" not in nothing.deprels
    some = parsed(keep_upos="EXISTING", keep_heads="EXISTING", keep_deprels="EXISTING")
    assert some.upos == ("NOUN", "VERB")
    assert some.heads == (2, 0)
    assert some.deprels[0] == "my:own"
    assert some.deprels[1] != "_"
    everything = parsed(keep_upos="ALL", keep_lemmas="ALL", keep_heads="ALL", keep_deprels="ALL")
    assert everything.columns()[:3] == given.columns()[:3]
    assert (everything.heads, everything.deprels) == (given.heads, given.deprels)


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b"\xff", b'{"model_info": {"project_name": 1}}'])
def test_strange_files_in_the_folder_are_ignored(tmp_path, content, capsys):
    (tmp_path / "a.json").write_bytes(content)
    (tmp_path / "b.json").write_text(
        '{"model_info": {"project_name": "p", "model_id": "../a"}, "scores_best": {}}'
    )
    assert Catalog(tmp_path).entries() == []
    assert "a.json" in capsys.readouterr().err
