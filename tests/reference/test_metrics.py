"""Each metric against an independent implementation, or a plain loop."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import entropy as scipy_entropy
from sklearn.metrics import accuracy_score

from gvdn.metrics import (
    accuracy,
    brier_score,
    class_separation,
    expected_calibration_error,
    normalised_entropy,
)


@st.composite
def predictions(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**31)))
    nodes, classes = draw(st.integers(1, 60)), draw(st.integers(2, 6))
    return rng.dirichlet(np.full(classes, draw(st.sampled_from([0.05, 1.0, 20.0]))), nodes), rng.integers(
        0, classes, nodes
    )


@given(predictions())
def test_accuracy_is_scikit_learns(given):
    probs, labels = given
    assert accuracy(probs, labels) == pytest.approx(accuracy_score(labels, probs.argmax(1)))


@given(predictions())
def test_normalised_entropy_is_scipys(given):
    probs, _ = given
    expected = np.mean([scipy_entropy(row) for row in probs]) / np.log(probs.shape[1])
    assert normalised_entropy(probs) == pytest.approx(expected, abs=1e-9)


def test_entropy_of_certainty_is_zero_and_of_ignorance_one():
    assert normalised_entropy(np.eye(3)) == pytest.approx(0)
    assert normalised_entropy(np.full((2, 5), 0.2)) == pytest.approx(1)


@given(predictions(), st.integers(1, 20))
def test_calibration_error_is_a_loop_over_bins(given, bins):
    probs, labels = given
    confidence, right = probs.max(1), probs.argmax(1) == labels
    total = 0.0
    for number in range(bins):
        low, high = number / bins, (number + 1) / bins
        inside = (confidence > low) & (confidence <= high)
        if inside.any():
            total += inside.mean() * abs(right[inside].mean() - confidence[inside].mean())
    assert expected_calibration_error(probs, labels, bins=bins) == pytest.approx(total, abs=1e-6)


@given(predictions())
def test_brier_is_a_double_loop(given):
    probs, labels = given
    rows = [sum((p - (k == label)) ** 2 for k, p in enumerate(row)) for row, label in zip(probs, labels, strict=True)]
    assert brier_score(probs, labels) == pytest.approx(np.mean(rows))


def test_class_separation_is_a_loop_over_nodes():
    rng = np.random.default_rng(0)
    points, labels = rng.normal(size=(30, 3)), rng.integers(0, 3, 30)
    points[:, 0] += labels
    silhouettes = []
    for node in range(30):
        far = np.linalg.norm(points - points[node], axis=1)
        own = far[(labels == labels[node]) & (np.arange(30) != node)].mean()
        other = min(far[labels == label].mean() for label in range(3) if label != labels[node])
        silhouettes.append((other - own) / max(own, other))
    assert class_separation(points, labels) == pytest.approx(np.mean(silhouettes))


@pytest.mark.parametrize("labels", [[1, 1, 1], [0, 1, 2]])
def test_one_class_or_every_node_its_own_has_nothing_to_separate(labels):
    assert class_separation(np.eye(3), np.array(labels)) == 0
