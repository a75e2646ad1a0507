import numpy as np
import pytest
from sklearn import metrics as sk

from gvdn.metrics import average_precision, classification, macro_f1, roc_auc

NAMES = ("a", "b", "c")


@pytest.fixture(params=range(5))
def drawn(request):
    rng = np.random.default_rng(request.param)
    probs = rng.dirichlet(np.ones(3), 200)
    return np.round(probs, 2) / np.round(probs, 2).sum(axis=1, keepdims=True), rng.choice(3, 200, p=[0.9, 0.07, 0.03])


def test_all_scores_are_those_of_scikit_learn(drawn):
    probs, labels = drawn
    chosen = probs.argmax(axis=1)
    found = classification(probs, labels, NAMES)
    assert found.accuracy == pytest.approx(sk.accuracy_score(labels, chosen))
    assert found.balanced_accuracy == pytest.approx(sk.balanced_accuracy_score(labels, chosen))
    assert found.macro_f1 == pytest.approx(sk.f1_score(labels, chosen, average="macro"))
    assert macro_f1(chosen, labels) == pytest.approx(found.macro_f1)
    assert found.majority_rate == pytest.approx(np.bincount(labels).max() / 200)
    precision, recall, f1, count = sk.precision_recall_fscore_support(labels, chosen)
    assert [one.precision for one in found.classes] == pytest.approx(precision)
    assert [one.recall for one in found.classes] == pytest.approx(recall)
    assert [one.f1 for one in found.classes] == pytest.approx(f1)
    assert [one.count for one in found.classes] == count.tolist()
    assert found.positive is found.roc_auc is found.average_precision is None


def test_two_classes_are_ranked_by_the_rarer(drawn):
    probs, labels = drawn[0][:, :2] / drawn[0][:, :2].sum(axis=1, keepdims=True), drawn[1] // 2
    found = classification(probs, labels, NAMES[:2])
    assert found.positive == "b"
    assert found.roc_auc == pytest.approx(sk.roc_auc_score(labels, probs[:, 1]))
    assert found.average_precision == pytest.approx(sk.average_precision_score(labels, probs[:, 1]))


def test_equal_scores_count_half(drawn):
    scores = np.round(drawn[0][:, 0], 1)
    positive = drawn[1] > 0
    assert roc_auc(scores, positive) == pytest.approx(sk.roc_auc_score(positive, scores))
    assert average_precision(scores, positive) == pytest.approx(sk.average_precision_score(positive, scores))
    assert roc_auc(np.zeros(4), np.array([True, False, True, False])) == 0.5


def test_naming_the_majority_only_has_the_majority_rate_and_half_the_balanced_accuracy():
    labels = np.array([0] * 97 + [1] * 3)
    found = classification(np.tile([0.9, 0.1], (100, 1)), labels, ("legit", "fraud"))
    assert found.accuracy == found.majority_rate == 0.97
    assert found.balanced_accuracy == 0.5
    assert found.classes[1].recall == 0
    assert found.classes[1].precision is None
    assert found.roc_auc == 0.5


def test_other_decisions_than_the_most_probable_class_are_scored_as_given():
    probs, labels = np.array([[0.8, 0.2], [0.7, 0.3]]), np.array([0, 1])
    assert classification(probs, labels, ("a", "b")).accuracy == 0.5
    assert classification(probs, labels, ("a", "b"), np.array([0, 1])).accuracy == 1


def test_a_class_that_nobody_has_has_no_recall_and_a_label_of_another_class_is_wrong():
    found = classification(np.eye(3)[[0, 1, 1]], np.array([0, 1, 3]), NAMES)
    assert [one.recall for one in found.classes] == [1, 1, None]
    assert found.accuracy == pytest.approx(2 / 3)
