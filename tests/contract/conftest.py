"""The methods, made small, and a ring to fit them on."""

from collections.abc import Callable
from typing import Any

import pytest
from small_models import SMALL, rewired, small_method

from gvdn.graph import Graph, Split, random_split

_FITTED: dict[str, Any] = {}


@pytest.fixture(params=list(SMALL))
def word(request) -> str:
    return request.param


@pytest.fixture
def make(word) -> Callable[..., Any]:
    return lambda **changes: small_method(word, **changes)


@pytest.fixture
def split(ring) -> Split:
    return random_split(ring, seed=0, train=0.2, stratified=True)


@pytest.fixture
def fitted(word, ring, split) -> Any:
    """Fitted on the ring with seed 0, once for all tests: to be asked, not to be changed."""
    if word not in _FITTED:
        _FITTED[word] = small_method(word).fit(ring, split, seed=0)
    return _FITTED[word]


@pytest.fixture
def perturbed(ring) -> Graph:
    return rewired(ring)
