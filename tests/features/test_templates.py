"""Template sets as text: what is compiled, and what each fault is called."""

import pytest

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
    ("kinds", "message"),
    [
        ({"arcs": "h.tag\n\nh.form d"}, "mine: arcs, template 3: expected an atom such as .*, got 'd'"),
        ({"arcs": "h.Tag"}, "got 'h.Tag'"),
        ({"arcs": "h1.tag"}, "got 'h1.tag'"),
        ({"arcs": "h.tag,d.tag"}, "got 'h.tag,d.tag'"),
        ({"arcs": "s.tag"}, "mine: arcs, template 1: unknown role 's'.*known: h, d, b"),
        ({"siblings": "g.tag"}, "mine: siblings, template 1: unknown role 'g'"),
        ({"grandparents": "b.tag"}, "mine: grandparents, template 1: unknown role 'b'"),
        ({"labels": "b.tag"}, "mine: labels, template 1: unknown role 'b'"),
        ({"arcs": "h.forms"}, "unknown field 'forms'; did you mean 'form'"),
        ({"arcs": "h-3.form"}, "an offset of at most 2 words, got 'h-3.form'"),
        ({"arcs": "h+99999999999.form"}, "an offset of at most 2 words"),
    ],
)
def test_faults_are_named_with_their_line(kinds, message):
    with pytest.raises(InputError, match=message):
        compiled(**kinds)


@pytest.mark.parametrize("name", list(features))
def test_registered_sets_compile_and_repeat_nothing(name):
    templates = features.create(name)
    assert templates.name == name
    assert templates.summary
    assert templates.compiled["arcs"]
    for kind, lines in templates.compiled.items():
        assert len({tuple(sorted(line)) for line in lines}) == len(lines), kind
