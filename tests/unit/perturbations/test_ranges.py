"""The ranges of settings, against what the perturbations themselves refuse."""

import numpy as np
import pytest

from gvdn import METHODS, WhiteBox
from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Split, random_split
from gvdn.perturbations import PERTURBATIONS, perturb
from gvdn.perturbations.ranges import HOLDS, RANGES, WORDS, require_ranges

OUTSIDE = {
    "from 0 to 1": (-0.1, 1.1),
    "above 0 and at most 1": (0, 1.1),
    "at least 0": (-1,),
    "at least 1": (0,),
    "at least 2": (1,),
}
INSIDE = {
    "from 0 to 1": (0, 1),
    "above 0 and at most 1": (0.001, 1),
    "at least 0": (0, 7),
    "at least 1": (1, 7),
    "at least 2": (2, 7),
}
FREE = {"max_degree", "target"}
"""Numbers whose range depends on the graph."""


@pytest.fixture(scope="module")
def scene() -> tuple[Graph, Split, WhiteBox]:
    around = [(a, (a + step) % 20) for a in range(20) for step in (1, 2, 3)]
    edges = np.array([(a + side, b + side) for a, b in around for side in (0, 20)])
    labels = np.arange(40) // 20
    features = np.eye(2, dtype=np.float32)[labels]
    graph = Graph.from_edges(edges, features, labels=labels, name="circles")
    split = random_split(graph, seed=0, train=0.4)
    fitted = METHODS["gcn"](hidden=4, epochs=3, linear=True).fit(graph, split, seed=0)
    return graph, split, WhiteBox(fitted)


def given_to(name: str, model: WhiteBox) -> dict[str, object]:
    return {one: model for one in PERTURBATIONS[name].inputs if one in ("surrogate", "model")}


@pytest.mark.parametrize(("name", "setting"), [(name, one) for name in RANGES for one in RANGES[name]])
def test_what_is_out_of_the_range_the_perturbation_itself_refuses(name, setting, scene):
    graph, split, model = scene
    for value in OUTSIDE[RANGES[name][setting]]:
        with pytest.raises(InvalidInput, match=f"expected {setting} of {name} {RANGES[name][setting]}, got {value}"):
            require_ranges(name, {setting: value})
        with pytest.raises(InvalidInput):
            perturb(graph, name, split, seed=0, **given_to(name, model), **{setting: value})
    for value in INSIDE[RANGES[name][setting]]:
        require_ranges(name, {setting: value})


@pytest.mark.parametrize(("name", "setting"), WORDS)
def test_a_word_that_is_not_known_the_perturbation_itself_refuses(name, setting, scene):
    graph, split, model = scene
    with pytest.raises(InvalidInput, match=f"unknown {setting} 'nope' of {name}; known: "):
        require_ranges(name, {setting: "nope"})
    with pytest.raises(InvalidInput):
        perturb(graph, name, split, seed=0, **given_to(name, model), **{setting: "nope"})
    require_ranges(name, {setting: PERTURBATIONS[name].settings[setting]})


def test_every_number_and_word_of_every_perturbation_has_a_range():
    assert set(OUTSIDE) == set(INSIDE) == set(HOLDS)
    for name, member in PERTURBATIONS.items():
        numbers = {key for key, value in member.settings.items() if not isinstance(value, bool | str)}
        words = {key for key, value in member.settings.items() if isinstance(value, str)}
        assert set(RANGES[name]) == numbers - FREE
        assert {key for one, key in WORDS if one == name} == words


def test_an_alias_has_the_ranges_of_its_name_and_of_other_packages_nothing_is_known(monkeypatch):
    with pytest.raises(InvalidInput, match="expected rate of random-connections"):
        require_ranges("rdmPert", {"rate": 2})
    monkeypatch.setitem(PERTURBATIONS._found(), "theirs", lambda: None)
    require_ranges("theirs", {"rate": 2})
