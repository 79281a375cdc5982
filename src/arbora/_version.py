"""The package's version, where every part can read it; the same stands in pyproject.toml."""

__version__ = "0.1.0"
