import numpy as np
import pytest
from sklearn import metrics as sk

from gvdn.errors import InvalidInput
from gvdn.metrics import Decision, choose_threshold, conformal_sets, conformal_threshold, risk_coverage


def ranked(seed: int = 0, nodes: int = 400) -> tuple[np.ndarray, np.ndarray]:
    """Scores that are higher, on average, for the one in ten that are positive."""
    rng = np.random.default_rng(seed)
    positive = rng.random(nodes) < 0.1
    return np.round(np.clip(rng.normal(0.3 + 0.3 * positive, 0.15), 0, 1), 3), positive


@pytest.mark.parametrize("goal", ["f1", "balanced-accuracy"])
@pytest.mark.parametrize("seed", range(4))
def test_no_other_threshold_is_better(goal, seed):
    scores, positive = ranked(seed)
    worth = {"f1": sk.f1_score, "balanced-accuracy": sk.balanced_accuracy_score}[goal]
    best = max(worth(positive, scores >= threshold) for threshold in np.unique(scores))
    assert worth(positive, scores >= choose_threshold(scores, positive, goal)) == pytest.approx(best)


@pytest.mark.parametrize(("goal", "asked", "other"), [("recall", 0.8, "precision"), ("precision", 0.6, "recall")])
def test_the_share_is_reached_and_the_other_is_as_high_as_it_can_be(goal, asked, other):
    scores, positive = ranked()
    of = {"recall": sk.recall_score, "precision": sk.precision_score}
    chosen = scores >= choose_threshold(scores, positive, f"{goal}={asked}")
    assert of[goal](positive, chosen) >= asked
    able = [scores >= one for one in np.unique(scores) if of[goal](positive, scores >= one) >= asked]
    assert of[other](positive, chosen) == pytest.approx(max(of[other](positive, one) for one in able))


def test_a_threshold_is_a_decision_by_costs():
    probs = np.column_stack([1 - np.linspace(0, 1, 101), np.linspace(0, 1, 101)])
    for threshold in (0.1, 0.35, 0.5, 0.9):
        for positive in (0, 1):
            named = Decision.at_threshold(threshold, positive).decide(probs) == positive
            sure = np.abs(probs[:, positive] - threshold) > 1e-9
            assert (named == (probs[:, positive] > threshold))[sure].all()


def test_the_class_of_the_smallest_expected_cost_is_named():
    rng = np.random.default_rng(0)
    costs, probs = rng.random((3, 3)) + 1 - np.eye(3), rng.dirichlet(np.ones(3), 50)
    np.fill_diagonal(costs, 0)
    by_hand = [min(range(3), key=lambda j: sum(p[i] * costs[i, j] for i in range(3))) for p in probs]
    assert Decision(costs).decide(probs).tolist() == by_hand
    assert (Decision(1 - np.eye(3)).decide(probs) == probs.argmax(axis=1)).all()


@pytest.mark.parametrize("coverage", [0.8, 0.9, 0.95])
def test_the_sets_hold_the_true_class_as_often_as_is_said(coverage):
    rng, held = np.random.default_rng(1), []
    for _ in range(200):
        probs = rng.dirichlet(np.full(4, 0.5), 300)
        labels = np.array([rng.choice(4, p=p) for p in probs])
        threshold = conformal_threshold(probs[:100], labels[:100], coverage)
        held.append(conformal_sets(probs[100:], threshold)[np.arange(200), labels[100:]].mean())
    assert coverage - 0.01 <= np.mean(held) <= coverage + 0.02


def test_too_few_nodes_promise_nothing_so_every_class_is_in_the_set():
    probs = np.array([[0.9, 0.1]] * 5)
    assert conformal_sets(probs, conformal_threshold(probs, np.zeros(5, dtype=int), 0.95)).all()


def test_the_risk_falls_when_the_least_confident_are_not_answered():
    probs = np.array([[0.9, 0.1], [0.8, 0.2], [0.6, 0.4], [0.55, 0.45]])
    found = risk_coverage(probs, np.array([0, 0, 1, 0]))
    assert found.coverage.tolist() == [0.25, 0.5, 0.75, 1]
    assert found.risk.tolist() == pytest.approx([0, 0, 1 / 3, 1 / 4])
    assert found.area == pytest.approx((1 / 3 + 1 / 4) / 4)


@pytest.mark.parametrize(
    ("goal", "sentence"),
    [
        ("f2", "unknown goal 'f2'; expected f1, balanced-accuracy, recall=SHARE or precision=SHARE"),
        ("recall=2", "expected a share between 0 and 1 in 'recall=2'"),
        ("recall=much", "expected a share between 0 and 1"),
        ("precision=1", "no threshold reaches precision 1 here; the most is 0.500"),
    ],
)
def test_a_goal_that_cannot_be_met_is_refused(goal, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        choose_threshold(np.array([0.5, 0.5, 0.1]), np.array([True, False, False]), goal)


def test_other_refusals():
    with pytest.raises(InvalidInput, match="expected nodes of both classes"):
        choose_threshold(np.array([0.5, 0.5]), np.array([True, True]))
    with pytest.raises(InvalidInput, match="expected a coverage between 0 and 1, got 1.0"):
        conformal_threshold(np.array([[0.5, 0.5]]), np.array([0]), 1.0)
    with pytest.raises(InvalidInput, match="smallest where the class is right"):
        Decision(np.array([[1.0, 0.0], [1.0, 0.0]]))
    with pytest.raises(InvalidInput, match="square table of costs"):
        Decision(np.array([[0.0, -1.0], [1.0, 0.0]]))
    with pytest.raises(InvalidInput, match=r"threshold in \[0, 1\], got 1.5"):
        Decision.at_threshold(1.5, 0)
