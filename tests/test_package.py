import subprocess
import sys

import arbora


def test_public_names_exist_and_are_few():
    assert all(hasattr(arbora, name) for name in arbora.__all__)
    assert len(arbora.__all__) <= 15
    assert callable(arbora.evaluate)


def test_importing_loads_nothing_heavy():
    code = "import sys, arbora; print([n for n in ('scipy', 'rich', 'typer', 'conllu') if n in sys.modules])"
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert result.stdout == "[]\n"


def test_the_version_is_the_package_s():
    from importlib.metadata import version

    assert version("arbora") == arbora.__version__
