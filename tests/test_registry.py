import pytest
from errors import rejects

from arbora.errors import InputError, UnknownNameError
from arbora.inference.families import Projective
from arbora.registry import Registry, families


def test_families_in_order():
    assert list(families) == [
        "projective",
        "nonprojective",
        "projective_sibling",
        "projective_grandparent",
        "nonprojective_sibling",
    ]
    assert "projective" in families
    assert "none" not in families
    assert families.create("projective", roots="multi") == Projective(roots="multi")


def test_an_unknown_name_suggests_the_nearest_and_lists_all():
    with rejects(UnknownNameError, field="family", name="projectiv", suggestion="projective") as caught:
        families.create("projectiv")
    assert all(name in str(caught.value) for name in families)


@pytest.mark.parametrize("name", ["xyz", "", None, [], 3])
def test_a_name_like_no_other_has_no_suggestion(name):
    with rejects(UnknownNameError, name=name, suggestion=None):
        families.create(name)


def test_a_name_cannot_be_registered_twice():
    registry = Registry("thing")
    registry.register("one", dict)
    with pytest.raises(InputError):
        registry.register("one", list)
    assert registry.create("one") == {}


def test_bad_roots_are_rejected():
    with rejects(InputError, field="roots"):
        families.create("projective", roots="two")
