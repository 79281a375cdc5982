"""Imports go one way: every arrow between parts of the package must be in this table.

A part is a folder or a single file of src/arbora. Its own files may always import each other.
"""

import ast
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "src" / "arbora"

# Those that compute over trees see native code, errors, and each other: no words, no files.
OVER_TREES = {"_core", "_distinct", "_native", "_parts", "_relative", "distribution", "errors", "inference"}
EVERYTHING = None

MAY_IMPORT: dict[str, set[str] | None] = {
    "errors": set(),
    "_version": set(),
    "_texts": set(),
    "_replace": set(),
    "_brent": set(),
    "bundled": {"errors"},
    "_safetensors": {"errors"},
    "model_file": {"_replace", "_safetensors", "_version", "errors"},
    "_reloaded": {"errors", "model_file"},
    "compact": {"errors"},
    "config": {"errors"},
    "interfaces": {"_core", "errors"},
    "_parts": OVER_TREES,
    "_native": OVER_TREES,
    "_relative": OVER_TREES,
    "_distinct": OVER_TREES,
    "inference": OVER_TREES,
    "distribution": OVER_TREES,
    "torch": OVER_TREES,
    "families": OVER_TREES | {"interfaces"},
    "learners": {"_core", "errors", "interfaces"},
    "features": {"errors"},
    "scorers": {"_core", "errors", "features", "interfaces"},
    "problems": {"_core", "errors", "interfaces", "scorers"},
    "registry": {"errors", "families", "features", "induction", "interfaces", "learners"},
    "classification": {"_core", "errors", "interfaces", "learners", "model_file", "problems", "registry"},
    "confidence": {"_core", "data", "distribution", "errors"},
    "pruner": {"_core", "errors", "interfaces", "registry", "scorers"},
    "_lifts": {"_core", "confidence", "config", "data", "errors"},
    "_ranked": {"confidence", "inference", "interfaces"},
    "_question": {"confidence"},
    "_engines": {"_core", "_question", "_ranked", "confidence", "pruner", "scorers"},
    "_given": {"confidence", "data", "errors"},
    "_tree_parser": {
        "_given",
        "_question",
        "_reloaded",
        "confidence",
        "config",
        "data",
        "distribution",
        "errors",
        "interfaces",
        "model_file",
    },
    "_parser_file": {
        "_core",
        "compact",
        "confidence",
        "config",
        "data",
        "errors",
        "model_file",
        "pruner",
        "scorers",
    },
    "parser": {
        "_core",
        "_engines",
        "_given",
        "_lifts",
        "_parser_file",
        "_question",
        "_tree_parser",
        "compact",
        "confidence",
        "config",
        "data",
        "distribution",
        "errors",
        "interfaces",
        "model_file",
        "pruner",
        "registry",
        "scorers",
    },
    "_table_rows": {"data", "errors"},
    "table": {"_replace", "_table_rows", "confidence", "data", "errors"},
    "integrations": {"__init__", "confidence", "data", "errors"},
    "temperature": {"_brent", "_question", "confidence", "data", "parser"},
    "ensemble": {"_core", "_tree_parser", "confidence", "data", "distribution", "errors", "inference"},
    "calibration": {"confidence", "data", "errors", "evaluate"},
    "_stages": {"interfaces", "problems"},
    "_dev": {"_stages", "_tree_parser", "data"},
    "_jackknife": {"data"},
    "_stacking": {
        "_core",
        "_jackknife",
        "_stages",
        "_train_config",
        "_tree_parser",
        "bundled",
        "config",
        "data",
        "errors",
        "model_file",
        "parser",
    },
    "_checkpoint": {"_stages", "errors", "interfaces", "model_file"},
    "_annotation": {"_core", "_stages", "data", "errors", "inference", "interfaces"},
    "_train_config": {
        "_annotation",
        "_core",
        "_stages",
        "config",
        "data",
        "errors",
        "features",
        "interfaces",
        "parser",
        "pipeline",
        "pruner",
        "registry",
        "scorers",
    },
    "train": {
        "_annotation",
        "_checkpoint",
        "_core",
        "_dev",
        "_lifts",
        "_stacking",
        "_stages",
        "_texts",
        "_train_config",
        "config",
        "data",
        "errors",
        "interfaces",
        "learners",
        "parser",
        "problems",
        "pruner",
        "scorers",
        "temperature",
    },
    "_overrides": {"_train_config", "config", "errors", "registry"},
    "tune": {
        "_annotation",
        "_overrides",
        "_stages",
        "_texts",
        "_train_config",
        "config",
        "data",
        "errors",
        "train",
    },
    "data": {"_core", "_replace", "errors", "interfaces"},
    "pipeline": {
        "_core",
        "_given",
        "_reloaded",
        "_stages",
        "_tree_parser",
        "bundled",
        "compact",
        "confidence",
        "data",
        "distribution",
        "errors",
        "interfaces",
        "model_file",
        "parser",
        "problems",
        "registry",
    },
    "train_all": {
        "_annotation",
        "_dev",
        "_jackknife",
        "_stacking",
        "_stages",
        "_train_config",
        "data",
        "errors",
        "interfaces",
        "pipeline",
        "train",
    },
    "induce": {
        "_stages",
        "_texts",
        "config",
        "data",
        "errors",
        "induction",
        "interfaces",
        "pipeline",
        "registry",
        "train",
        "train_all",
    },
    "ud": {"_replace", "_version", "errors"},
    "scores": {"errors"},
    "evaluate": {"data", "errors", "scores"},
    "aligned": {"data", "errors", "evaluate", "scores"},
    "significance": {"errors", "scores"},
    "induction": {
        "_core",
        "_given",
        "_question",
        "_texts",
        "_tree_parser",
        "confidence",
        "data",
        "distribution",
        "errors",
        "evaluate",
        "inference",
        "interfaces",
        "learners",
        "model_file",
    },
    "view": {"_replace", "_tree_parser", "_version", "calibration", "confidence", "data", "errors"},
    "reproduce": {
        "_annotation",
        "_dev",
        "_replace",
        "_stages",
        "_tree_parser",
        "_version",
        "classification",
        "config",
        "data",
        "errors",
        "evaluate",
        "induction",
        "inference",
        "interfaces",
        "parser",
        "problems",
        "pruner",
        "registry",
        "scorers",
        "significance",
        "train",
        "view",
    },
    "cli": EVERYTHING,
    "__main__": {"cli"},
    "__init__": {
        "_version",
        "data",
        "distribution",
        "errors",
        "evaluate",
        "inference",
        "pipeline",
        "train_all",
    },
}
# Only within a function, so that reading treebanks and training parsers do not load what they do not need.
LATE = {
    ("data/projectivize.py", "inference"),
    ("learners/__init__.py", "classification"),
    ("parser.py", "induction"),
}


class Arrow(NamedTuple):
    file: str
    line: int
    part: str
    target: str
    late: bool


def part_of(file: str) -> str:
    return file.partition("/")[0].removesuffix(".py")


def arrows_of(source: str, file: str) -> list[Arrow]:
    """All imports of parts of arbora in one file's text, with those for type checkers only."""
    tree = ast.parse(source)
    inside = {
        id(node)
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef))
        for node in ast.walk(function)
    }
    found = []
    for node in ast.walk(tree):
        names: list[str] = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: relative import; write it in full"
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        for name in names:
            package, _, rest = name.partition(".")
            if package == "arbora":
                # `import arbora` itself, for its version, counts as its __init__.
                target = rest.partition(".")[0] or "__init__"
                found.append(Arrow(file, node.lineno, part_of(file), target, id(node) in inside))
    return found


def is_allowed(arrow: Arrow) -> bool:
    allowed = MAY_IMPORT[arrow.part]
    if allowed is EVERYTHING or arrow.target == arrow.part or arrow.target in allowed:
        return True
    return arrow.late and (arrow.file, arrow.target) in LATE


def files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def test_every_part_has_its_place_in_the_table():
    parts = {part_of(path.relative_to(PACKAGE).as_posix()) for path in files()}
    assert parts <= set(MAY_IMPORT), "say in MAY_IMPORT what the new part may import"


@pytest.mark.parametrize("path", files(), ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_imports_go_one_way(path):
    file = path.relative_to(PACKAGE).as_posix()
    arrows = arrows_of(path.read_text(encoding="utf-8"), file)
    wrong = [f"{a.file}:{a.line}: {a.part} -> {a.target}" for a in arrows if not is_allowed(a)]
    assert wrong == []


@pytest.mark.parametrize(
    ("file", "text", "allowed"),
    [
        ("data/tree.py", "from arbora.errors import InputError", True),
        ("data/tree.py", "from arbora.data.sentence import Sentence", True),
        ("data/tree.py", "import arbora.inference", False),
        ("data/projectivize.py", "from arbora.inference import argmax", False),
        ("data/projectivize.py", "def f():\n    from arbora.inference import argmax", True),
        ("inference.py", "from arbora import _core", True),
        ("inference.py", "def f():\n    from arbora.data.tree import Tree", False),
        ("learners/mira.py", "from arbora.interfaces import Problem", True),
        ("learners/mira.py", "from arbora.families import Projective", False),
        ("view/terminal.py", "from arbora import inference", False),
        ("evaluate.py", "from arbora.cli.tables import show", False),
        ("cli/stats.py", "from arbora import inference, view", True),
    ],
)
def test_the_walk_sees_wrong_arrows(file, text, allowed):
    (arrow, *_) = arrows_of(text, file)
    assert is_allowed(arrow) is allowed
