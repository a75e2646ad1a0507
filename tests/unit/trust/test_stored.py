import copy
import pickle

import numpy as np
import pytest

from gvdn.errors import InvalidInput
from gvdn.trust.evidence import weigh
from gvdn.trust.stored import LazyBaseline, baseline_arrays, restored_baseline


def test_a_baseline_comes_back_from_its_arrays(clean, votes, baseline):
    again = restored_baseline(copy.deepcopy(baseline_arrays(baseline))).get()
    later = clean.subgraph(np.arange(200)[::-1])
    assert np.array_equal(*(weigh(one, later, votes(later)).nodes for one in (again, baseline)))
    assert again.calibration.node == baseline.calibration.node


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("own", lambda a: a[:-1], r"expected baseline.own of shape \(240, 3\), got \(239, 3\)"),
        ("edges", lambda a: a + 1, "expected whole numbers from 0 to 239 in baseline.edges"),
        ("edges", lambda a: a.ravel(), "expected baseline.edges of shape"),
        ("half", lambda a: a + 1, "expected whole numbers from 0 to 1 in baseline.half"),
        ("student.1.W_2", lambda a: a.T, "expected baseline.student.1.W_2 of shape"),
    ],
)
def test_arrays_that_do_not_belong_together_are_refused(baseline, name, change, words):
    arrays = baseline_arrays(baseline)
    arrays[f"baseline.{name}"] = change(arrays[f"baseline.{name}"])
    with pytest.raises(InvalidInput, match=words):
        restored_baseline(arrays)


def test_it_is_computed_once_and_only_when_asked_for(baseline):
    calls = []

    def make():
        calls.append(1)
        return baseline

    lazy = LazyBaseline(make)
    part = lazy.only(baseline.ids[:10])
    assert not calls
    assert (lazy.get(), lazy.get()) == (baseline, baseline)
    assert len(part.get().ids) == 10
    assert len(calls) == 1


def test_what_is_withheld_is_not_there(baseline):
    kept = baseline.ids[::2]
    part = LazyBaseline(baseline).only(kept).get()
    assert np.array_equal(part.ids, kept)
    assert part.edges.max() < len(kept)
    pairs = {tuple(pair) for pair in part.ids[part.edges].tolist()}
    whole = {tuple(pair) for pair in baseline.ids[baseline.edges].tolist()}
    assert pairs == {(a, b) for a, b in whole if {a, b} <= set(kept.tolist())}
    assert len(part.student.half) == len(part.own) == len(part.digests) == len(kept)


def test_it_can_be_pickled(baseline):
    assert np.array_equal(pickle.loads(pickle.dumps(LazyBaseline(baseline))).get().own, baseline.own)  # noqa: S301
