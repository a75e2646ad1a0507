import pytest
from small_models import small

from gvdn.graph import Split, random_split
from gvdn.methods.gvdn import GVDN


@pytest.fixture
def split(ring) -> Split:
    return random_split(ring, seed=0, train=0.2, stratified=True)


@pytest.fixture
def fitted(ring, split) -> GVDN:
    return small().fit(ring, split, seed=0)
