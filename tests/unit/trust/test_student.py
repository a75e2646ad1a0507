import numpy as np
import scipy.sparse as sp
import torch

from gvdn.trust.student import scaled, teach

CPU = torch.device("cpu")


def test_the_student_learns_the_answers_from_rows_alone(clean, votes):
    answers = votes(clean)
    student = teach(clean.features, clean.ids, answers, seed=0, device=CPU)
    own = student.answers(clean.features, clean.ids)
    assert np.allclose(own.sum(axis=1), 1)
    assert (own.argmax(axis=1) == answers.argmax(axis=1)).mean() > 0.8


def test_a_stored_node_is_asked_of_the_network_that_was_not_taught_on_it(clean, votes):
    """Wrong answers of one half of the nodes are learned by one network, which is asked of the other half alone."""
    answers = votes(clean)
    honest = teach(clean.features, clean.ids, answers, seed=0, device=CPU)
    wrong = answers.copy()
    wrong[honest.half == 0] = np.roll(wrong[honest.half == 0], 1, axis=1)
    own = teach(clean.features, clean.ids, wrong, seed=0, device=CPU).answers(clean.features, clean.ids)
    right = own.argmax(axis=1) == answers.argmax(axis=1)
    assert right[honest.half == 0].mean() > 0.75
    assert right[honest.half == 1].mean() < 0.25


def test_a_new_node_is_asked_of_both(clean, votes):
    student = teach(clean.features, clean.ids, votes(clean), seed=0, device=CPU)
    new = student.answers(clean.features[:5], np.array([f"new {number}" for number in range(5)]))
    taught = [clean.ids[student.half == one][0] for one in (0, 1)]
    halves = [student.answers(clean.features[:5], np.full(5, one)) for one in taught]
    assert np.allclose(new, (halves[0] + halves[1]) / 2)
    assert not np.allclose(*halves)


def test_a_node_is_known_by_its_id_in_any_order_and_in_any_graph(clean, votes):
    student = teach(clean.features, clean.ids, votes(clean), seed=0, device=CPU)
    order = np.random.default_rng(0).permutation(240)[:50]
    own = student.answers(clean.features, clean.ids)
    assert np.allclose(student.answers(clean.features[order], clean.ids[order]), own[order])
    assert student.half_of(np.array(["n003", "nobody"])).tolist() == [student.half[3], -1]


def test_the_halves_are_as_large_as_each_other(clean, votes):
    student = teach(clean.features, clean.ids, votes(clean), seed=0, device=CPU)
    assert np.bincount(student.half).tolist() == [120, 120]


def test_the_same_seed_gives_the_same_student_and_leaves_the_generators_alone(clean, votes):
    before = torch.get_rng_state()
    first, again, other = (teach(clean.features, clean.ids, votes(clean), seed=seed, device=CPU) for seed in (3, 3, 4))
    assert torch.equal(torch.get_rng_state(), before)
    assert np.array_equal(first.weights[0]["W_1"], again.weights[0]["W_1"])
    assert not np.array_equal(first.weights[0]["W_1"], other.weights[0]["W_1"])


def test_dense_and_sparse_rows_give_the_same_answers(clean, votes):
    sparse = sp.csr_array(clean.features)
    own = [
        teach(features, clean.ids, votes(clean), seed=0, device=CPU).answers(features, clean.ids)
        for features in (clean.features, sparse)
    ]
    assert np.allclose(*own, atol=1e-4)


def test_a_long_row_is_shortened_to_the_longest_that_was_seen():
    rows = np.array([[3.0, 4.0], [30.0, 40.0], [0.0, 0.0]], dtype=np.float32)
    assert np.allclose(scaled(rows, 10.0, 2.0), [[1.5, 2.0], [3.0, 4.0], [0.0, 0.0]])
    assert np.allclose(scaled(sp.csr_array(rows), 10.0, 2.0).toarray(), [[1.5, 2.0], [3.0, 4.0], [0.0, 0.0]])
