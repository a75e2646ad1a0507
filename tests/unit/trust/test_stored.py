import copy
import pickle

import numpy as np
import pytest
from communities import with_links

from gvdn.errors import InvalidInput
from gvdn.methods.stored import Tensor, declared_sizes
from gvdn.testing.graphs import grown
from gvdn.trust.evidence import weigh
from gvdn.trust.front import front_of
from gvdn.trust.stored import BASELINE, LazyBaseline, baseline_arrays, restored_baseline


def test_a_baseline_comes_back_from_its_arrays(clean, votes, baseline, lazy):
    held = restored_baseline(copy.deepcopy(baseline_arrays(lazy)))
    again, later = held.get(), with_links(clean, [(0, 1), (5, 9)]).subgraph(np.arange(200)[::-1])
    fronts = [front_of(one.trust(), one.get(), later) for one in (held, lazy)]
    assert np.array_equal(*(weigh(front, later, votes(later)).nodes for front in fronts))
    assert again.calibration.node == baseline.calibration.node
    assert np.array_equal(again.student.ids, baseline.student.ids)


def test_a_trust_model_comes_back_from_its_arrays(clean, votes, lazy):
    """New links and a new node are judged alike, and the answers are joined alike."""
    again = restored_baseline(copy.deepcopy(baseline_arrays(lazy)))
    later = grown(with_links(clean, [(0, 1), (5, 9)]), 3)
    fronts = [front_of(one.trust(), one.stored(), later) for one in (lazy, again)]
    assert np.array_equal(*(front.judgement.genuine for front in fronts))
    assert np.array_equal(*(front.judgement.honest for front in fronts))
    assert np.array_equal(*(front.answers(votes(front.seen)) for front in fronts))
    assert np.array_equal(again.trust().brought_back, lazy.trust().brought_back)


@pytest.mark.parametrize("name", ["rows", "structural", "known"])
def test_a_trust_model_without_a_spread_is_refused(lazy, name):
    arrays = copy.deepcopy(baseline_arrays(lazy))
    arrays[f"trust.{name}"][:] = 0
    with pytest.raises(InvalidInput, match="expected spreads above 0"):
        restored_baseline(arrays)


@pytest.mark.parametrize(
    ("name", "change", "words"),
    [
        ("edges", lambda a: a + 1, "expected whole numbers from 0 to 239 in baseline.edges"),
        ("half", lambda a: a + 1, "expected whole numbers from 0 to 1 in baseline.half"),
    ],
)
def test_arrays_that_do_not_belong_together_are_refused(lazy, name, change, words):
    arrays = baseline_arrays(lazy)
    arrays[f"baseline.{name}"] = change(arrays[f"baseline.{name}"])
    with pytest.raises(InvalidInput, match=words):
        restored_baseline(arrays)


def test_the_declared_arrays_are_those_that_are_written(lazy):
    arrays = baseline_arrays(lazy)
    assert set(arrays) == set(BASELINE)
    held = {name: Tensor(str(array.dtype), array.shape) for name, array in arrays.items()}
    for name in ("ids", "taught"):  # text is written as bytes
        held[f"baseline.{name}.text"] = Tensor("uint8", (len(arrays[f"baseline.{name}"]), 4))
        del held[f"baseline.{name}"]
    features, classes = len(arrays["baseline.student.0.W_1"]), len(arrays["trust.prior"])
    declared_sizes(held, BASELINE, {"classes": classes, "features": features})
    for name in ("baseline.own", "baseline.edges", "baseline.student.1.W_2", "trust.by_row"):
        dtype, shape = held[name]
        with pytest.raises(InvalidInput, match=f"expected {name} of the shape"):
            declared_sizes(held | {name: Tensor(dtype, (*shape, 2))}, BASELINE, {"classes": classes})


def test_it_is_computed_once_and_only_when_asked_for(baseline, trust):
    calls = []

    def called(name, result):
        calls.append(name)
        return result

    lazy = LazyBaseline(
        lambda: called("stored", baseline), lambda same, _: called("calibrated", same), lambda _: called("trust", trust)
    )
    part = lazy.only(baseline.ids[:10])
    assert not calls
    assert (lazy.stored(), part.stored().calibration) == (baseline, baseline.calibration)
    assert calls == ["stored"]
    assert (lazy.get(), lazy.get()) == (baseline, baseline)
    assert len(part.get().ids) == 10
    assert calls == ["stored", "trust", "calibrated"]
    assert part.trust() is lazy.trust() is trust
    assert calls == ["stored", "trust", "calibrated"]


def test_what_is_withheld_is_not_there(baseline, lazy):
    kept = baseline.ids[::2]
    part = lazy.only(kept).get()
    assert np.array_equal(part.ids, kept)
    assert part.edges.max() < len(kept)
    pairs = {tuple(pair) for pair in part.ids[part.edges].tolist()}
    whole = {tuple(pair) for pair in baseline.ids[baseline.edges].tolist()}
    assert pairs == {(a, b) for a, b in whole if {a, b} <= set(kept.tolist())}
    assert len(part.answers) == len(part.own) == len(part.digests) == len(kept)


def test_the_row_of_a_withheld_node_is_asked_of_the_student_that_was_not_taught_on_it(clean, baseline, lazy):
    part = lazy.only(baseline.ids[::2]).get()
    own = part.student.answers(clean.features, clean.ids)
    assert np.allclose(own, baseline.student.answers(clean.features, clean.ids))


def test_it_can_be_pickled(lazy):
    held = restored_baseline(baseline_arrays(lazy))
    assert np.array_equal(pickle.loads(pickle.dumps(held)).get().own, lazy.get().own)  # noqa: S301
