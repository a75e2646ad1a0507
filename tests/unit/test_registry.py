import pytest

from gvdn.errors import InvalidInput
from gvdn.registry import Registry


@pytest.fixture
def animals():
    registry = Registry("animal")
    registry.add("zebra", 1, aliases=("striped-horse",))
    registry.register("ant")(2)
    return registry


def test_a_miss_lists_the_table_and_guesses(animals):
    with pytest.raises(InvalidInput, match="unknown animal 'zebrra'; did you mean 'zebra'.* known: zebra, ant"):
        animals["zebrra"]


def test_an_alias_finds_but_is_not_listed(animals):
    assert animals["striped-horse"] == 1
    assert animals.canonical("striped-horse") == "zebra"
    assert list(animals) == ["zebra", "ant"]
    assert "striped-horse" in animals


def test_a_name_is_taken_once(animals):
    with pytest.raises(ValueError, match="registered twice"):
        animals.add("striped-horse", 3)


def test_a_member_elsewhere_is_imported_when_it_is_asked_for(animals):
    animals.add_lazily("lion", "no.such.module:Lion")
    animals.add_lazily("tiger", "collections:OrderedDict")
    assert list(animals) == ["zebra", "ant", "lion", "tiger"]
    assert animals["tiger"].__name__ == "OrderedDict"
    with pytest.raises(ModuleNotFoundError):
        animals["lion"]


def test_the_home_of_a_member_is_known_without_importing_it(animals):
    animals.add_lazily("lion", "no.such.module:Lion")
    animals.register("bear", aliases=("bruin",))(InvalidInput)
    assert animals.home("lion") == "no.such.module"
    assert animals.home("bruin") == "gvdn.errors"
    with pytest.raises(InvalidInput, match="unknown animal 'lyon'"):
        animals.home("lyon")


def test_a_registry_prints_its_names(animals):
    assert repr(animals) == "<2 of the family animal: zebra, ant>"
