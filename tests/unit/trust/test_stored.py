import copy
import pickle

import numpy as np
import pytest

from gvdn.errors import InvalidInput
from gvdn.methods.stored import Tensor, declared_sizes
from gvdn.trust.evidence import weigh
from gvdn.trust.stored import BASELINE, LazyBaseline, baseline_arrays, restored_baseline


def test_a_baseline_comes_back_from_its_arrays(clean, votes, baseline):
    again = restored_baseline(copy.deepcopy(baseline_arrays(baseline))).get()
    later = clean.subgraph(np.arange(200)[::-1])
    assert np.array_equal(*(weigh(one, later, votes(later)).nodes for one in (again, baseline)))
    assert again.calibration.node == baseline.calibration.node


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("edges", lambda a: a + 1, "expected whole numbers from 0 to 239 in baseline.edges"),
        ("half", lambda a: a + 1, "expected whole numbers from 0 to 1 in baseline.half"),
    ],
)
def test_arrays_that_do_not_belong_together_are_refused(baseline, name, change, words):
    arrays = baseline_arrays(baseline)
    arrays[f"baseline.{name}"] = change(arrays[f"baseline.{name}"])
    with pytest.raises(InvalidInput, match=words):
        restored_baseline(arrays)


def test_the_declared_arrays_are_those_that_are_written(baseline):
    arrays = baseline_arrays(baseline)
    held = {name: Tensor(str(array.dtype), array.shape) for name, array in arrays.items()}
    held["baseline.ids.text"] = Tensor("uint8", (len(baseline.ids), 4)) if baseline.ids.dtype.kind == "U" else None
    if held["baseline.ids.text"] is None:
        del held["baseline.ids.text"]
    else:
        del held["baseline.ids"]
    features, classes = len(arrays["baseline.student.0.W_1"]), baseline.answers.shape[1]
    declared_sizes(held, BASELINE, {"classes": classes, "features": features})
    for name in ("own", "edges", "student.1.W_2"):
        dtype, shape = held[f"baseline.{name}"]
        with pytest.raises(InvalidInput, match=f"expected baseline.{name} of the shape"):
            declared_sizes(held | {f"baseline.{name}": Tensor(dtype, (*shape, 2))}, BASELINE, {"classes": classes})


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
