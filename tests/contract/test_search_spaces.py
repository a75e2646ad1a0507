"""The search spaces of all methods: valid, and of one size as far as possible."""

import math

import pytest

from gvdn.methods.base import Base
from gvdn.methods.contract import METHODS
from gvdn.methods.search import COMMON, OWN

REFERENCES = {"gcn", "gcn-retrained", "mlp", "snapshot"}


@pytest.mark.parametrize("name", METHODS)
def test_every_choice_is_a_valid_setting(name):
    cls = METHODS[name]
    for setting, choices in cls.search_space.items():
        assert len(set(choices)) == len(choices) >= 2
        for value in choices:
            assert cls(**{setting: value}).get_params()[setting] == value


@pytest.mark.parametrize("name", METHODS)
def test_every_method_has_the_common_settings_with_as_many_choices_as_the_others(name):
    space = METHODS[name].search_space
    assert {setting: len(space[setting]) for setting in COMMON} == {
        one: len(choices) for one, choices in COMMON.items()
    }


@pytest.mark.parametrize("name", [name for name in METHODS if METHODS[name].search_space is not Base.search_space])
def test_a_method_with_settings_of_its_own_has_as_many_combinations_of_them_as_the_others(name):
    """MC Dropout is a GCN whose own setting, the dropout, is among the common ones."""
    space = METHODS[name].search_space
    own = {setting: choices for setting, choices in space.items() if setting not in COMMON}
    assert 1 <= len(own) <= 3
    assert math.prod(map(len, own.values())) == (3 if name == "mc-dropout" else OWN)


def test_only_methods_without_settings_of_their_own_have_the_space_of_the_base():
    assert {name for name in METHODS if METHODS[name].search_space is Base.search_space} >= REFERENCES
    assert METHODS["gvdn"].search_space is not Base.search_space
