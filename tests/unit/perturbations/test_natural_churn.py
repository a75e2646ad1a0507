import dataclasses

import numpy as np
import pytest

from gvdn.errors import InvalidInput
from gvdn.perturbations import perturb
from gvdn.perturbations.natural_churn import exchange


def test_one_link_in_a_hundred_is_exchanged_and_all_candidates_are_victims(ring):
    done = perturb(ring, "natural-churn", np.arange(20, 60), seed=1)
    assert done.victims.tolist() == list(range(20, 60))
    assert not len(done.perturbators)
    assert (len(done.added), len(done.removed)) == (1, 1)  # of 120
    assert (done.graph.features != ring.features).nnz == 0


def test_new_links_join_the_classes_of_the_old_ones(ring):
    done = perturb(ring, "natural-churn", np.arange(60), seed=0, share=0.5)
    assert len(done.removed) == 60
    kinds = [
        np.bincount(np.sort(ring.labels[pairs], axis=1) @ [3, 1], minlength=9) for pairs in (done.removed, done.added)
    ]
    assert (kinds[1] <= kinds[0]).all()
    assert kinds[1].sum() > 0.7 * kinds[0].sum()


def test_unlabelled_nodes_are_a_class_of_their_own(ring):
    labels = np.where(np.arange(60) < 30, -1, 0)
    done = perturb(dataclasses.replace(ring, labels=labels, class_names=()), "natural-churn", [0], seed=0, share=0.5)
    kinds = [np.bincount((pairs < 30).sum(axis=1), minlength=3) for pairs in (done.removed, done.added)]
    assert (kinds[1] <= kinds[0]).all()
    assert (kinds[1][[0, 2]] > 10).all()


def test_classes_may_be_a_models_answers_instead_of_the_labels(ring):
    answers = np.arange(60) % 2
    removed, added = exchange(ring, answers, np.random.default_rng(0), 0.5)
    mixed = [(answers[pairs[:, 0]] != answers[pairs[:, 1]]).sum() for pairs in (removed, added)]
    assert 0 < mixed[1] <= mixed[0]


@pytest.mark.parametrize("share", [-0.1, 1.5])
def test_a_share_outside_the_range_is_refused(ring, share):
    with pytest.raises(InvalidInput, match=r"expected a share of the links in \[0, 1\], got"):
        perturb(ring, "natural-churn", np.arange(60), seed=0, share=share)


def test_no_share_changes_nothing_and_a_part_of_the_candidates_may_be_scored(ring):
    made = perturb(ring, "natural-churn", np.arange(60), seed=0, share=0.0, victim_fraction=0.5)
    assert made.graph.hash == ring.hash
    assert len(made.victims) == 30
