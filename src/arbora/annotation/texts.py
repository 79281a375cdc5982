"""Sentences as the texts of a file: with their line ends and blank lines, so that they keep their bytes."""

from __future__ import annotations

import hashlib
import io
from copy import copy
from functools import lru_cache

from arbora.annotation.draft import Draft
from arbora.data.columns import parse_sentence
from arbora.data.sentence import Sentence
from arbora.data.treebank import read_columns
from arbora.errors import DataError
from arbora.storage.files import GZIP_MAGIC, ZSTD_MAGIC

BYTE_ORDER_MARK = "\ufeff"


def split_texts(data: bytes, source: str) -> list[str]:
    """The sentences of a treebank as texts that give its bytes when joined; DataError at its first fault."""
    if data.startswith((GZIP_MAGIC, ZSTD_MAGIC)):
        raise DataError("expected a file that is not compressed; decompress it first", source=source)
    stream = io.BytesIO(data)
    stream.name = source
    columns = read_columns(stream, format="conllu")
    lines = data.decode().split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + ([lines[-1]] if lines[-1] else [])
    starts = [line - 1 for line in columns.native.sentence_lines.tolist()]
    if not starts:
        return []
    ends = [*starts[1:], len(lines)]
    starts[:1] = [0]
    return ["".join(lines[start:end]) for start, end in zip(starts, ends, strict=True)]


def plain(text: str) -> str:
    """The text of a sentence in the standard layout."""
    text = text.removeprefix(BYTE_ORDER_MARK).replace("\r\n", "\n").strip("\n")
    return f"{text}\n\n"


def like(old: str, sentence: Sentence) -> str:
    """A sentence as text, with the line ends of an old one; DataError if it would be malformed."""
    text = sentence.to_conllu()
    parse_sentence(text)
    mark = BYTE_ORDER_MARK if old.startswith(BYTE_ORDER_MARK) else ""
    return mark + (text.replace("\n", "\r\n") if "\r\n" in old else text)


def version_of(text: str) -> str:
    """A short name of a sentence's text."""
    return hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


@lru_cache(maxsize=4096)
def known_draft(text: str) -> Draft:
    """The draft of a sentence's text, which others use, too: not to be changed."""
    return Draft.of(parse_sentence(plain(text)))


def read_draft(text: str) -> Draft:
    """A draft of a sentence's text, which may be changed."""
    draft = known_draft(text)
    fresh = copy(draft)
    fresh.nodes = [copy(node) for node in draft.nodes]
    fresh.comments, fresh.tokens, fresh.empty = list(draft.comments), list(draft.tokens), list(draft.empty)
    return fresh
