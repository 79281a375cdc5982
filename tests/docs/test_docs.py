"""The README, the guide pages and the examples run; every paper that is cited is in the bibliography."""

import doctest
import importlib
import importlib.util
import io
import logging
import os
import re
import shlex
import subprocess
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from importlib.metadata import entry_points
from itertools import groupby
from pathlib import Path
from unittest import mock

import pytest

from arbora import registry
from arbora.cli.main import run

ROOT = Path(__file__).resolve().parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").glob("**/*.md"))]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
CITED_IN = {
    "core": (".hpp", ".cpp"),
    "bindings": (".hpp", ".cpp"),
    "src": (".py",),
    "studies": (".py",),
    "docs": (".md",),
}
BLOCK = re.compile(
    r"^(?:<!-- needs: ([\w, ]+) -->\n)?```(python|console)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE
)
KEY = re.compile(r"[a-z]+(?:-[a-z]+)*-(?:19|20)\d\d[a-z]?(?![\w-])")
CITATION = re.compile(rf"(?<!\w)\[@?{KEY.pattern}(?:, @?{KEY.pattern})*")
NOT_RUN = "# not run"
PROGRAM = "arbora"
SETTING = re.compile(r"[A-Z_]+=.*")
SHELL = re.compile(r"[$*`{}\\]")


def line_of(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def missing_packages(needed: str | None) -> set[str]:
    names = [] if needed is None else needed.replace(",", " ").split()
    return {name for name in names if not is_installed(name)}


def is_installed(name: str) -> bool:
    if name == "arbora_studies" and not entry_points(group="arbora.verbs"):
        return False  # it can be imported from a checkout, but the command line does not know its verb
    return importlib.util.find_spec(name) is not None


def run_page(text: str, name: str, missing: set[str] | None = None) -> int:
    """Run a page's blocks from top to bottom in the present directory; returns how many there were.

    Python blocks share one namespace; one with prompts is a doctest and must print what it shows, any
    other is simply executed. In console blocks, every line after `$ ` is a command that must succeed.
    Blocks below `<!-- needs: NAME -->` are left out where that package is; it is then added to `missing`.
    """
    namespace: dict[str, object] = {"__name__": name}
    count = 0
    for match in BLOCK.finditer(text):
        language, block, line = match[2], match[3], line_of(text, match.start(3))
        absent = missing_packages(match[1])
        if absent and missing is not None:
            missing |= absent
        if block.startswith(NOT_RUN) or absent:
            continue
        count += 1
        if language == "console":
            run_commands(block)
        elif block.startswith(">>>"):
            namespace = run_prompts(block, name, line, namespace)
        else:
            # Padded, so that a traceback names the line of the page.
            exec(compile("\n" * (line - 1) + block, name, "exec"), namespace)
    return count


def run_prompts(block: str, name: str, line: int, namespace: dict[str, object]) -> dict[str, object]:
    test = doctest.DocTestParser().get_doctest(block, namespace, name, name, line - 1)
    report: list[str] = []
    result = doctest.DocTestRunner(verbose=False).run(test, out=report.append, clear_globs=False)
    assert result.failed == 0, "".join(report)
    return test.globs


def run_commands(block: str) -> None:
    for command in re.findall(r"^\$ (.+)$", block, re.MULTILINE):
        stages = stages_of(command)
        if any(PROGRAM in stage for stage in stages):
            run_stages(command, stages)
        else:
            run_in_shell(command)


def stages_of(command: str) -> list[list[str]]:
    """The words of the commands that `|` joins; none where a shell is needed for more than that."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    words = list(lexer)
    if SHELL.search(command) or any(word != "|" and set(word) <= set("|<>;&()") for word in words):
        return []
    return [list(stage) for is_bar, stage in groupby(words, "|".__eq__) if not is_bar]


def run_stages(command: str, stages: list[list[str]]) -> None:
    """`arbora VERB ...` in this process, which need not start another; what else there is as it is."""
    data = b""
    for stage in stages:
        place = next((at for at, word in enumerate(stage) if not SETTING.fullmatch(word)), 0)
        with mock.patch.dict(os.environ, dict(word.split("=", 1) for word in stage[:place])):
            if stage[place] == PROGRAM:
                data = run_here(command, stage[place:], data)
            else:
                result = subprocess.run(stage[place:], input=data, capture_output=True, timeout=60)
                assert result.returncode == 0, f"{command}\n{result.stderr.decode()}"
                data = result.stdout


def run_here(command: str, arguments: list[str], given: bytes) -> bytes:
    stdin, stdout, stderr = (
        io.TextIOWrapper(io.BytesIO(data), encoding="utf-8", write_through=True) for data in (given, b"", b"")
    )
    with (
        redirect_stdout(stdout),
        redirect_stderr(stderr),
        mock.patch.object(sys, "stdin", stdin),
        mock.patch.object(sys, "argv", arguments),
        pytest.raises(SystemExit) as ended,
    ):
        run()
    assert not ended.value.code, f"{command}\n{stderr.buffer.getvalue().decode()}"
    return stdout.buffer.getvalue()


def run_in_shell(command: str) -> None:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 0, f"{command}\n{result.stderr}"


@pytest.fixture
def small_tables(monkeypatch):
    """Models of few weights: with treebanks as small as on pages, large tables take most of the time."""
    training = importlib.import_module("arbora.training.parser")
    decide = training.resolve

    def decide_small(config, columns):
        decided = decide(config, columns)
        return replace(decided, tree_bits=min(decided.tree_bits, 16), label_bits=min(decided.label_bits, 16))

    monkeypatch.setattr(training, "resolve", decide_small)


@pytest.mark.usefixtures("small_tables")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for each in vars(registry).values():
        if isinstance(each, registry.Registry):
            monkeypatch.setattr(each, "_added", dict(each._added))  # what a page registers is its own
    logger = logging.getLogger("arbora")
    level = logger.level
    missing: set[str] = set()
    try:
        run_page(page.read_text(encoding="utf-8"), page.name, missing)
    finally:
        logger.setLevel(level)  # a page may turn it down for itself; what it has cached is forgotten, too
    if missing:
        pytest.skip(f"the rest of the page runs, but some blocks need {', '.join(sorted(missing))}")


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_examples_run(example, tmp_path):
    needed = re.search(r"^# needs: (.*)$", example.read_text(encoding="utf-8"), re.MULTILINE)
    if absent := missing_packages(needed and needed[1]):
        pytest.skip(f"needs {', '.join(sorted(absent))}")
    result = subprocess.run(
        [sys.executable, "-W", "error", str(example)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout


def test_the_index_lists_all_examples():
    page = (ROOT / "docs" / "index.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"`examples/(\w+\.py)`", page)) == [example.name for example in EXAMPLES]


def test_the_guide_has_pages_that_run():
    for page in (
        "start",
        "pipeline",
        "extending",
        "papers/koo-2007",
        "data",
        "own-language",
        "training",
        "parsing",
        "inference",
        "treebanks",
        "projectivity",
        "evaluation",
    ):
        assert BLOCK.search((ROOT / "docs" / f"{page}.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("page", sorted(ROOT.glob("*.md")), ids=lambda page: page.name)
def test_links_of_the_first_pages_lead_somewhere(page):
    """Those of the guide are checked by `make docs`."""
    links = re.findall(r"\]\(([^)#\s]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if "://" not in link and not (ROOT / link).exists()] == []


def test_the_api_reference_is_up_to_date_and_true():
    script = ROOT / "scripts" / "api_reference.py"
    result = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, timeout=60
    )
    assert (result.returncode, result.stderr) == (0, "")
    optional = {"arbora.inference.torch", "arbora.scorers.torch"}
    pages = sorted((ROOT / "docs").glob("api-*.md"))
    page, modules = "".join(path.read_text(encoding="utf-8") for path in pages), 0
    for match in re.finditer(r"^\*\*`([\w.]+)`\*\*(.*?)(?=^\*\*|\Z)", page, re.DOTALL | re.MULTILINE):
        if match[1] in optional:
            continue
        modules += 1
        module = importlib.import_module(match[1])
        for name in re.findall(r"^- `(?:class )?(\w+)", match[2], re.MULTILINE):
            assert hasattr(module, name), (match[1], name)
    assert modules > 20


def test_measured_tables_come_from_stored_results():
    script = ROOT / "scripts" / "tables.py"
    result = subprocess.run(
        [sys.executable, str(script), "--check"], capture_output=True, text=True, timeout=60
    )
    assert (result.returncode, result.stderr) == (0, "")


def citations() -> dict[str, str]:
    """Every cited key with one place that cites it."""
    found: dict[str, str] = {}
    files = sorted(ROOT.glob("*.md"))
    for folder, endings in CITED_IN.items():
        files += [path for path in (ROOT / folder).rglob("*") if path.suffix in endings]
    for path in files:
        text = path.read_text(encoding="utf-8")
        for match in CITATION.finditer(text):
            place = f"{path.relative_to(ROOT)}:{line_of(text, match.start())}"
            found |= dict.fromkeys(KEY.findall(match[0]), place)
    return found


def bibliography() -> list[str]:
    text = (ROOT / "docs" / "references.bib").read_text(encoding="utf-8")
    return re.findall(r"^@\w+\{([^,\s]+),", text, flags=re.MULTILINE)


def test_cited_papers_are_in_the_bibliography():
    known = set(bibliography())
    unknown = {key: place for key, place in citations().items() if key not in known}
    assert unknown == {}, "add these keys to docs/references.bib"


def test_the_bibliography_has_no_key_twice():
    keys = bibliography()
    assert len(keys) == len(set(keys))


def test_the_runner_sees_blocks_failures_and_exceptions():
    page = "```python\nx = 1\n```\ntext\n```python\n>>> x + 1\n2\n\n```\n```python\n# not run\n1/0\n```\n"
    assert run_page(page, "page.md") == 2
    with pytest.raises(AssertionError):
        run_page("```python\n>>> 1 + 1\n3\n\n```\n", "page.md")
    with pytest.raises(ZeroDivisionError):
        run_page("```python\n1 / 0\n```\n", "page.md")
    absent: set[str] = set()
    assert run_page("<!-- needs: no_such_package -->\n```python\n1 / 0\n```\n", "page.md", absent) == 0
    assert absent == {"no_such_package"}
    assert run_page("<!-- needs: numpy -->\n```python\n1\n```\n", "page.md") == 1
    assert run_page("```console\n$ true\n$ arbora --version | cat\n```\n", "page.md") == 1
    with pytest.raises(AssertionError):
        run_page("```console\n$ arbora stats no-such-file\n```\n", "page.md")
    with pytest.raises(AssertionError):
        run_page("```console\n$ false | cat\n```\n", "page.md")


def test_the_citation_pattern():
    text = "after [koo-2007, note 4] and [@huang-chiang-2005b, tai-1979], not matrix[i-1999x] nor [1985]"
    found = [KEY.findall(match[0]) for match in CITATION.finditer(text)]
    assert found == [["koo-2007"], ["huang-chiang-2005b", "tai-1979"]]


PATH = re.compile(
    r"`((?:core|src|tests|bindings|benchmarks|scripts|studies|examples|docs)/[\w./-]+|\w+\.[hc]pp)`"
)


def test_paths_on_pages_exist():
    pages = [page for page in PAGES if page.name != "CHANGELOG.md"]
    named = {(page.name, path) for page in pages for path in PATH.findall(page.read_text(encoding="utf-8"))}
    missing = [
        (page, path)
        for page, path in sorted(named)
        if not ((ROOT / path).exists() if "/" in path else any((ROOT / "core").rglob(path)))
    ]
    assert missing == []
