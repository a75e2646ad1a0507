import dataclasses

import numpy as np
import pytest
import torch

from gvdn.graph.graph import adjacency_from_pairs
from gvdn.trust.rows import DIMENSIONS
from gvdn.trust.scene import OF_ROW, SIGNS, Learned, Scene
from gvdn.trust.student import teach

PRIOR = np.full(3, 1 / 3)
FRIENDLY = np.full((3, 3), 0.3) + 2.1 * np.eye(3)


@pytest.fixture
def learned(clean, votes) -> Learned:
    student = teach(clean.features, clean.ids, votes(clean), seed=0, device=torch.device("cpu"))
    basis = np.eye(clean.num_features, DIMENSIONS, dtype=np.float32)
    return Learned(student, FRIENDLY, PRIOR, basis, np.zeros(DIMENSIONS), np.ones(2))


def star(clean, learned, classes):
    """Node 0 is new and linked to nodes 1, 2, ..., of which these classes are stored."""
    leaves = np.arange(1, len(classes) + 1)
    links = np.stack([np.zeros_like(leaves), leaves], axis=1)
    graph = dataclasses.replace(clean, adjacency=adjacency_from_pairs(links, clean.num_nodes))
    known = np.ones(graph.num_nodes, dtype=bool)
    known[0] = False
    stored = np.tile(PRIOR, (graph.num_nodes, 1))
    stored[leaves] = np.eye(3)[list(classes)]
    return Scene(
        learned, graph, known=known, stored=stored, own=np.tile([0.0, 0.0, 1.0], (graph.num_nodes, 1)),
        judged=np.arange(len(classes)), doubted=~known,
    )  # fmt: skip


def test_doubtful_links_that_agree_do_not_outvote_fewer_good_ones(clean, learned):
    scene = star(clean, learned, [0, 0, 0, *[1] * 12])
    genuine = np.array([0.95] * 3 + [0.25] * 12)
    first, _ = next(iter(scene.messages(genuine)))
    assert first[0].argmax() == 1, "one by one, twelve doubtful links weigh more than three good ones"
    assert scene.votes(genuine)[0].argmax() == 0


def test_good_links_that_agree_are_believed(clean, learned):
    scene = star(clean, learned, [0, *[1] * 4])
    assert np.exp(scene.votes(np.full(5, 0.9)))[0, 1] > 0.9


def test_a_row_that_is_not_believed_says_nothing_to_its_neighbours(clean, learned):
    scene = star(clean, learned, [0])
    silent = scene.hearing(np.zeros(clean.num_nodes))
    assert scene.classes[0].argmax() == 2
    assert np.allclose(silent.classes[0], PRIOR)
    assert np.allclose(silent.heard, 0)
    assert scene.heard is not silent.heard, "the scene itself stays as it was"
    assert np.allclose(silent.classes[1], scene.classes[1]), "what is stored is no matter of rows"


def test_the_numbers_of_a_row_end_with_its_signs(clean, learned):
    scene = star(clean, learned, [0, 1])
    probs = np.full(2, 0.5)
    numbers = scene.row_numbers(probs, probs, probs)
    assert numbers.shape == (1, 1, len(OF_ROW))
    assert np.allclose(numbers[:, :, -len(SIGNS) :], scene.signs())
