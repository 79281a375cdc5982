"""Edits of a draft that leave its words as they are: heads, labels, tags, forms.

A human's head may not contradict other heads that humans decided: no cycle, and with single roots no second
root. The parser's decisions are replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from arbora.annotation.draft import ARC, TAGS, Column, Draft
from arbora.annotation.refusal import Refusal
from arbora.data.sentence import NO_HEAD
from arbora.interfaces import Roots


def set_head(
    draft: Draft, word: int, head: int, label: str | None, *, roots: Roots, release: bool = False
) -> None:
    """A human decides a head. `release`: give contradicting decisions back to the parser, not refuse."""
    node = draft.node(word)
    if head:
        draft.node(head)
    if head == word:
        raise Refusal("cycle", f"a word cannot be its own head: {draft.path([word, word])}")
    cycle = _cycle_through(draft, word, head)
    if cycle and not release:
        raise Refusal(
            "cycle",
            f"these heads form a cycle: {draft.path(cycle)}; give {draft.name(head)} another head first",
        )
    if cycle:
        draft.node(head).forget(*ARC)
    if head == 0 and roots == "single":
        _release_roots(draft, word, release=release)
    if node.head not in (head, NO_HEAD):
        draft.corrections += 1
    node.attach(head, node.deprel)
    node.decide("head")
    if label is not None:
        set_label(draft, word, label)


def _cycle_through(draft: Draft, word: int, head: int) -> list[int]:
    """The cycle that an arc would close with human heads; empty if there is none."""
    heads = [NO_HEAD, *draft.decided_heads()]
    path = [word]
    at = head
    while at > 0 and at not in path:
        path.append(at)
        at = heads[at]
    return [*path, word] if at == word else []


def _release_roots(draft: Draft, word: int, *, release: bool) -> None:
    for other, head in enumerate(draft.decided_heads(), start=1):
        if head == 0 and other != word:
            if not release:
                root, new = draft.name(other), draft.name(word)
                raise Refusal("two_roots", f"{root} is the root already; give it another head before {new}")
            draft.node(other).forget(*ARC)


def set_label(draft: Draft, word: int, label: str) -> None:
    """A human decides a label, and with it the head that the word has."""
    node = draft.node(word)
    if node.head == NO_HEAD:
        raise Refusal(
            "bad_edit", f"{draft.name(word)} has no head; a label belongs to an arc, so set it first"
        )
    if node.deprel not in ("_", checked(label, "deprel")):
        draft.corrections += 1
    node.attach(node.head, label)
    node.decide(*ARC)


def confirm(draft: Draft, words: Sequence[int]) -> None:
    """A human decides that the heads and labels of words are right."""
    for word in words or range(1, len(draft) + 1):
        node = draft.node(word)
        if node.head == NO_HEAD:
            raise Refusal("bad_edit", f"{draft.name(word)} has no head to confirm")
        node.decide(*(ARC if node.deprel != "_" else ("head",)))


def forget(draft: Draft, words: Sequence[int]) -> None:
    """The parser may change the heads and labels of words again."""
    for word in words or range(1, len(draft) + 1):
        draft.node(word).forget(*ARC)


def set_tags(draft: Draft, word: int, values: dict[Column, str]) -> None:
    """A human decides tags or the lemma; `_` is a decision, too."""
    node = draft.node(word)
    if not values:
        raise Refusal("bad_edit", f"tags: expected at least one of {', '.join(TAGS)}, got none")
    for column, value in values.items():
        setattr(node, column, _sorted_features(value) if column == "feats" else checked(value, column))
        node.decide(column)


def _sorted_features(value: str) -> str:
    checked(value, "feats")
    if value == "_":
        return value
    parts = value.split("|")
    names = [part.partition("=")[0] for part in parts]
    if any(not all(part.partition("=")) for part in parts) or len(set(names)) < len(names):
        raise Refusal(
            "bad_edit", f"feats: expected Name=Value|Name=Value, each name once, got {value[:80]!r}"
        )
    return "|".join(sorted(parts, key=str.lower))


def checked(value: str, column: str) -> str:
    """A value that a column can hold; Refusal for others."""
    spaces = column in ("form", "lemma")
    is_clean = value.isprintable() and (spaces or " " not in value)
    if not value or value != value.strip() or not is_clean or len(value) > 1000:
        kind = "one line of text" if spaces else "text without spaces"
        raise Refusal("bad_edit", f"{column}: expected {kind}, got {value[:80]!r}")
    return value


def set_form(draft: Draft, word: int, form: str) -> None:
    """Correct the form of a word; its decisions stay."""
    draft.node(word).form = checked(form, "form")
    draft.refresh_text()


def repair(draft: Draft, roots: Roots) -> None:
    """Empty heads of the parser that contradict others: they close a cycle, or are one root too many."""
    if roots == "single":
        found = [word for word, node in enumerate(draft.nodes, 1) if node.head == 0]
        found.sort(key=lambda word: draft.nodes[word - 1].by("head") == "parser")  # humans' first
        clear_arcs(draft, [w for w in found[1:] if draft.nodes[w - 1].by("head") == "parser"])
    while cycle := _any_cycle([NO_HEAD, *(node.head for node in draft.nodes)]):
        own = [word for word in cycle if draft.nodes[word - 1].by("head") == "parser"]
        clear_arcs(draft, own[:1] or cycle[-1:])


def clear_arcs(draft: Draft, words: Iterable[int]) -> None:
    """Empty heads and labels."""
    for word in words:
        draft.nodes[word - 1].fill(head=NO_HEAD, deprel="_")


def _any_cycle(heads: list[int]) -> list[int]:
    """The words of a cycle, in any order; empty if there is none. O(n)."""
    seen = [0] * len(heads)
    for start in range(1, len(heads)):
        path, at = [], start
        while at > 0 and not seen[at]:
            seen[at] = start
            path.append(at)
            at = heads[at]
        if at > 0 and seen[at] == start:
            return path[path.index(at) :]
    return []
