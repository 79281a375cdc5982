"""Template sets as text: what is compiled, and what is rejected."""

import pytest
from errors import rejects

from arbora.errors import InputError
from arbora.features import TemplateSet
from arbora.features._templates import FIELDS, ROLES
from arbora.registry import features


def compiled(**kinds):
    return TemplateSet(name="mine", summary="", **{"arcs": "", **kinds}).compiled


def test_a_line_is_a_template():
    found = compiled(arcs="\n h.form\t d-1.tag  # a comment\n\n# another\nb.tag h+2.shape\n", labels="l.tag")
    assert found["arcs"] == [
        [(ROLES["h"], 0, FIELDS["form"]), (ROLES["d"], -1, FIELDS["tag"])],
        [(ROLES["b"], 0, FIELDS["tag"]), (ROLES["h"], 2, FIELDS["shape"])],
    ]
    assert found["labels"] == [[(ROLES["l"], 0, FIELDS["tag"])]]
    assert found["siblings"] == found["grandparents"] == []


@pytest.mark.parametrize(
    ("kinds", "field"),
    [
        ({"arcs": "h.tag\n\nh.form d"}, "mine: arcs, template 3"),
        ({"arcs": "h.Tag"}, "mine: arcs, template 1"),
        ({"arcs": "h1.tag"}, "mine: arcs, template 1"),
        ({"arcs": "h.tag,d.tag"}, "mine: arcs, template 1"),
        ({"arcs": "s.tag"}, "role"),
        ({"siblings": "g.tag"}, "role"),
        ({"grandparents": "b.tag"}, "role"),
        ({"labels": "b.tag"}, "role"),
        ({"arcs": "h.forms"}, "field"),
        ({"arcs": "h-3.form"}, "mine: arcs, template 1"),
        ({"arcs": "h+99999999999.form"}, "mine: arcs, template 1"),
    ],
)
def test_malformed_templates_are_rejected(kinds, field):
    with rejects(InputError, field=field):
        compiled(**kinds)


@pytest.mark.parametrize("name", list(features))
def test_registered_sets_compile_and_repeat_nothing(name):
    templates = features.create(name)
    assert templates.name == name
    assert templates.summary
    assert templates.compiled["arcs"]
    for kind, lines in templates.compiled.items():
        assert len({tuple(sorted(line)) for line in lines}) == len(lines), kind
