"""Templates of transition parsers: what is compiled, and what is rejected."""

import pytest
from errors import rejects

from arbora.errors import InputError
from arbora.features import TransitionTemplates
from arbora.registry import transition_features


def made(moves, **options):
    return TransitionTemplates(name="x-v1", summary="", moves=moves, labels="d.form", **options)


@pytest.mark.parametrize("name", list(transition_features))
def test_every_set_compiles(name):
    compiled = transition_features.create(name).compiled
    assert all(compiled.values())
    for templates in compiled.values():
        assert len({tuple(template) for template in templates}) == len(templates)


def test_a_quadratic_set_has_all_pairs():
    plain = made("l.form\nr.tag\nl.label")
    pairs = made("l.form\nr.tag\nl.label", quadratic=True)
    singles = plain.compiled["moves"]
    assert pairs.compiled["moves"][:3] == singles
    assert sorted(pairs.compiled["moves"][3:]) == sorted(
        [*a, *b] for i, a in enumerate(singles) for b in singles[i + 1 :]
    )


@pytest.mark.parametrize(
    ("moves", "field"),
    [
        ("l.from", "field"),
        ("x.form", "role"),
        ("d.form", "role"),
        ("l+3.form", "x-v1: moves, template 1"),
        ("lform", "x-v1: moves, template 1"),
        ("n.label", "x-v1: moves, template 1"),
        ("ll.lefts", "x-v1: moves, template 1"),
        ("r.distance", "x-v1: moves, template 1"),
        ("l+1.label", "x-v1: moves, template 1"),
        ("l.guide", "field"),
        ("l.headplace", "field"),
        ("lq.tag", "role"),
    ],
)
def test_malformed_templates_are_rejected(moves, field):
    with rejects(InputError, field=field):
        _ = made(moves).compiled


@pytest.mark.parametrize(
    ("guides", "field"),
    [
        ("dq.tag", "role"),
        ("u.headplace", "x-v1: guides, template 1"),
        ("lq.ahead", "x-v1: guides, template 1"),
        ("lq.label", "x-v1: guides, template 1"),
        ("l+1.behind", "x-v1: guides, template 1"),
    ],
)
def test_malformed_templates_about_a_guide_are_rejected(guides, field):
    with rejects(InputError, field=field):
        _ = made("l.form", guides=guides).compiled


@pytest.mark.parametrize("name", ["zhang-nivre-v1", "nivre-v1"])
def test_a_guided_set_begins_as_the_other_does(name):
    plain, guided = (transition_features.create(each) for each in (name, f"{name}+guide-v1"))
    assert guided.needs_guide
    assert not plain.needs_guide
    for part, texts in (("moves", guided.guides), ("labels", guided.guide_labels)):
        few, many = plain.compiled[part], guided.compiled[part]
        assert many[: len(few)] == few
        assert len(many) - len(few) == len(texts.split("\n")) - 2
