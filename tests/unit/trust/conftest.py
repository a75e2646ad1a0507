import dataclasses

import numpy as np
import pytest
import torch
from communities import Votes, communities

from gvdn.graph import Graph
from gvdn.trust.baseline import Baseline
from gvdn.trust.calibration import calibrate
from gvdn.trust.fitting import fit_trust
from gvdn.trust.model import TrustModel
from gvdn.trust.stored import LazyBaseline
from gvdn.trust.student import Student, teach


@pytest.fixture(scope="session")
def clean() -> Graph:
    return communities()


@pytest.fixture(scope="session")
def votes() -> Votes:
    return Votes()


@pytest.fixture(scope="session")
def student(clean, votes) -> Student:
    return teach(clean.features, clean.ids, votes(clean), seed=0, device=torch.device("cpu"))


@pytest.fixture(scope="session")
def trust(clean, votes, student) -> TrustModel:
    own = student.answers(clean.features, clean.ids)
    labels, trained = np.full(240, -1), np.arange(240) < 40
    return fit_trust(clean, votes, student, own, labels=labels, trained=trained, seed=0)


@pytest.fixture(scope="session")
def baseline(clean, votes, trust) -> Baseline:
    made = Baseline.of(clean, votes, seed=0, device=torch.device("cpu"))
    return dataclasses.replace(made, calibration=calibrate(trust, made, clean, votes, seed=0))


@pytest.fixture
def lazy(baseline, trust) -> LazyBaseline:
    """Baseline and trust model, all of which is there."""
    return LazyBaseline(baseline, lambda same, _: same, trust)
