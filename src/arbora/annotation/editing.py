"""From an edit of the API to drafts: which function makes it, and what people call it."""

from __future__ import annotations

from collections.abc import Callable

from arbora.annotation import api, arcs, structure
from arbora.annotation.draft import TAGS, Column, Draft
from arbora.interfaces import Roots

KEEP_TREE = (
    api.Confirm,
    api.SetForm,
    api.SetSpace,
    api.MakeToken,
    api.EditToken,
    api.RemoveToken,
    api.SetState,
)
"""Edits after which the parser has nothing to do."""


def apply_edit(edit: api.AnyEdit, draft: Draft, following: Callable[[], Draft], roots: Roots) -> list[Draft]:
    """Make an edit; return what replaces the sentence. `following` gives the next one, to be joined."""
    match edit:
        case api.SetHead():
            arcs.set_head(draft, edit.word, edit.head, edit.deprel, roots=roots, release=edit.release)
        case api.SetLabel():
            arcs.set_label(draft, edit.word, edit.deprel)
        case api.Confirm():
            arcs.confirm(draft, edit.words)
        case api.Forget():
            arcs.forget(draft, edit.words)
        case api.SetTags():
            values: dict[Column, str] = {
                name: value for name in TAGS if (value := getattr(edit, name)) is not None
            }
            arcs.set_tags(draft, edit.word, values)
        case api.SetForm():
            arcs.set_form(draft, edit.word, edit.form)
        case api.SetState():
            draft.finish() if edit.state == "done" else draft.reopen()
        case _:
            return _restructure(edit, draft, following, roots)
    return [draft]


def _restructure(
    edit: api.AnyEdit, draft: Draft, following: Callable[[], Draft], roots: Roots
) -> list[Draft]:
    match edit:
        case api.SetSpace():
            structure.set_space(draft, edit.word, after=edit.after)
        case api.SplitWord():
            structure.split_word(draft, edit.word, edit.forms, token=edit.token)
        case api.JoinWords():
            structure.join_words(draft, edit.first, edit.last, edit.form, roots=roots)
        case api.MakeToken():
            structure.make_token(draft, edit.first, edit.last, edit.form)
        case api.EditToken():
            structure.edit_token(draft, edit.first, edit.form)
        case api.RemoveToken():
            structure.remove_token(draft, edit.first)
        case api.SplitSentence():
            return list(structure.split_sentence(draft, edit.word))
        case api.JoinSentences():
            return [structure.join_sentences(draft, following(), roots=roots)]
    return [draft]


def describe(edit: api.AnyEdit, draft: Draft) -> str:
    """What people call an edit: `head of books`."""
    known = range(1, len(draft) + 1)

    def name(word: int) -> str:
        return draft.name(word) if word in known else "a word"

    match edit:
        case api.SetHead():
            return f"head of {name(edit.word)}"
        case api.SetLabel():
            return f"label of {name(edit.word)}"
        case api.Confirm() | api.Forget():
            verb = "confirmed" if isinstance(edit, api.Confirm) else "given back"
            return f"{', '.join(map(name, edit.words[:3])) or 'all arcs'} {verb}"
        case api.SetTags():
            return f"tags of {name(edit.word)}"
        case api.SetForm() | api.SetSpace():
            return f"text of {name(edit.word)}"
        case api.SplitWord():
            return f"{name(edit.word)} split"
        case api.JoinWords():
            return f"{name(edit.first)} joined with what follows"
        case api.MakeToken() | api.EditToken() | api.RemoveToken():
            return f"multiword token at {name(edit.first)}"
        case api.SplitSentence():
            return f"sentence split after {name(edit.word)}"
        case api.JoinSentences():
            return "two sentences joined"
        case api.SetState():
            return "sentence done" if edit.state == "done" else "sentence reopened"
