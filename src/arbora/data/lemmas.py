"""Lemmas as edit scripts: a script turns a word into its lemma, and fits other words, too."""

from __future__ import annotations

from functools import cache

from arbora._core import edit_script
from arbora.data.columns import Columns
from arbora.data.encode import EMPTY_FIELD


def lemma_scripts(columns: Columns) -> list[str | None]:
    """The script of each word; None if it has no lemma."""

    @cache
    def script(form: str, lemma: str) -> str | None:
        return edit_script(form, lemma) if lemma != EMPTY_FIELD or form == EMPTY_FIELD else None

    return list(map(script, columns.texts("form"), columns.texts("lemma")))
