"""From edits of the API to drafts: the function for each edit, and its name for people."""

from __future__ import annotations

from typing import Protocol

from arbora.annotation import arcs, changes, structure
from arbora.annotation.draft import TAGS, Column, Draft
from arbora.interfaces import Roots

KEEP_TREE = (
    changes.Confirm,
    changes.SetForm,
    changes.SetSpace,
    changes.MakeToken,
    changes.EditToken,
    changes.RemoveToken,
    changes.SetState,
)
"""Edits that need no parsing."""


class Surroundings(Protocol):
    """What an edit may need of the other sentences."""

    def following(self) -> Draft:
        """The next sentence, to be joined."""

    def names(self) -> set[str]:
        """The `# sent_id` of all sentences."""


def apply_edit(edit: changes.AnyEdit, draft: Draft, others: Surroundings, roots: Roots) -> list[Draft]:
    """Make an edit; return the replacement of the sentence."""
    match edit:
        case changes.SetHead():
            arcs.set_head(draft, edit.word, edit.head, edit.deprel, roots=roots, release=edit.release)
        case changes.SetLabel():
            arcs.set_label(draft, edit.word, edit.deprel)
        case changes.Confirm():
            arcs.confirm(draft, edit.words)
        case changes.Forget():
            arcs.forget(draft, edit.words)
        case changes.SetTags():
            values: dict[Column, str] = {
                name: value for name in TAGS if (value := getattr(edit, name)) is not None
            }
            arcs.set_tags(draft, edit.word, values)
        case changes.SetForm():
            arcs.set_form(draft, edit.word, edit.form)
        case changes.SetState():
            draft.finish() if edit.state == "done" else draft.reopen()
        case _:
            return _restructure(edit, draft, others, roots)
    return [draft]


def _restructure(edit: changes.AnyEdit, draft: Draft, others: Surroundings, roots: Roots) -> list[Draft]:
    match edit:
        case changes.SetSpace():
            structure.set_space(draft, edit.word, after=edit.after)
        case changes.SplitWord():
            structure.split_word(draft, edit.word, edit.forms, token=edit.token)
        case changes.JoinWords():
            structure.join_words(draft, edit.first, edit.last, edit.form, roots=roots)
        case changes.MakeToken():
            structure.make_token(draft, edit.first, edit.last, edit.form)
        case changes.EditToken():
            structure.edit_token(draft, edit.first, edit.form)
        case changes.RemoveToken():
            structure.remove_token(draft, edit.first)
        case changes.SplitSentence():
            return list(structure.split_sentence(draft, edit.word, others.names()))
        case changes.JoinSentences():
            return [structure.join_sentences(draft, others.following(), roots=roots)]
    return [draft]


def describe(edit: changes.AnyEdit, draft: Draft) -> str:
    """The name of an edit for people: `head of books`."""
    known = range(1, len(draft) + 1)

    def name(word: int) -> str:
        return draft.name(word) if word in known else "a word"

    match edit:
        case changes.SetHead():
            return f"head of {name(edit.word)}"
        case changes.SetLabel():
            return f"label of {name(edit.word)}"
        case changes.Confirm() | changes.Forget():
            verb = "confirmed" if isinstance(edit, changes.Confirm) else "given back"
            return f"{', '.join(map(name, edit.words[:3])) or 'all arcs'} {verb}"
        case changes.SetTags():
            return f"tags of {name(edit.word)}"
        case changes.SetForm() | changes.SetSpace():
            return f"text of {name(edit.word)}"
        case changes.SplitWord():
            return f"{name(edit.word)} split"
        case changes.JoinWords():
            return f"{name(edit.first)} joined with what follows"
        case changes.MakeToken() | changes.EditToken() | changes.RemoveToken():
            return f"multiword token at {name(edit.first)}"
        case changes.SplitSentence():
            return f"sentence split after {name(edit.word)}"
        case changes.JoinSentences():
            return "two sentences joined"
        case changes.SetState():
            return "sentence done" if edit.state == "done" else "sentence reopened"
