import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import arbora
from arbora.moved import MOVED

CHECKING = "TYPE_CHECKING"


def test_public_names_exist_and_are_few():
    assert all(hasattr(arbora, name) for name in arbora.__all__)
    assert len(arbora.__all__) <= 15
    assert callable(arbora.evaluate)


def loaded_by(code, *modules):
    """Those of `modules` that a new Python has imported after running `code`."""
    code = f"import sys\n{code}\nprint([name for name in {modules} if name in sys.modules])"
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return result.stdout.splitlines()[-1]


def test_importing_loads_nothing_that_is_not_used():
    heavy = ("numpy", "scipy", "rich", "typer", "conllu", "arbora._core", "arbora.errors")
    assert loaded_by("import arbora", *heavy) == "[]"
    assert loaded_by("from arbora import DataError", *heavy) == "['arbora.errors']"
    assert loaded_by("import arbora; arbora.read", *heavy) == "['numpy', 'arbora._core', 'arbora.errors']"


def test_names_are_where_type_checkers_look_for_them():
    tree = ast.parse(Path(arbora.__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == CHECKING)
    typed = {alias.name: node.module for node in block.body for alias in node.names}
    assert sorted(typed) == sorted(arbora.__all__)
    assert {name: module for name, module in typed.items() if module != "arbora"} == arbora._MODULES
    assert set(arbora.__all__) <= set(dir(arbora))
    with pytest.raises(AttributeError):
        _ = arbora.trains


def test_the_version_is_the_package_s():
    from importlib.metadata import version

    assert version("arbora-nlp") == arbora.__version__


def test_nothing_names_the_distribution_of_another_project():
    """`arbora` on PyPI is another project; ours is `arbora-nlp`."""
    root = Path(__file__).resolve().parents[1]
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True)
    if listed.returncode:
        pytest.skip("not a git checkout")
    old = re.compile(rb"""pip install (?:-\S+ )*['"]?arbora\b(?!-)|\barbora\\?\[[a-z]""")
    paths = [root / name for name in listed.stdout.decode().split("\0") if name]
    texts = {path: path.read_bytes() for path in paths if path.is_file()}
    found = [path.name for path, text in texts.items() if b"\0" not in text and old.search(text)]
    assert found == []


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_modules_of_0_1_are_found_under_their_old_names(old, new):
    if new == "arbora.inference.torch":
        pytest.importorskip("torch")
    sys.modules.pop(old, None)
    with pytest.warns(DeprecationWarning, match=new):
        assert importlib.import_module(old) is importlib.import_module(new)


def test_importing_an_unknown_module_fails():
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("arbora.no_such_module")
