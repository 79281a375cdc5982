"""Messages about malformed requests name what is allowed."""

import json

import pytest

from arbora.annotation import api
from arbora.annotation.changes import AnyEdit
from arbora.web.api import ParseRequest, Rejected, read_request

EDIT = {"number": 1, "version": "x"}


@pytest.mark.parametrize(
    ("kind", "body", "place", "names"),
    [
        (api.NextRequest, {"order": "x"}, "order", ["text", "doubt", "diversity"]),
        (api.ListRequest, {"states": ["raw", "x"]}, "states[1]", ["raw", "parsed", "touched", "done"]),
        (api.LearnRequest, {"do": "x"}, "do", ["start", "cancel", "check"]),
        (api.EditRequest, {**EDIT, "edit": {"do": "x"}}, "edit.do", ["head", "label", "split_word"]),
        (api.EditRequest, {**EDIT, "edit": {"do": "state", "state": "x"}}, "edit.state", ["done", "touched"]),
        (api.ListRequest, {"state": ["raw"]}, "state", ["start", "count", "states", "contains"]),
        (ParseRequest, {"keep": [{"words": 1}]}, "keep[0]", ["word", "head", "deprel"]),
    ],
)
def test_allowed_values_and_fields_are_listed(kind, body, place, names):
    with pytest.raises(Rejected) as caught:
        read_request(json.dumps(body).encode(), kind)
    assert (caught.value.status, caught.value.code) == (422, "bad_request")
    message = str(caught.value)
    assert place in message
    assert all(name in message for name in names)


@pytest.mark.parametrize(
    "body",
    [{"edit": {"do": "head", "word": 1, "head": 0, "more": 1}}, {"edit": 3}, {"edit": {}}, {"number": 0}, []],
)
def test_other_errors_keep_their_message(body):
    with pytest.raises(Rejected) as caught:
        read_request(json.dumps({**EDIT, **body} if body else body).encode(), api.EditRequest)
    assert caught.value.code == "bad_request"
    assert len(str(caught.value)) < 400


def test_long_values_are_cut():
    with pytest.raises(Rejected) as caught:
        read_request(json.dumps({"order": "x" * 10_000}).encode(), api.NextRequest)
    assert len(str(caught.value)) < 500


def test_every_kind_of_edit_is_listed():
    with pytest.raises(Rejected) as caught:
        read_request(json.dumps({**EDIT, "edit": {"do": "x"}}).encode(), api.EditRequest)
    kinds = [kind.__struct_config__.tag for kind in AnyEdit.__args__]
    assert all(kind in str(caught.value) for kind in kinds)
