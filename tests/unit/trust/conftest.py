import pytest
import torch
from communities import Votes, communities

from gvdn.graph import Graph
from gvdn.trust.baseline import Baseline
from gvdn.trust.student import Student, teach


@pytest.fixture(scope="session")
def clean() -> Graph:
    return communities()


@pytest.fixture(scope="session")
def votes() -> Votes:
    return Votes()


@pytest.fixture(scope="session")
def baseline(clean, votes) -> Baseline:
    return Baseline.of(clean, votes, seed=0, device=torch.device("cpu"))


@pytest.fixture(scope="session")
def student(clean, votes) -> Student:
    return teach(clean.features, clean.ids, votes(clean), seed=0, device=torch.device("cpu"))
