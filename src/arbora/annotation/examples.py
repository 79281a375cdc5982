"""Training data: arcs that humans decided, proposals of a given model, words and their tags."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Literal, TypeAlias

from arbora.annotation.assistant import Assistant, without_tags
from arbora.annotation.draft import Draft
from arbora.data.sentence import NO_HEAD, Sentence
from arbora.interfaces import Roots

HELD_OUT = 0.15
LEAST_HELD_OUT = 30
"""Words of the held-out part from which scores mean something."""
MOST_WORDS = 30_000
"""Words to learn from at once; those that humans touched last come first."""
MOST_PROPOSED = 6_000
"""Words of sentences that only the given model has parsed."""
TIMES = 2
"""How often sentences with decisions are repeated among such proposals."""
LEAST_TAGGED = 300
"""Words in sentences with tags from which a tagger is trained."""
PIECE = 100

Tags: TypeAlias = Literal["classes", "predicted", "given"]
"""What parsers see without a given model: induced word classes, where there are few tags; tags of a tagger
that learned from the tagged sentences; or those of the treebank, if every word has one."""


def is_held_out(draft: Draft, seed: int = 0) -> bool:
    """Whether a sentence, once it is done, is for evaluation only."""
    words = "\t".join(node.form for node in draft.nodes)
    return zlib.crc32(f"{seed}\t{words}".encode()) < HELD_OUT * 2**32


def split(drafts: Sequence[Draft], seed: int) -> tuple[list[Draft], list[Draft]]:
    """The sentences to learn from, and the held-out ones."""
    held = [each for each in drafts if each.state == "done" and is_held_out(each, seed)]
    places = set(map(id, held))
    return [each for each in drafts if id(each) not in places], held


def within(drafts: Sequence[Draft], most: int = MOST_WORDS) -> list[Draft]:
    """The drafts within a number of words: touched before done, last before first."""
    last_first = [each for each in reversed(drafts) if each.state != "done"]
    chosen: list[Draft] = []
    words = 0
    for draft in [*last_first, *(each for each in reversed(drafts) if each.state == "done")]:
        words += len(draft)
        if words > most:
            break
        chosen.append(draft)
    return chosen[::-1]


def decided(drafts: Sequence[Draft], start: Assistant | None) -> list[Sentence]:
    """Sentences with the arcs that humans decided, and with the tags that the first model reads."""
    examples = within([each for each in drafts if each.decided])
    sentences = [each.learnable() for each in examples]
    if start is not None and not start.writes_tags:
        sentences = [without_tags(sentence) for sentence in sentences]
    return [each for each in sentences if any(head != NO_HEAD for head in each.heads)]


def with_proposals(drafts: Sequence[Draft], start: Assistant, roots: Roots) -> list[Sentence]:
    """Sentences with decisions, completed by a given model, and others that it parsed alone."""
    touched = within([each for each in drafts if each.decided])
    others = within([each for each in drafts if not each.decided], MOST_PROPOSED)
    chosen = [_open(draft) for draft in [*touched, *others]]
    for at in range(0, len(chosen), PIECE):
        start.fill(chosen[at : at + PIECE], roots)
    sentences = [_labelled(draft) for draft in chosen]
    return [*(sentences[: len(touched)] * TIMES), *sentences[len(touched) :]]


def _open(draft: Draft) -> Draft:
    """A copy without the parser's proposals."""
    fresh = deepcopy(draft)
    for node in fresh.nodes:
        if node.by("head") == "parser":
            node.fill(head=NO_HEAD)
        if node.by("deprel") == "parser":
            node.fill(deprel="_")
    return fresh


def _labelled(draft: Draft) -> Sentence:
    """The sentence, with the heads that have labels."""
    sentence = draft.to_sentence(marks=False)
    pairs = zip(sentence.heads, sentence.deprels, strict=True)
    arcs = [(NO_HEAD, "_") if head == NO_HEAD or label == "_" else (head, label) for head, label in pairs]
    heads, labels = zip(*arcs, strict=True)
    return replace(sentence, heads=heads, deprels=labels)


def bare(draft: Draft) -> Draft:
    """A copy without a tree."""
    nodes = [replace(node, head=NO_HEAD, deprel="_", human=frozenset()) for node in draft.nodes]
    return Draft(nodes, [], [], [])


def words_of(draft: Draft) -> Sentence:
    """The sentence with tags, but without a tree."""
    return bare(draft).to_sentence(marks=False)


def tagged(drafts: Sequence[Draft]) -> list[Draft]:
    """The sentences in which humans, or the file, have tagged every word."""
    return [each for each in drafts if all(node.by("upos") == "human" for node in each.nodes)]


def known_tags(drafts: Sequence[Draft]) -> Tags:
    """Which tags parsers can see without a given model."""
    found = tagged(drafts)
    if len(found) == len(drafts):
        return "given"
    return "predicted" if sum(map(len, found)) >= LEAST_TAGGED else "classes"


def scores_on(assistant: Assistant, drafts: Sequence[Draft]) -> tuple[float | None, float | None]:
    """LAS and UAS in percent on sentences that are done; None if these have too few words."""
    words = sum(map(len, drafts))
    if words < LEAST_HELD_OUT:
        return None, None
    right = labelled = 0
    for start in range(0, len(drafts), PIECE):
        piece = drafts[start : start + PIECE]
        copies = [bare(draft) for draft in piece]
        assistant.fill(copies, "multi")
        for gold, found in zip(piece, copies, strict=True):
            for a, b in zip(gold.nodes, found.nodes, strict=True):
                right += a.head == b.head
                labelled += a.head == b.head and a.deprel == b.deprel
    return round(100 * labelled / words, 2), round(100 * right / words, 2)
