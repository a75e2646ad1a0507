"""The methods with small settings, each fitted once on a ring."""

from collections.abc import Callable
from typing import Any

import pytest
from small_models import SMALL, small_method

from gvdn.graph import Graph, Split, random_split
from gvdn.methods.contract import METHODS
from gvdn.testing import Contract
from gvdn.testing.graphs import rewired

_SUBJECTS: dict[str, Contract] = {}


def subject_of(word: str) -> Contract:
    """One for all tests, so that a method is fitted once: its models may be used, and not changed."""
    if word not in _SUBJECTS:
        name, settings = SMALL[word]
        _SUBJECTS[word] = Contract(METHODS[name], **settings)
    return _SUBJECTS[word]


@pytest.fixture(params=list(SMALL))
def word(request) -> str:
    return request.param


@pytest.fixture
def subject(word) -> Contract:
    return subject_of(word)


@pytest.fixture
def make(word) -> Callable[..., Any]:
    return lambda **changes: small_method(word, **changes)


@pytest.fixture
def split(ring) -> Split:
    return random_split(ring, seed=0, train=0.2, stratified=True)


@pytest.fixture
def fitted(subject) -> Any:
    """Fitted on the ring with seed 0."""
    return subject.fitted


@pytest.fixture
def perturbed(ring) -> Graph:
    return rewired(ring)
