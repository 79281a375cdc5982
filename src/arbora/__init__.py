"""Arbora: dependency parsing with exact inference over trees."""

from arbora.errors import ArboraError, DataError, InputError, NoTreeError

__version__ = "0.1.0"

__all__ = ["ArboraError", "DataError", "InputError", "NoTreeError", "__version__"]
