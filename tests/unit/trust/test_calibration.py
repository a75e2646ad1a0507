import numpy as np
import pytest
import torch

from gvdn.trust.baseline import Baseline, Calibration
from gvdn.trust.calibration import calibrate, excess
from gvdn.trust.churn import churned
from gvdn.trust.evidence import weigh
from gvdn.trust.front import front_of


def test_the_p_value_counts_churned_graphs_with_as_much_evidence():
    calibration = Calibration(1.0, 1.0, np.array([0.1, 0.2, 0.3]))
    assert [calibration.p_value(value) for value in (0.0, 0.2, 0.31)] == [1.0, 0.75, 0.25]


def test_false_alarms_under_other_churn_keep_to_the_stated_rate(clean, votes, trust, baseline):
    """Forty churned graphs that the thresholds were not calibrated on; at 5 %, 2 are expected."""
    alarms, touched, links = 0, [], []
    for number in range(40):
        later = churned(clean, baseline.answers.argmax(axis=1), np.random.default_rng(number))
        found = weigh(front_of(trust, baseline, later), later, votes(later))
        alarms += baseline.calibration.exceeded(excess(found, baseline.calibration.node))
        where = (found.changes.gained > 0) | (found.changes.lost > 0)
        touched.append(found.nodes[where] > baseline.calibration.node)
        links.append(found.links > baseline.calibration.link)
    assert alarms <= 3
    assert np.concatenate(touched).mean() < 0.09
    assert np.concatenate(links).mean() < 0.09


def test_the_same_seed_gives_the_same_baseline(clean, votes, trust, baseline):
    again = Baseline.of(clean, votes, seed=0, device=torch.device("cpu"))
    assert np.array_equal(again.own, baseline.own)
    assert np.array_equal(calibrate(trust, again, clean, votes, seed=0).excess, baseline.calibration.excess)


def test_evidence_is_counted_per_changed_link(clean, votes, trust, baseline):
    found = weigh(front_of(trust, baseline, clean), clean, votes(clean))
    assert excess(found, 1.0) == 0
    assert excess(found, -1.0) == pytest.approx(240 / (0.02 * clean.num_edges))
