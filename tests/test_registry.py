import pytest

from arbora.errors import InputError
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
    with pytest.raises(
        InputError, match=r"unknown family 'projectiv'; did you mean 'projective'\? known: "
    ) as caught:
        families.create("projectiv")
    assert all(name in str(caught.value) for name in families)


@pytest.mark.parametrize("name", ["xyz", "", None, [], 3])
def test_a_name_like_no_other_gets_the_list_alone(name):
    with pytest.raises(InputError, match=r"unknown family .*; known: projective") as caught:
        families.create(name)
    assert "did you mean" not in str(caught.value)


def test_a_name_is_given_once():
    registry = Registry("thing")
    registry.register("one", dict)
    with pytest.raises(InputError, match="the thing 'one' is registered already"):
        registry.register("one", list)
    assert registry.create("one") == {}


def test_bad_roots_are_named():
    with pytest.raises(InputError, match="roots must be 'single' or 'multi', got 'two'"):
        families.create("projective", roots="two")
