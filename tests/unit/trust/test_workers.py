"""Independent work on several threads: the results, the order and the errors of one thread."""

import threading
import time

import numpy as np
import pytest
import torch

from gvdn.trust import workers
from gvdn.trust.calibration import calibrate
from gvdn.trust.fitting import fit_trust


@pytest.fixture
def three_threads():
    before = torch.get_num_threads()
    torch.set_num_threads(3)
    yield
    torch.set_num_threads(before)


def test_the_results_are_in_the_order_of_the_items(three_threads):
    def late(number):
        time.sleep(0.02 * (4 - number))
        return number, threading.get_ident()

    found = workers.each(late, range(5))
    assert [number for number, _ in found] == [0, 1, 2, 3, 4]
    assert len({thread for _, thread in found}) == 3
    assert torch.get_num_threads() == 3


def test_with_one_thread_nothing_is_done_in_parallel():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        assert set(workers.each(lambda _: threading.get_ident(), range(4))) == {threading.get_ident()}
    finally:
        torch.set_num_threads(before)


def test_an_error_reaches_the_caller_and_the_threads_of_torch_are_as_before(three_threads):
    with pytest.raises(ZeroDivisionError):
        workers.each(lambda number: 1 // number, [1, 0, 2])
    assert torch.get_num_threads() == 3


def test_a_function_that_runs_one_at_a_time_is_never_entered_twice(three_threads):
    inside, most = [], []

    def work(number):
        inside.append(number)
        most.append(len(inside))
        time.sleep(0.01)
        inside.remove(number)
        return number

    assert workers.each(workers.one_at_a_time(work), range(6)) == [0, 1, 2, 3, 4, 5]
    assert max(most) == 1


def test_a_trust_model_and_its_thresholds_do_not_depend_on_the_threads(
    clean, votes, student, trust, baseline, three_threads, monkeypatch
):
    monkeypatch.setattr("gvdn.trust.calibration.DRAWS", 6)
    own = student.answers(clean.features, clean.ids)
    labels, trained = np.full(240, -1), np.arange(240) < 40
    many = fit_trust(clean, votes, student, own, labels=labels, trained=trained, seed=0)
    np.testing.assert_allclose(many.rows.flat(), trust.rows.flat(), atol=1e-3)  # torch adds otherwise with more threads
    np.testing.assert_allclose(many.brought_back, trust.brought_back)
    found = calibrate(many, baseline, clean, votes, seed=0)
    torch.set_num_threads(1)
    alone = calibrate(many, baseline, clean, votes, seed=0)
    assert (found.node, found.link) == pytest.approx((alone.node, alone.link))
    np.testing.assert_allclose(found.excess, alone.excess)
