"""Edits of a draft's words: splitting and joining words and sentences, multiword tokens.

Arcs, enhanced dependencies, multiword tokens and empty nodes are renumbered. Decisions of humans stay where
their words stay; an arc between two sentences is lost.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from itertools import chain, count
from typing import TypeAlias

from arbora.annotation.arcs import checked, clear_arcs, repair
from arbora.annotation.draft import TAGS, Draft, Node, surface, with_space
from arbora.annotation.refusal import Refusal
from arbora.data.sentence import NO_HEAD, EmptyNode, MultiwordToken
from arbora.interfaces import Roots

Renumber: TypeAlias = Callable[[int], int | None]
"""The new number of a word; None: it is not there any more."""
_NODE = re.compile(r"([0-9]+)(\.[0-9]+)?:")
SEPARATE = ("sent_id", "text", "newdoc", "newpar")
"""Comments that say something about one sentence only: joining drops those of the second."""


def split_word(draft: Draft, word: int, forms: Sequence[str], *, token: bool) -> None:
    """Split a word. The first new word keeps arc, dependents and the tags that humans decided.

    `token`: a multiword token with the old form covers the new words.
    """
    node = draft.node(word)
    if not 2 <= len(forms) <= 20:
        raise Refusal("bad_edit", f"forms: expected 2 to 20, got {len(forms)}")
    new = [Node(checked(form, "form")) for form in forms[1:]]
    more = len(new)
    old_form, spaced = node.form, node.space_after
    inside = any(each.first <= word <= each.last for each in draft.tokens)
    _renumber(draft, lambda old: old if old <= word else old + more)
    draft.tokens = [each._replace(last=each.last + more * (each.last == word)) for each in draft.tokens]
    node.form = checked(forms[0], "form")
    node.fill(**{column: "_" for column in TAGS if node.by(column) == "parser"})
    draft.nodes[word:word] = new
    if token and not inside:
        node.set_space(True)
        misc = with_space("_", spaced)
        draft.tokens = _sorted([*draft.tokens, _token(word, word + more, old_form, misc)])
    elif not inside:
        for each in draft.nodes[word - 1 : word + more - 1]:
            each.set_space(False)
        new[-1].set_space(spaced)
    draft.refresh_text()


def join_words(draft: Draft, first: int, last: int, form: str | None, *, roots: Roots) -> None:
    """Join neighbours to one word. It has the arc and the tags of the highest of them."""
    _check_range(draft, first, last)
    nodes = draft.nodes[first - 1 : last]
    own = [each for each in draft.tokens if each.first <= last and first <= each.last]
    exact = [each for each in own if (each.first, each.last) == (first, last)]
    if any(not (each.first <= first and last <= each.last) for each in own):
        raise Refusal("bad_edit", f"the multiword token {own[0].form} begins or ends inside; remove it first")
    if form is None:
        form = exact[0].form if exact else surface(nodes, ())
    top = _highest(draft, first, last)
    joined = draft.node(top)
    if first <= joined.head <= last:  # only where heads are unknown or cyclic
        joined.fill(head=NO_HEAD, deprel="_")
    joined.form = checked(form, "form")
    space = nodes[-1].space_after
    if exact:
        space = with_space(exact[0].misc, True) == exact[0].misc
    draft.tokens = [each for each in draft.tokens if each not in exact]
    fewer = last - first
    draft.nodes[first - 1 : last] = [joined]
    _renumber(draft, lambda old: old if old <= first else max(first, old - fewer))
    joined.set_space(space if exact or not own else True)
    repair(draft, roots)
    draft.refresh_text()


def _highest(draft: Draft, first: int, last: int) -> int:
    """The first word of a range none of whose ancestors is in it."""
    for word in range(first, last + 1):
        at, steps = draft.nodes[word - 1].head, 0
        while at > 0 and not first <= at <= last and steps <= len(draft):
            at, steps = draft.nodes[at - 1].head, steps + 1
        if at <= 0:
            return word
    return first


def make_token(draft: Draft, first: int, last: int, form: str | None) -> None:
    """Cover words with a multiword token."""
    _check_range(draft, first, last)
    for each in draft.tokens:
        if each.first <= last and first <= each.last:
            raise Refusal("bad_edit", f"the multiword token {each.form} is there already; remove it first")
    nodes = draft.nodes[first - 1 : last]
    form = checked("".join(node.form for node in nodes) if form is None else form, "form")
    token = _token(first, last, form, with_space("_", nodes[-1].space_after))
    for node in nodes:
        node.set_space(True)
    draft.tokens = _sorted([*draft.tokens, token])
    draft.refresh_text()


def edit_token(draft: Draft, first: int, form: str) -> None:
    """Correct the form of a multiword token."""
    place = _place_of_token(draft, first)
    token = draft.tokens[place]
    draft.tokens[place] = token._replace(fields=(checked(form, "form"), *token.fields[1:]))
    draft.refresh_text()


def remove_token(draft: Draft, first: int) -> None:
    """Remove a multiword token; its words stay, with spaces between them."""
    token = draft.tokens.pop(_place_of_token(draft, first))
    draft.nodes[token.last - 1].set_space(with_space(token.misc, True) == token.misc)
    draft.refresh_text()


def set_space(draft: Draft, word: int, *, after: bool) -> None:
    """Say whether a space follows a word, or the multiword token that ends with it."""
    draft.node(word)
    for place, token in enumerate(draft.tokens):
        if token.first <= word <= token.last:
            if word != token.last:
                raise Refusal("bad_edit", f"{draft.name(word)} is inside the multiword token {token.form}")
            draft.tokens[place] = token._replace(fields=(*token.fields[:-1], with_space(token.misc, after)))
            break
    else:
        draft.node(word).set_space(after)
    draft.refresh_text()


def split_sentence(draft: Draft, word: int, taken: Collection[str] = ()) -> tuple[Draft, Draft]:
    """Two sentences: the first ends after `word`. Arcs between them become unknown.

    The second gets a `# sent_id` that is not among `taken`, if the first has one.
    """
    draft.node(word)
    if word == len(draft):
        raise Refusal(
            "bad_edit", f"{draft.name(word)} is the last word: nothing is left for a second sentence"
        )
    for token in draft.tokens:
        if token.first <= word < token.last:
            raise Refusal("bad_edit", f"the multiword token {token.form} would be split; remove it first")
    first = _cut(draft, lambda old: old if old <= word else None)
    second = _cut(draft, lambda old: old - word if old > word else (0 if old == 0 else None))
    first.comments = list(draft.comments)
    second.comments = [f"# sent_id = {new_name(name, taken)}" for name in sentence_names(draft.comments)]
    first.corrections = draft.corrections
    first.refresh_text()
    second.refresh_text()
    return first, second


def sentence_names(comments: Iterable[str]) -> list[str]:
    """The values of `# sent_id`."""
    return [each.partition("=")[2].strip() for each in comments if _comment_name(each) == "sent_id"]


def new_name(name: str, taken: Collection[str]) -> str:
    """A name for the second part of a sentence: `name-b`, or the first letter or number that is not taken."""
    suffixes = chain("bcdefghijklmnopqrstuvwxyz", map(str, count(2)))
    return next(new for suffix in suffixes if (new := f"{name}-{suffix}") not in taken)


def join_sentences(one: Draft, other: Draft, *, roots: Roots) -> Draft:
    """One sentence of two. With single roots, one root stays: a human's before the parser's."""
    n = len(one)
    second = _cut(other, lambda old: 0 if old == 0 else old + n)
    comments = [each for each in other.comments if _comment_name(each) not in SEPARATE]
    joined = Draft(
        [*one.nodes, *second.nodes],
        [*one.comments, *(each for each in comments if each not in one.comments)],
        [*one.tokens, *second.tokens],
        [*one.empty, *second.empty],
        corrections=one.corrections + other.corrections,
    )
    found = [word for word, node in enumerate(joined.nodes, start=1) if node.head == 0]
    if roots == "single" and len(found) > 1:
        found.sort(key=lambda word: joined.nodes[word - 1].by("head") == "parser")
        clear_arcs(joined, found[1:])
    joined.refresh_text()
    return joined


# Parts


def _check_range(draft: Draft, first: int, last: int) -> None:
    draft.node(first)
    draft.node(last)
    if last <= first:
        raise Refusal("bad_edit", f"last: expected a word after word {first}, got {last}")


def _place_of_token(draft: Draft, first: int) -> int:
    for place, token in enumerate(draft.tokens):
        if token.first == first:
            return place
    raise Refusal("no_such_word", f"first: no multiword token begins at word {first}")


def _token(first: int, last: int, form: str, misc: str) -> MultiwordToken:
    return MultiwordToken(first, last, (form, *["_"] * 7, misc))


def _sorted(tokens: Sequence[MultiwordToken]) -> list[MultiwordToken]:
    return sorted(tokens, key=lambda token: token.first)


def _comment_name(comment: str) -> str:
    return comment[1:].partition("=")[0].split(maxsplit=1)[0] if comment[1:].strip() else ""


def _cut(draft: Draft, number: Renumber) -> Draft:
    """The words that have a new number, without comments."""
    kept = [(word, node) for word, node in enumerate(draft.nodes, start=1) if number(word)]
    tokens = [each for each in draft.tokens if number(each.first)]
    empty = [each for each in draft.empty if number(each.word) is not None]
    part = Draft([replace(node) for _, node in kept], [], tokens, empty)
    _renumber(part, number)
    return part


def _renumber(draft: Draft, number: Renumber) -> None:
    """Give words new numbers in heads, enhanced dependencies, multiword tokens and empty nodes."""
    for word, node in enumerate(draft.nodes, start=1):
        if node.head > 0:
            head = number(node.head)
            if head is None:
                clear_arcs(draft, [word])
            else:
                node.head = head
        node.deps = _renumbered_deps(node.deps, number)
    draft.tokens = [
        each._replace(first=number(each.first) or 0, last=number(each.last) or 0) for each in draft.tokens
    ]
    counts: dict[int, int] = {}
    empty = []
    for each in draft.empty:
        word = number(each.word) or 0
        counts[word] = counts.get(word, 0) + 1
        fields = (*each.fields[:7], _renumbered_deps(each.deps, number), each.fields[8])
        empty.append(EmptyNode(word, counts[word], fields))
    draft.empty = empty


def _renumbered_deps(deps: str, number: Renumber) -> str:
    """DEPS with new numbers, without those of words that are gone."""
    if deps == "_":
        return deps
    kept: list[tuple[int, str]] = []
    for part in deps.split("|"):
        match = _NODE.match(part)
        if match is None:
            return deps
        head = 0 if match[1] == "0" and not match[2] else number(int(match[1]))
        if head is not None:
            kept.append((head, f"{head}{match[2] or ''}:{part[match.end() :]}"))
    kept.sort(key=lambda pair: pair[0])
    return "|".join(text for _, text in kept) or "_"
