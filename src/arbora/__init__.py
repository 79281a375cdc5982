"""Arbora: dependency parsing with exact inference over trees.

`load` opens a model, `train` makes one of a treebank; `inference` and `TreeDistribution`
answer questions about weighted sets of trees; `read`, `write`, `Sentence` and `Tree` are for treebanks;
`projectivize` and `evaluate` for what is done with them.

Each name is imported when it is first used, so that `import arbora` is fast.
"""

import sys
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

from arbora._version import __version__ as __version__

if TYPE_CHECKING:
    from arbora import inference
    from arbora.data.projectivize import deprojectivize, projectivize
    from arbora.data.sentence import Sentence
    from arbora.data.tree import Tree
    from arbora.data.treebank import read, write
    from arbora.distribution import TreeDistribution
    from arbora.errors import ArboraError, DataError, InputError, NoTreeError
    from arbora.evaluate import evaluate
    from arbora.pipeline.pipeline import load
    from arbora.train_all import train

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

# The module of each name, but for those that are modules themselves.
_MODULES = {
    "ArboraError": "arbora.errors",
    "DataError": "arbora.errors",
    "InputError": "arbora.errors",
    "NoTreeError": "arbora.errors",
    "Sentence": "arbora.data.sentence",
    "Tree": "arbora.data.tree",
    "TreeDistribution": "arbora.distribution",
    "deprojectivize": "arbora.data.projectivize",
    "evaluate": "arbora.evaluate",
    "load": "arbora.pipeline.pipeline",
    "projectivize": "arbora.data.projectivize",
    "read": "arbora.data.treebank",
    "train": "arbora.train_all",
    "write": "arbora.data.treebank",
}

if not TYPE_CHECKING:

    class _Package(ModuleType):
        """Imports names on first use.

        `evaluate` and `train` are functions, and modules of these names exist, too: importing such a module
        would put it where the function belongs.
        """

        def __getattr__(self, name):
            if name not in __all__:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
            module = import_module(_MODULES.get(name, f"arbora.{name}"))
            value = getattr(module, name) if name in _MODULES else module
            setattr(self, name, value)
            return value

        def __setattr__(self, name, value):
            if not (isinstance(value, ModuleType) and name in _MODULES):
                super().__setattr__(name, value)

        def __dir__(self):
            return sorted({*super().__dir__(), *__all__})

    sys.modules[__name__].__class__ = _Package
