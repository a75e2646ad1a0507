import dataclasses

import numpy as np
import pytest

from gvdn.errors import InvalidInput
from gvdn.perturbations import perturb


def test_exactly_the_share_lies_and_never_with_the_truth(ring):
    train = np.arange(10, 50)
    done = perturb(ring, "label-noise", train, seed=0, ratio=0.3)
    changed = np.flatnonzero(done.graph.labels != ring.labels)
    assert changed.tolist() == done.victims.tolist()
    assert len(changed) == 12
    assert set(changed) <= set(train)


def test_every_other_class_is_equally_likely(ring):
    first = np.flatnonzero(ring.labels == 0)
    drawn = [perturb(ring, "label-noise", first, seed=seed, ratio=1.0).graph.labels[first] for seed in range(50)]
    share = np.bincount(np.concatenate(drawn), minlength=3) / 1000
    assert share[0] == 0
    assert abs(share[1] - 0.5) < 0.05


def test_one_class_cannot_be_confused(single):
    one = dataclasses.replace(single, labels=np.array([0]))
    with pytest.raises(InvalidInput, match="at least two classes to confuse, got 1"):
        perturb(one, "label-noise", np.array([0]), seed=0)
