"""Modules and attributes of version 0.1 under their old names. Using one warns and gives that of today."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from importlib import import_module
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

MOVED = {
    "arbora._safetensors": "arbora.storage._safetensors",
    "arbora.aligned": "arbora.evaluation.aligned",
    "arbora.calibration": "arbora.evaluation.calibration",
    "arbora.compact": "arbora.storage.quantization",
    "arbora.confidence": "arbora.parsing.parsed",
    "arbora.config": "arbora.settings",
    "arbora.data.pseudo_projective": "arbora.data.projectivize",
    "arbora.distribution": "arbora.inference.distribution",
    "arbora.ensemble": "arbora.parsing.ensemble",
    "arbora.model_file": "arbora.storage.model_file",
    "arbora.parser": "arbora.parsing.parser",
    "arbora.scores": "arbora.evaluation.scores",
    "arbora.significance": "arbora.evaluation.significance",
    "arbora.table": "arbora.integrations.table",
    "arbora.torch": "arbora.inference.torch",
    "arbora.train_all": "arbora.training.pipeline",
    "arbora.tune": "arbora.training.tune",
    "arbora.view": "arbora.web",
    "arbora.view.html": "arbora.web.html",
    "arbora.view.svg": "arbora.web.svg",
    "arbora.view.terminal": "arbora.web.terminal",
}


class MovedModules:
    """Finds and loads the modules of `MOVED`. Without a base class: importing `importlib.abc` takes long."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        loader: Any = self
        return ModuleSpec(fullname, loader) if fullname in MOVED else None

    def create_module(self, spec: ModuleSpec) -> None:
        """Let Python make an empty module; `exec_module` replaces it."""

    def exec_module(self, module: ModuleType) -> None:
        old, new = module.__name__, MOVED[module.__name__]
        warnings.warn(f"{old} has moved to {new}", DeprecationWarning, stacklevel=2)
        sys.modules[old] = import_module(new)


def renamed(old: str, new: str) -> Any:
    """Return a property for the former name of an attribute."""

    def get(self: object) -> Any:
        warnings.warn(f"{old} is now {new}", DeprecationWarning, stacklevel=2)
        return getattr(self, new)

    return property(get, doc=f"Deprecated name of `{new}`.")
