"""A sentence that is being annotated: columns that can change, who decided each value, and the state.

All of it is in the CoNLL-U file, readable by any tool:

- MISC has `Human=HEAD,DEPREL` for the columns of a word that a person decided here, and `Parser=HEAD,UPOS`
  for those that a model filled in. A value in neither list counts as a human's: it came with the file, or is
  in a sentence that is done.
- `# annotation = raw|parsed|touched|done` is the state: no heads; heads by the parser only; a human decided
  something; a human says that all is right. Without this comment, a complete tree without marks is done.
- `# corrections = 2` counts the heads and labels that a human changed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, get_args

from arbora.annotation.refusal import Refusal
from arbora.data.sentence import NO_HEAD, EmptyNode, MultiwordToken, Sentence

State: TypeAlias = Literal["raw", "parsed", "touched", "done"]
STATES: tuple[State, ...] = get_args(State)
By: TypeAlias = Literal["human", "parser"]
Column: TypeAlias = Literal["head", "deprel", "upos", "xpos", "feats", "lemma"]
COLUMNS: tuple[Column, ...] = get_args(Column)
TAGS: tuple[Column, ...] = ("upos", "xpos", "feats", "lemma")
ARC: tuple[Column, ...] = ("head", "deprel")
HUMAN, PARSER = "Human", "Parser"
STATE, CORRECTIONS = "annotation", "corrections"
_NAMES = {name.upper(): name for name in COLUMNS}
_NO_SPACE = "SpaceAfter=No"
_DEP = re.compile(r"[0-9]+(\.[0-9]+)?:.")


@dataclass(slots=True)
class Node:
    """One word; `head` is a number as in the file, -1 if unknown."""

    form: str
    lemma: str = "_"
    upos: str = "_"
    xpos: str = "_"
    feats: str = "_"
    head: int = NO_HEAD
    deprel: str = "_"
    deps: str = "_"
    misc: str = "_"
    human: frozenset[Column] = frozenset()
    parser: frozenset[Column] = frozenset()

    def is_empty(self, column: Column) -> bool:
        return self.head == NO_HEAD if column == "head" else getattr(self, column) == "_"

    def by(self, column: Column) -> By | None:
        """Who decided a column; None: it is empty."""
        if column in self.human:
            return "human"
        if self.is_empty(column):
            return None
        return "parser" if column in self.parser else "human"

    def decide(self, *columns: Column) -> None:
        """A human decides columns as they are."""
        self.human |= set(columns)
        self.parser -= set(columns)

    def attach(self, head: int, deprel: str) -> None:
        """Set head and label; DEPS follows if it has the old arc."""
        self.deps = _with_arc(self.deps, (self.head, self.deprel), (head, deprel))
        self.head, self.deprel = head, deprel

    def fill(self, **values: int | str) -> None:
        """The parser sets columns; -1 and `_` empty them."""
        self.attach(int(values.get("head", self.head)), str(values.get("deprel", self.deprel)))
        for name in values.keys() - ARC:
            setattr(self, name, values[name])
        columns: frozenset[Column] = frozenset(_NAMES[name.upper()] for name in values)
        self.human -= columns
        self.parser = (self.parser - columns) | {each for each in columns if not self.is_empty(each)}

    def forget(self, *columns: Column) -> None:
        """Turn human decisions into the parser's, which it may change."""
        self.human -= set(columns)
        self.parser |= {each for each in columns if not self.is_empty(each)}

    @property
    def space_after(self) -> bool:
        return _NO_SPACE not in self.misc.split("|")

    def set_space(self, after: bool) -> None:
        self.misc = with_space(self.misc, after)


@dataclass
class Draft:
    """The words of a sentence, and the lines around them."""

    nodes: list[Node]
    comments: list[str]
    tokens: list[MultiwordToken]
    empty: list[EmptyNode]
    is_done: bool = False
    corrections: int = 0

    @classmethod
    def of(cls, sentence: Sentence) -> Draft:
        """Take the marks out of MISC and comments."""
        nodes = [_node(*row) for row in zip(*sentence.columns(), strict=True)]
        own, comments = {}, []
        for comment in sentence.comments:
            name, equals, value = (part.strip() for part in comment[1:].partition("="))
            if equals and name in (STATE, CORRECTIONS):
                own[name] = value
            else:
                comments.append(comment)
        count = own.get(CORRECTIONS, "0")
        tokens, empty = list(sentence.multiword_tokens), list(sentence.empty_nodes)
        draft = cls(nodes, comments, tokens, empty, False, int(count) if count.isdecimal() else 0)
        has_marks = any(node.human or node.parser for node in nodes)
        draft.is_done = own.get(STATE) == "done" if STATE in own else draft.is_complete and not has_marks
        return draft

    def to_sentence(self, *, marks: bool = True) -> Sentence:
        """The sentence, with our marks in MISC and comments, or without."""
        comments = list(self.comments)
        if marks:
            comments.append(f"# {STATE} = {self.state}")
            comments += [f"# {CORRECTIONS} = {self.corrections}"] if self.corrections else []
        rows = [
            (
                n.form,
                n.lemma,
                n.upos,
                n.xpos,
                n.feats,
                n.head,
                n.deprel,
                n.deps,
                _misc(n) if marks else n.misc,
            )
            for n in self.nodes
        ]
        columns: list[Any] = [
            *zip(*rows, strict=True),
            tuple(comments),
            tuple(self.tokens),
            tuple(self.empty),
        ]
        return Sentence(*columns)

    def __len__(self) -> int:
        return len(self.nodes)

    def node(self, word: int) -> Node:
        """The word with this number; Refusal if there is none."""
        if not 1 <= word <= len(self.nodes):
            raise Refusal("no_such_word", f"word: expected a number from 1 to {len(self.nodes)}, got {word}")
        return self.nodes[word - 1]

    @property
    def is_complete(self) -> bool:
        """Whether every word has a head and a label."""
        return all(node.head != NO_HEAD and node.deprel != "_" for node in self.nodes)

    @property
    def state(self) -> State:
        if self.is_done and self.is_complete and not any(node.parser for node in self.nodes):
            return "done"
        if any(node.human or node.by("head") == "human" for node in self.nodes):
            return "touched"
        return "raw" if all(node.head == NO_HEAD for node in self.nodes) else "parsed"

    @property
    def decided(self) -> int:
        """The number of heads that humans decided."""
        return sum(node.by("head") == "human" for node in self.nodes)

    def decided_heads(self) -> list[int]:
        """The heads that humans decided, -1 for others."""
        return [node.head if node.by("head") == "human" else NO_HEAD for node in self.nodes]

    def decided_labels(self) -> list[str]:
        """The labels that humans decided, `_` for others."""
        return [node.deprel if node.by("deprel") == "human" else "_" for node in self.nodes]

    def finish(self) -> None:
        """A human says that all is right: every value is a human's. Refusal if an arc is missing."""
        missing = [self.name(i) for i, n in enumerate(self.nodes, 1) if n.head == NO_HEAD or n.deprel == "_"]
        if missing:
            words = ", ".join(missing[:5]) + (", ..." if len(missing) > 5 else "")
            raise Refusal("unfinished", f"a head and a label are missing for: {words}; decide them first")
        for node in self.nodes:
            node.human = node.parser = frozenset()
        self.is_done = True

    def learnable(self, *, labelled: bool = True) -> Sentence:
        """The sentence with only the arcs that humans decided; the label of some may be the parser's."""
        heads = self.decided_heads()
        pairs = zip(self.nodes, heads, strict=True)
        labels = tuple("_" if head == NO_HEAD else node.deprel for node, head in pairs)
        if labelled:
            heads = [NO_HEAD if label == "_" else head for head, label in zip(heads, labels, strict=True)]
        return replace(self.to_sentence(marks=False), heads=tuple(heads), deprels=labels)

    def reopen(self) -> None:
        """A human says that something may be wrong; the values stay the human's."""
        self.is_done = False

    # Names for people

    def name(self, word: int) -> str:
        """A word for messages: its form, with its number if the form occurs twice."""
        if word == 0:
            return "the root"
        form = self.nodes[word - 1].form
        count = Counter(node.form for node in self.nodes)[form]
        return f"{form} ({word})" if count > 1 else form

    def path(self, words: Iterable[int]) -> str:
        """Words with arrows: `She -> reads -> She`."""
        return " -> ".join(map(self.name, words))

    # Text

    @property
    def text(self) -> str:
        """The surface text, from tokens and spaces."""
        return surface(self.nodes, self.tokens)

    def refresh_text(self) -> None:
        """Write the text again into its comment."""
        line = f"# text = {self.text}"
        for place, comment in enumerate(self.comments):
            if comment[1:].partition("=")[0].strip() == "text":
                self.comments[place] = line
                return
        self.comments.append(line)


def surface(nodes: Sequence[Node], tokens: Sequence[MultiwordToken]) -> str:
    """The text of words and multiword tokens."""
    covered = {token.first: token for token in tokens}
    parts: list[str] = []
    shown_to = 0
    for word, node in enumerate(nodes, start=1):
        if word <= shown_to:
            continue
        token = covered.get(word)
        shown_to = word if token is None else token.last
        misc = node.misc if token is None else token.misc
        parts.append((node.form if token is None else token.form) + " " * (_NO_SPACE not in misc.split("|")))
    return "".join(parts).rstrip(" ")


def _with_arc(deps: str, old: tuple[int, str], new: tuple[int, str]) -> str:
    """DEPS with a new basic arc in place of the old one, whose label may be longer there.

    An arc that becomes unknown stays in DEPS until a new one replaces it, so the only arc there counts as it.
    """
    parts = deps.split("|")
    if old == new or new[0] == NO_HEAD or not all(map(_DEP.match, parts)):
        return deps
    basic = re.compile(rf"{old[0]}:{re.escape(old[1])}(:|$)")
    places = [place for place, part in enumerate(parts) if basic.match(part)]
    if not places and (old[0] != NO_HEAD or len(parts) > 1):
        return deps
    parts[places[0] if places else 0] = f"{new[0]}:{new[1]}"
    return "|".join(sorted(dict.fromkeys(parts), key=_place_of))


def _place_of(dep: str) -> tuple[int, ...]:
    """The head of an enhanced arc: (5,), or (5, 1) for an empty node."""
    return tuple(map(int, dep.partition(":")[0].split(".")))


def with_space(misc: str, after: bool) -> str:
    """MISC with or without the mark that no space follows."""
    kept = [part for part in misc.split("|") if part not in ("_", _NO_SPACE)]
    return "|".join(kept if after else [*kept, _NO_SPACE]) or "_"


def _node(*row: object) -> Node:
    *columns, misc = row
    node = Node(*columns)  # type: ignore[arg-type]
    kept = []
    for part in str(misc).split("|"):
        name, _, value = part.partition("=")
        names = value.split(",")
        if name in (HUMAN, PARSER) and set(names) <= _NAMES.keys():
            setattr(node, name.lower(), frozenset(_NAMES[each] for each in names))
        else:
            kept.append(part)
    node.parser -= node.human
    node.misc = "|".join(kept) or "_"
    return node


def _misc(node: Node) -> str:
    marks = []
    for name, columns in ((HUMAN, node.human), (PARSER, node.parser)):
        if columns:
            marks.append(f"{name}={','.join(each.upper() for each in COLUMNS if each in columns)}")
    return "|".join([*([] if node.misc == "_" else [node.misc]), *marks]) or "_"
