import math

import numpy as np
import pytest
import torch
from sklearn.metrics import f1_score, roc_auc_score
from sklearn.utils.class_weight import compute_class_weight

from gvdn.errors import InvalidInput
from gvdn.training.selection import SELECTIONS, Score, balanced_weights, require_selection, score_of


def drawn(classes: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(80, classes, generator=generator), torch.arange(80) % classes


def scored(select, logits, labels) -> Score:
    return Score(*score_of(select, logits, labels).tolist())


@pytest.mark.parametrize("classes", [2, 4])
def test_the_scores_are_those_of_scikit_learn(classes):
    logits, labels = drawn(classes)
    probs, given = logits.softmax(dim=1).numpy().astype(np.float64), labels.numpy()
    loss = float(torch.nn.functional.cross_entropy(logits, labels))
    assert scored("accuracy", logits, labels).value == pytest.approx((probs.argmax(axis=1) == given).mean())
    assert scored("macro-f1", logits, labels).value == pytest.approx(
        f1_score(given, probs.argmax(axis=1), average="macro")
    )
    auc = (
        roc_auc_score(given, probs[:, 1])
        if classes == 2
        else np.mean([roc_auc_score(given == label, probs[:, label]) for label in range(classes)])
    )
    assert scored("auc", logits, labels).value == pytest.approx(auc, abs=1e-6)
    assert scored("loss", logits, labels).value == pytest.approx(-loss, rel=1e-5)
    for select in SELECTIONS:
        assert scored(select, logits, labels).minus_loss == pytest.approx(-loss, rel=1e-5)


def test_the_value_comes_before_the_loss():
    assert Score(0.9, -5.0) > Score(0.8, -0.1)
    assert Score(0.9, -0.1) > Score(0.9, -0.2)


def test_balanced_weights_give_every_class_the_same_total():
    labels = torch.tensor([0] * 90 + [1] * 9 + [3])
    weights = balanced_weights(labels, 4)
    assert weights[2] == 0
    expected = compute_class_weight("balanced", classes=np.array([0, 1, 3]), y=labels.numpy())
    assert weights[[0, 1, 3]].tolist() == pytest.approx(expected.tolist())
    totals = [float((weights[labels][labels == label]).sum()) for label in (0, 1, 3)]
    assert totals == pytest.approx([totals[0]] * 3)


def test_an_unknown_selection_lists_the_known_ones():
    with pytest.raises(InvalidInput, match="unknown select 'f1'.*macro-f1"):
        require_selection("f1")
    assert math.isfinite(scored("auc", torch.zeros(3, 2), torch.tensor([0, 0, 0])).value), "one class"
