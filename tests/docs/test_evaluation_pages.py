"""The guide pages on evaluation and projectivity say what the code does."""

import doctest
import re
from pathlib import Path

import plain_eisner
import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("page", ["evaluation.md", "projectivity.md"])
def test_snippets_run_as_shown(page, monkeypatch):
    plain_eisner.stand_in(monkeypatch)
    text = (DOCS / page).read_text(encoding="utf-8")
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.DOTALL | re.MULTILINE)
    assert blocks
    test = doctest.DocTestParser().get_doctest("\n".join(blocks), {}, page, page, 0)
    report = []
    result = doctest.DocTestRunner().run(test, out=report.append)
    assert result.attempted > 0
    assert result.failed == 0, "".join(report)


@pytest.mark.parametrize("page", ["evaluation.md", "projectivity.md"])
def test_cited_papers_are_in_the_bibliography(page):
    known = set(re.findall(r"@\w+\{([^,]+),", (DOCS / "references.bib").read_text("utf-8")))
    cited = set(re.findall(r"\[([a-z-]+-\d{4})\]", (DOCS / page).read_text("utf-8")))
    assert cited
    assert cited <= known
