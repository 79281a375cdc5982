"""Every verb is imported when it is called, and its help starts as in `arbora --help`."""

import os
import subprocess
import sys

import pytest

from arbora.cli.verbs import VERBS, make_command

HEAVY = ("arbora.parsing.parser", "arbora.training.pipeline", "numpy", "pydantic", "rich", "scipy", "typer")


def first_paragraph(text):
    return " ".join(text.partition("\n\n")[0].split())


@pytest.mark.parametrize("name", VERBS)
def test_help_starts_with_the_line_of_the_list(name):
    shown = make_command(name).help
    assert first_paragraph(shown) == VERBS[name]
    assert "None" not in shown


def loaded(*arguments):
    """Which heavy modules `arbora ARGUMENTS` has imported at its end."""
    code = (
        "import sys\nfrom arbora.cli.main import run\n"
        "try:\n    run()\nexcept SystemExit as ended:\n    assert not ended.code\n"
        f"print(*(name for name in {HEAVY} if name in sys.modules), file=sys.stderr)"
    )
    command = [sys.executable, "-c", code, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    return set(done.stderr.splitlines()[-1].split())


def test_only_the_called_verb_is_imported(model, synthetic):
    assert loaded("--version") == {"typer"}
    assert loaded("--help") <= {"typer", "rich"}
    assert loaded("parse", synthetic[1], "-m", model) <= {
        "typer",
        "pydantic",
        "numpy",
        "arbora.parsing.parser",
    }


def test_a_misspelt_verb(arbora):
    result = arbora("pasre", "x.conllu")
    assert (result.status, result.stdout) == (2, "")
    assert "'pasre'" in result.stderr
    assert "'parse'" in result.stderr
    assert arbora("parse", "--help").status == arbora("info", "--help").status == 0


@pytest.mark.parametrize("words", [(), ("parse",), ("data", "get")])
def test_help_shows_flags_without_a_type(words, arbora):
    shown = arbora(*words, "--help").stdout
    assert "--help" in shown
    assert "bool" not in shown


@pytest.mark.parametrize("verb", [(), ("parse",), ("train",), ("info",), ("serve",)])
def test_help_is_shown_on_ascii_terminals(verb):
    command = [sys.executable, "-m", "arbora", *verb, "--help"]
    shown = subprocess.run(command, env={**os.environ, "PYTHONIOENCODING": "ascii"}, capture_output=True)
    assert (shown.returncode, shown.stderr) == (0, b"")
    assert shown.stdout.decode("ascii")


def whole_number_options():
    """Verb, option and a number that is too large, for every option that takes a whole number."""
    for verb in VERBS:
        command = make_command(verb)
        inner = getattr(command, "commands", {})
        for path, each in {(verb,): command, **{(verb, name): inner[name] for name in inner}}.items():
            for option in each.params:
                if option.metavar == "N" or option.name in ("kbest", "count", "seed", "workers", "restarts"):
                    yield pytest.param(path, option.opts[0], id=" ".join([*path, option.opts[0]]))


@pytest.mark.parametrize(("path", "option"), [*whole_number_options()])
@pytest.mark.parametrize("value", [10**20, 10**400])
def test_huge_numbers_are_errors_of_the_command_line(path, option, value, arbora):
    result = arbora(*path, option, value)
    assert (result.status, result.stdout) == (2, "")
    assert f"'{option}'" in result.stderr
    assert "Traceback" not in result.stderr
