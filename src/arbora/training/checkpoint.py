"""Checkpoints of a training: after each epoch all that is needed to go on, to the same bytes.

A checkpoint is a model file of kind `checkpoint`: the weights of finished stages, the best weights of the
present one, and the learner's state. It holds the configuration and a checksum of the data; another training
cannot resume from it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from arbora.errors import ModelError
from arbora.interfaces import Progress
from arbora.learners.stage import Best
from arbora.storage.model_file import read_model, write_model

KIND = "checkpoint"
Finished: TypeAlias = dict[str, tuple[NDArray[Any], list[dict[str, Any]]]]
"""The results of stages, weights or a guide's trees, and the reports of their epochs."""


class Checkpoint:
    """A file that is written after each epoch; nothing is written without a path."""

    def __init__(self, path: str | os.PathLike[str] | None, training: Mapping[str, Any]) -> None:
        """`training`: what must be the same to resume, as JSON can hold it."""
        self.path = None if path is None else Path(path)
        self._training = dict(training)
        self.finished: Finished = {}
        self.stage = ""
        """The stage that `load` found unfinished."""
        self.going_on: tuple[Mapping[str, NDArray[Any]], Best] | None = None
        """Its learner's state and its best epoch."""

    def save(self, stage: str, progress: Progress, best: Best) -> None:
        """Replace the file."""
        if self.path is None or best.weights is None:
            return
        tensors: dict[str, NDArray[Any]] = {f"finished.{name}": w for name, (w, _) in self.finished.items()}
        tensors["best"] = best.weights
        state = progress.state()
        flags = [name for name, array in state.items() if array.dtype == np.bool_]
        tensors.update({f"state.{k}": v.astype(np.uint8) if k in flags else v for k, v in state.items()})
        metadata = {
            "kind": KIND,
            "training": self._training,
            "stage": stage,
            "finished": [[name, reports] for name, (_, reports) in self.finished.items()],
            "best": {"score": best.score, "epoch": best.epoch, "reports": best.reports},
            "flags": flags,
        }
        write_model(self.path, tensors, metadata)

    def load(self) -> None:
        """Read the file, if there is one; ModelError if it is of another training."""
        if self.path is None or not self.path.exists():
            return
        file = read_model(self.path, verify=True)
        file.require_kind(KIND, "a checkpoint of a training")
        theirs = file.entry("training", dict)
        changed = "; ".join(_changes(theirs, self._training))
        if changed:
            raise ModelError(
                f"the checkpoint is of another training: {changed}; resume with the same settings and data, "
                "or start again without --resume",
                source=file.source,
            )
        best, flags = file.entry("best", dict), file.entry("flags", list)
        for name, reports in file.entry("finished", list):
            self.finished[name] = (np.array(file.tensors[f"finished.{name}"]), reports)
        state = {
            name.removeprefix("state."): np.array(array, dtype=np.bool_ if name[6:] in flags else array.dtype)
            for name, array in file.tensors.items()
            if name.startswith("state.")
        }
        kept = Best(np.array(file.tensors["best"]), best["score"], best["epoch"], best["reports"])
        self.stage, self.going_on = file.entry("stage", str), (state, kept)


def _changes(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> Iterator[str]:
    """The differences, setting by setting."""
    for name in sorted({*theirs, *ours}):
        then, now = theirs.get(name), ours.get(name)
        if isinstance(then, Mapping) and isinstance(now, Mapping):
            yield from _changes(then, now)
        elif then != now and name == "data":
            yield "the treebanks have changed"
        elif then != now:
            yield f"{name} was {then!r}, now it is {now!r}"
