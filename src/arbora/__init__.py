"""Arbora: dependency parsing with exact inference over trees.

`load` opens a model, `train` makes one from a treebank. `inference` and `TreeDistribution` answer queries
over weighted sets of trees. `read`, `write`, `Sentence` and `Tree` are for treebanks, `projectivize` and
`evaluate` for working with them.

Each name is imported when it is first used, so that `import arbora` is fast.
"""

import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

from arbora.moved import MovedModules

__version__ = "0.1.0"

if TYPE_CHECKING:
    from arbora import inference
    from arbora.data.projectivize import deprojectivize, projectivize
    from arbora.data.sentence import Sentence
    from arbora.data.tree import Tree
    from arbora.data.treebank import read, write
    from arbora.errors import ArboraError, DataError, InputError, NoTreeError
    from arbora.evaluation.attachment import evaluate
    from arbora.inference.distribution import TreeDistribution
    from arbora.pipeline.pipeline import load
    from arbora.training.pipeline import train

__all__ = [
    "ArboraError",
    "DataError",
    "InputError",
    "NoTreeError",
    "Sentence",
    "Tree",
    "TreeDistribution",
    "deprojectivize",
    "evaluate",
    "inference",
    "load",
    "projectivize",
    "read",
    "train",
    "write",
]

# The module that defines each name. `inference` is a module itself.
_MODULES = {
    "ArboraError": "arbora.errors",
    "DataError": "arbora.errors",
    "InputError": "arbora.errors",
    "NoTreeError": "arbora.errors",
    "Sentence": "arbora.data.sentence",
    "Tree": "arbora.data.tree",
    "TreeDistribution": "arbora.inference.distribution",
    "deprojectivize": "arbora.data.projectivize",
    "evaluate": "arbora.evaluation.attachment",
    "load": "arbora.pipeline.pipeline",
    "projectivize": "arbora.data.projectivize",
    "read": "arbora.data.treebank",
    "train": "arbora.training.pipeline",
    "write": "arbora.data.treebank",
}

sys.meta_path.insert(0, MovedModules())


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = import_module(_MODULES.get(name, f"arbora.{name}"))
    return getattr(module, name) if name in _MODULES else module


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
