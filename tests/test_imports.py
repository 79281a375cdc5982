"""Imports go one way: a folder or module of src/arbora may import only those before it in this list.

Imports inside a function or `if TYPE_CHECKING` are exempt: they keep the registry and optional packages lazy.
"""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "arbora"
ORDER = [
    "_core",
    "moved",
    "__init__",
    "errors",
    "types",
    "formatting",
    "values",
    "settings",
    "interfaces",
    "progress",
    "costs",
    "storage",
    "data",
    "inference",
    "losses",
    "features",
    "registry",
    "scorers",
    "problems",
    "learners",
    "neural",
    "search",
    "parsing",
    "evaluation",
    "pipeline",
    "training",
    "induction",
    "classification",
    "distributed",
    "integrations",
    "annotation",
    "web",
    "cli",
    "__main__",
]


def arrows(source: str, here: str) -> list[tuple[int, str]]:
    """Line and target of every import at module level that goes down the list."""
    tree = ast.parse(source)
    exempt = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.If))
    lazy = {id(inner) for outer in exempt for inner in ast.walk(outer)}
    found = []
    for node in ast.walk(tree):
        if id(node) in lazy or not isinstance(node, ast.Import | ast.ImportFrom):
            continue
        names = [alias.name for alias in node.names]
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, "write imports in full"
            names = [f"{node.module}.{name}" for name in names]
        parts = [name.split(".")[1] for name in names if name.startswith("arbora.")]
        targets = [part if part in ORDER else "__init__" for part in parts]
        found += [(node.lineno, target) for target in targets if ORDER.index(target) > ORDER.index(here)]
    return found


@pytest.mark.parametrize(
    "path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE))
)
def test_imports_go_one_way(path):
    here = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if here != "__init__":
        assert arrows(path.read_text(encoding="utf-8"), here) == []


def test_wrong_arrows_are_found():
    assert arrows("from arbora.errors import InputError", "data") == []
    assert arrows("def f():\n    import arbora.cli.main", "data") == []
    assert arrows("import arbora.cli.main", "data") == [(1, "cli")]
    assert arrows("from arbora import cli", "data") == [(1, "cli")]
