"""Train a model for Arborator in a separate process, which a shutdown ends at once."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from arbora.pipeline.pipeline import load
from arbora.web.api import Rejected

SHARE = "10%"
"""Of the sentences, held out to evaluate on."""
FEWEST = 20
"""Fewer sentences than this are all trained on."""
MODEL = "model.arbora"
WORKING = ".training-"
"""The prefix of the folders of running trainings."""


@dataclass(frozen=True)
class Settings:
    """A training's data and settings."""

    treebank: str
    sentences: int
    epochs: int
    base: Sequence[str] = ()
    """Options that name a model to start from."""


def base_options(model: Path) -> list[str]:
    """Options that name a model to start from: its weights, or as features the trees of a linear parser."""
    is_network = load(model).parser.search.name == "neural"
    return ["--from" if is_network else "--stack", str(model.resolve())]


@asynccontextmanager
async def trained(settings: Settings, folder: Path) -> AsyncIterator[tuple[Path, dict[str, Any]]]:
    """The file of a new model in a folder that is removed at the end, and what `arbora train --json` printed.

    Rejected with the message of the training if it fails.
    """
    work = Path(tempfile.mkdtemp(prefix=WORKING, dir=folder))
    try:
        (work / "train.conllu").write_text(settings.treebank, encoding="utf-8")
        held_out = ["--dev", SHARE] if settings.sentences >= FEWEST else []
        options = ["-o", MODEL, "--epochs", str(settings.epochs), "--lenient", "--quiet", "--json"]
        printed = await _run(["train.conllu", *options, *held_out, *settings.base], work)
        yield work / MODEL, msgspec.json.decode(printed)
    finally:
        shutil.rmtree(work, ignore_errors=True)


async def _run(arguments: Sequence[str], folder: Path) -> bytes:
    """What `arbora train` prints in a folder; the process is killed if the task is cancelled."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "arbora", "train", *arguments),
        cwd=folder,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,  # Ctrl-C is for the server
    )
    try:
        printed, errors = await process.communicate()
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            await process.wait()
    if process.returncode != 0:
        message = errors.decode("utf-8", "replace").rpartition("error: ")[2]
        raise Rejected(422, "not_trained", " ".join(message.split())[:500] or "the training ended early")
    return printed


def scores_of(report: Mapping[str, Any]) -> dict[str, Any]:
    """The best epoch's scores under Arborator's names, from 0 to 1; parts that were not trained have none."""
    return _scores(report["parts"]["dev"], report["best_epoch"])


def history_of(report: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The scores after each epoch of the parser's training."""
    return [_scores(each["dev"], each["epoch"]) for each in report["epochs"] if "las" in each["dev"]]


NAMES = {
    "LAS_epoch": "las",
    "LAS_chuliu_epoch": "las",
    "acc_head_epoch": "uas",
    "acc_uposs_epoch": "upos",
    "acc_xposs_epoch": "xpos",
    "acc_feats_epoch": "feats",
    "acc_lemma_scripts_epoch": "lemmas",
}


def _scores(found: Mapping[str, Any], epoch: Any) -> dict[str, Any]:
    scores = {
        name: found[own] / 100 for name, own in NAMES.items() if isinstance(found.get(own), int | float)
    }
    return {**scores, "training_diagnostics": {"epoch": epoch}}


def clean(folder: Path) -> None:
    """Remove the remains of a killed server's trainings."""
    for path in folder.glob(f"{WORKING}*"):
        shutil.rmtree(path, ignore_errors=True)
