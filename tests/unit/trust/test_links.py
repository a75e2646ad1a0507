import dataclasses

import numpy as np
import scipy.sparse as sp
import torch
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from gvdn.graph.graph import not_linked
from gvdn.trust.links import class_pairs, fit_links, logistic, measured
from gvdn.trust.student import teach


def test_the_class_pair_table_counts_links_against_chance():
    classes = np.eye(2)[[0, 0, 1, 1]]
    table = class_pairs(classes, np.array([[0, 1], [2, 3], [0, 2]]))
    # Three links and one of chance: (1 + 1/4) / 4 within a class and (1/2 + 1/4) / 4 across, over a chance of 1/4.
    assert np.allclose(table, [[1.25, 0.75], [0.75, 1.25]])


def test_the_logistic_regression_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    numbers = np.column_stack([np.ones(500), rng.normal(size=(500, 3))])
    truth = (numbers @ [-1, 2, -1, 0.5] + rng.logistic(size=500) > 0).astype(np.int64)
    theirs = LogisticRegression(class_weight="balanced", C=1.0, tol=1e-8).fit(numbers[:, 1:], truth)
    assert np.allclose(logistic(numbers, truth), [*theirs.intercept_, *theirs.coef_[0]], atol=1e-3)


def test_outcomes_that_can_be_separated_give_finite_weights():
    numbers = np.column_stack([np.ones(40), np.repeat([-5.0, 5.0], 20), np.zeros(40), np.zeros(40)])
    beta = logistic(numbers, np.repeat([0, 1], 20))
    assert np.isfinite(beta).all()
    assert beta[1] > 0.3


def test_links_of_another_day_are_told_from_links_across_classes(clean, votes, baseline):
    rng = np.random.default_rng(5)
    pairs = not_linked(clean, rng.integers(0, 240, (400, 2)))
    same = clean.labels[pairs[:, 0]] == clean.labels[pairs[:, 1]]
    for new in (False, True):
        classes = baseline.own if new else baseline.answers
        odds = baseline.links.log_odds(clean.features, classes, pairs, np.full(len(pairs), new))
        assert roc_auc_score(same, odds) > 0.85


def test_a_pair_is_measured_alike_from_both_sides(clean, votes):
    answers, pairs = votes(clean), clean.edges[:50]
    table = class_pairs(answers, clean.edges)
    assert np.allclose(
        measured(clean.features, table, (answers, answers), pairs),
        measured(clean.features, table, (answers, answers), pairs[:, ::-1]),
    )


def test_a_graph_without_links_gives_even_odds(clean, votes):
    bare = dataclasses.replace(clean, adjacency=sp.csr_array(clean.adjacency.shape, dtype=np.float32))
    answers = votes(bare)
    student = teach(bare.features, bare.ids, answers, seed=0, device=torch.device("cpu"))
    own = student.answers(bare.features, bare.ids)
    model = fit_links(bare, answers, own, seed=0)
    assert not model.log_odds(bare.features, answers, np.array([[0, 1]]), np.array([False])).any()


def test_loops_links_and_repetitions_are_not_drawn(path):
    drawn = np.array([[0, 0], [1, 0], [0, 2], [2, 0], [5, 3]])
    assert not_linked(path, drawn).tolist() == [[0, 2], [3, 5]]
