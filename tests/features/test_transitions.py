"""Templates of transition parsers: what is written down, and what is refused."""

import pytest

from arbora.errors import InputError
from arbora.features import TransitionTemplates
from arbora.registry import transition_features


@pytest.mark.parametrize("name", list(transition_features))
def test_every_set_compiles(name):
    compiled = transition_features.create(name).compiled
    assert all(compiled.values())
    for templates in compiled.values():
        assert len({tuple(template) for template in templates}) == len(templates)


def test_a_quadratic_set_has_all_pairs():
    plain = TransitionTemplates("x-v1", "", "l.form\nr.tag\nl.label", "d.form")
    pairs = TransitionTemplates("x-v1", "", "l.form\nr.tag\nl.label", "d.form", quadratic=True)
    singles = plain.compiled["moves"]
    assert pairs.compiled["moves"][:3] == singles
    assert sorted(pairs.compiled["moves"][3:]) == sorted(
        [*a, *b] for i, a in enumerate(singles) for b in singles[i + 1 :]
    )


@pytest.mark.parametrize(
    ("moves", "message"),
    [
        ("l.from", "unknown field 'from'"),
        ("x.form", "unknown role 'x'"),
        ("d.form", "unknown role 'd'"),
        ("l+3.form", "an offset of at most 2 words"),
        ("lform", "expected an atom"),
        ("n.label", "n has no label there"),
        ("ll.lefts", "ll has no lefts there"),
        ("r.distance", "r has no distance there"),
        ("l+1.label", "l has no label there"),
        ("l.guide", "unknown field 'guide'"),
        ("l.headplace", "unknown field 'headplace'"),
        ("lq.tag", "unknown role 'lq'"),
    ],
)
def test_what_is_no_template(moves, message):
    with pytest.raises(InputError, match=message):
        _ = TransitionTemplates("x-v1", "", moves, "d.form").compiled


@pytest.mark.parametrize(
    ("guides", "message"),
    [
        ("dq.tag", "x-v1: guides, template 1: unknown role 'dq'"),
        ("u.headplace", "u has no headplace there"),
        ("lq.ahead", "lq has no ahead there"),
        ("lq.label", "lq has no label there"),
        ("l+1.behind", "l has no behind there"),
    ],
)
def test_what_is_no_template_about_a_guide(guides, message):
    with pytest.raises(InputError, match=message):
        _ = TransitionTemplates("x-v1", "", "l.form", "d.form", guides=guides).compiled


@pytest.mark.parametrize("name", ["zhang-nivre-v1", "nivre-v1"])
def test_a_guided_set_begins_as_the_other_does(name):
    plain, guided = (transition_features.create(each) for each in (name, f"{name}+guide-v1"))
    assert guided.needs_guide
    assert not plain.needs_guide
    for part, texts in (("moves", guided.guides), ("labels", guided.guide_labels)):
        few, many = plain.compiled[part], guided.compiled[part]
        assert many[: len(few)] == few
        assert len(many) - len(few) == len(texts.split("\n")) - 2
