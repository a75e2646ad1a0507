import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from gvdn.seeds import torch_generator
from gvdn.trust import regression
from gvdn.trust.regression import MOST, RIDGE, Regression, fit_blend, fit_logistic, fit_regression, flat_size, sigmoid

WEIGHTS = np.array([1.5, -1.0, 0.0])


def rng(seed: int = 0) -> torch.Generator:
    return torch_generator(seed, "tests", "regression")


def planted(cases: int = 4000, sides: int = 1, seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Numbers of other places and spreads than 0 and 1, the log-odds that they give, and answers drawn from these."""
    draws = np.random.default_rng(seed)
    z = draws.normal(size=(sides, cases, 3))
    log_odds = (z @ WEIGHTS).mean(axis=0) - 0.5
    return 4 + 3 * z, log_odds, (draws.random(cases) < 1 / (1 + np.exp(-log_odds))).astype(float)


# ---- log-odds of a question


@pytest.mark.parametrize("sides", [1, 2])
def test_planted_log_odds_are_found_on_other_cases(sides):
    numbers, _, truth = planted(sides=sides)
    fitted = fit_regression(numbers, truth, np.ones(len(truth)), rng())
    others, log_odds, _ = planted(sides=sides, seed=1)
    assert np.abs(sigmoid(fitted.log_odds(others)) - sigmoid(log_odds)).mean() < 0.04


@pytest.mark.parametrize("sides", [1, 2])
def test_the_gradient_is_that_of_automatic_differentiation(sides, monkeypatch):
    """One step of gradient descent in place of Adam moves the weights by the gradient of the loss."""
    draws = torch_generator(0, "tests", "gradient")
    M, v, Z = (torch.randn(*shape, generator=draws) for shape in ((4, 3), (3,), (sides * 5, 3)))
    y, weights = torch.tensor([1.0, 0, 0, 1, 1]), torch.tensor([1.0, 2, 0.5, 0, 1.5])
    asked = [part.clone().requires_grad_() for part in (M, v)]
    P = asked[0] @ Z.T
    logits = (asked[1] @ torch.tanh(P[:-1]) + P[-1]).view(sides, 5).mean(dim=0)
    loss = torch.nn.functional.binary_cross_entropy_with_logits(logits, y, weight=weights)
    (loss + RIDGE * sum(part.square().sum() for part in asked)).backward()
    monkeypatch.setattr(regression, "STEPS", 1)
    monkeypatch.setattr(torch.optim, "Adam", lambda parts, **_: torch.optim.SGD(parts, lr=1.0))
    moved = [M.clone(), v.clone()]
    regression._descend(*moved, Z, y, weights)
    for before, after, part in zip((M, v), moved, asked, strict=True):
        assert torch.allclose(before - after, part.grad, atol=1e-6)


def test_a_question_that_no_weighted_sum_answers_is_answered():
    """Yes where two numbers have the same sign: a logistic regression knows nothing of it."""
    draws = np.random.default_rng(0)
    numbers = draws.normal(size=(1, 3000, 2))
    truth = (numbers[0].prod(axis=1) > 0).astype(float)
    fitted = fit_regression(numbers[:, :2000], truth[:2000], np.ones(2000), rng())
    assert ((fitted.log_odds(numbers[:, 2000:]) > 0) == (truth[2000:] > 0)).mean() > 0.85
    straight = fit_logistic(numbers[0, :2000], truth[:2000])
    assert np.abs(sigmoid(straight[0] + numbers[0] @ straight[1:]) - 0.5).max() < 0.2


def test_the_sides_of_a_link_are_averaged():
    numbers, _, truth = planted(sides=2)
    fitted = fit_regression(numbers, truth, np.ones(len(truth)), rng())
    assert np.allclose(fitted.log_odds(numbers), fitted.log_odds(numbers[::-1]))
    each = [fitted.log_odds(numbers[[side]]) for side in (0, 1)]
    assert np.allclose(fitted.log_odds(numbers), (each[0] + each[1]) / 2)


def test_the_log_odds_are_those_of_the_formula():
    numbers, _, truth = planted(cases=200)
    one = fit_regression(numbers, truth, np.ones(200), rng())
    x = numbers[0, 7]
    z = [(x[i] - one.mean[i]) / one.spread[i] for i in range(3)]
    hidden = [np.tanh(sum(z[i] * one.W[i, j] for i in range(3)) + one.b[j]) for j in range(len(one.b))]
    by_hand = sum(w * value for w, value in zip(one.w, z, strict=True)) + one.c
    by_hand += sum(v * value for v, value in zip(one.v, hidden, strict=True))
    assert one.log_odds(numbers)[7] == pytest.approx(by_hand)


def test_cases_without_weight_are_not_learned():
    numbers, log_odds, truth = planted()
    wrong = np.arange(len(truth)) % 2 == 0
    spoiled = np.where(wrong, 1 - truth, truth)
    fitted = fit_regression(numbers, spoiled, (~wrong).astype(float), rng())
    assert np.corrcoef(fitted.log_odds(numbers), log_odds)[0, 1] > 0.95
    assert np.corrcoef(fit_regression(numbers, spoiled, wrong * 1.0, rng()).log_odds(numbers), log_odds)[0, 1] < -0.95


def test_many_cases_are_fitted_on_some_of_them():
    numbers, log_odds, truth = planted(cases=2 * MOST)
    fitted = fit_regression(numbers, truth, np.ones(len(truth)), rng())
    assert np.corrcoef(fitted.log_odds(numbers), log_odds)[0, 1] > 0.98


def test_flat_and_back_is_the_same_regression():
    numbers, _, truth = planted(cases=300)
    fitted = fit_regression(numbers, truth, np.ones(300), rng())
    flat = fitted.flat()
    assert flat.dtype == np.float64
    assert flat.shape == (flat_size(3),)
    again = Regression.from_flat(flat, 3)
    assert np.array_equal(again.log_odds(numbers), fitted.log_odds(numbers))
    assert np.array_equal(again.flat(), flat)


def test_the_same_generator_gives_the_same_regression_and_the_global_one_is_left_alone():
    numbers, _, truth = planted(cases=300)
    before = torch.get_rng_state()
    first, again, other = (fit_regression(numbers, truth, np.ones(300), rng(seed)).flat() for seed in (0, 0, 1))
    assert torch.equal(torch.get_rng_state(), before)
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


@pytest.mark.parametrize("answer", [0.0, 1.0])
def test_a_question_with_one_answer_only_gives_finite_log_odds(answer):
    numbers, _, _ = planted(cases=50)
    numbers[:, :, 2] = 5.0  # a number that never changes
    fitted = fit_regression(numbers, np.full(50, answer), np.ones(50), rng())
    log_odds = fitted.log_odds(numbers)
    assert np.isfinite(log_odds).all()
    assert ((log_odds > 1) if answer else (log_odds < -1)).all()


def test_no_cases_give_finite_log_odds():
    fitted = fit_regression(np.zeros((2, 0, 4)), np.zeros(0), np.zeros(0), rng())
    assert fitted.log_odds(np.zeros((2, 0, 4))).shape == (0,)
    assert np.isfinite(fitted.log_odds(np.ones((2, 3, 4)))).all()


def test_the_plain_logistic_regression_is_that_of_scikit_learn():
    numbers, _, truth = planted(cases=500)
    theirs = LogisticRegression(C=1.0, tol=1e-10, max_iter=1000).fit(numbers[0], truth)
    assert np.allclose(fit_logistic(numbers[0], truth), [*theirs.intercept_, *theirs.coef_[0]], atol=1e-3)


def test_log_odds_of_any_size_give_probabilities():
    assert sigmoid(np.array([0.0])) == pytest.approx(0.5)
    probs = sigmoid(np.array([-1e6, -2.0, 2.0, 1e6]))
    assert ((probs >= 0) & (probs <= 1)).all()
    assert probs[1] + probs[2] == pytest.approx(1)
    assert (np.diff(probs) > 0).all()


# ---- the blend


def spoken(classes: np.ndarray, right: np.ndarray, k: int = 3, certain: float = 0.8) -> np.ndarray:
    """Log-probabilities of a witness that names the true class where `right`, and the next one elsewhere."""
    probs = np.full((len(classes), k), (1 - certain) / (k - 1))
    probs[np.arange(len(classes)), np.where(right, classes, (classes + 1) % k)] = certain
    return np.log(probs)


def noise(cases: int, k: int = 3) -> np.ndarray:
    return np.log(np.random.default_rng(9).dirichlet(np.ones(k), cases))


def test_a_witness_that_is_noise_is_distrusted():
    classes = np.random.default_rng(0).integers(3, size=800)
    reliable = np.random.default_rng(1).random(800) < 0.9
    logs = np.stack([spoken(classes, reliable), noise(800)], axis=1)
    known = np.random.default_rng(2).normal(size=(800, 2))
    blend = fit_blend(logs, known, classes, np.ones(800))
    alpha = blend.alpha(known)
    assert (alpha[:, 0] > 3 * alpha[:, 1]).mean() > 0.95
    blended = (blend.log_probs(logs, known).argmax(axis=1) == classes).mean()
    equal = (logs.sum(axis=1).argmax(axis=1) == classes).mean()
    assert blended > equal + 0.02
    assert blended >= reliable.mean() - 0.02


def test_what_is_known_of_a_node_says_which_witness_to_trust():
    """Each of two witnesses is right on one half of the nodes, and a number says which half."""
    classes, half = np.random.default_rng(0).integers(3, size=800), np.arange(800) % 2 == 0
    logs = np.stack([spoken(classes, half), spoken(classes, ~half)], axis=1)
    known = np.where(half, 5.0, 2.0)[:, None]
    blend = fit_blend(logs, known, classes, np.ones(800))
    assert (blend.log_probs(logs, known).argmax(axis=1) == classes).all()
    first, second = blend.alpha(known).T
    assert np.array_equal(first > second, half)


def test_without_data_all_witnesses_are_trusted_alike():
    blend = fit_blend(np.zeros((0, 3, 4)), np.zeros((0, 5)), np.zeros(0, np.int64), np.zeros(0))
    known = np.random.default_rng(0).normal(size=(7, 5))
    assert np.array_equal(blend.alpha(known), np.ones((7, 3)))
    logs = np.log(np.random.default_rng(1).dirichlet(np.ones(4), (7, 3)))
    assert np.allclose(blend.log_probs(logs, known), logs.sum(axis=1))


def test_witnesses_of_the_same_worth_keep_about_the_same_weight():
    draws = np.random.default_rng(0)
    classes = draws.integers(3, size=900)
    logs = np.stack([spoken(classes, draws.random(900) < 0.8) for _ in range(2)], axis=1)
    known = draws.normal(size=(900, 2))
    alpha = fit_blend(logs, known, classes, np.ones(900)).alpha(known)
    assert np.abs(np.log(alpha[:, 0] / alpha[:, 1])).mean() < 0.4


def test_nodes_without_weight_do_not_count_in_the_blend():
    classes, first = np.random.default_rng(0).integers(3, size=600), np.arange(600) < 300
    logs = np.stack([spoken(classes, first), spoken(classes, ~first)], axis=1)
    known = np.zeros((600, 1))
    one, other = (fit_blend(logs, known, classes, weight * 1.0).alpha(known)[0] for weight in (first, ~first))
    assert one[0] > 2 * one[1]
    assert other[1] > 2 * other[0]


def test_a_node_unlike_any_seen_cannot_give_a_witness_boundless_weight():
    classes, half = np.random.default_rng(0).integers(3, size=400), np.arange(400) % 2 == 0
    logs = np.stack([spoken(classes, half), spoken(classes, ~half)], axis=1)
    blend = fit_blend(logs, half[:, None] * 1.0, classes, np.ones(400))
    alpha = blend.alpha(np.array([[1e9], [-1e9]]))
    assert np.isfinite(alpha).all()
    assert (alpha > 0).all()
    assert (alpha / blend.t < 100).all()


def test_a_number_that_varies_by_rounding_alone_says_nothing():
    draws = np.random.default_rng(0)
    truth = (np.arange(400) % 2).astype(float)
    told, weight = draws.normal(size=400) + 2 * truth, np.ones(400)
    rounded = 1 + 1e-7 * draws.normal(size=400)
    fitted = [
        fit_regression(np.stack([told, flat], axis=1)[None], truth, weight, rng()) for flat in (np.ones(400), rounded)
    ]
    asked = np.stack([told, 1 + 1e-7 * draws.normal(size=400)], axis=1)[None]
    one, other = (regression.log_odds(asked) for regression in fitted)
    assert np.abs(one - other).max() < 1e-4
    assert all(regression.spread[1] == 1 for regression in fitted)
    assert fitted[0].spread[0] == pytest.approx(told.std() + 1e-6, rel=1e-12)
