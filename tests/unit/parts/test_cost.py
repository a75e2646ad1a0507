"""What an epoch sends is what the cost model says, and the tables of its page are drawn from it."""

import numpy as np
import pytest
from parts_runs import SMALL
from workers import in_threads

from gvdn.parts import cost, prepare
from gvdn.parts.jobs import Fit
from gvdn.parts.part import read_part


def test_the_traffic_of_an_epoch_is_two_times_the_halo_times_the_classes(awkward, divided, tmp_path):
    """Five workers with a part each; without validation and Algorithm 1 nothing else is swapped."""
    parts = divided(awkward)
    sent = []
    for epochs in (3, 8):
        job = Fit(
            parts.folder,
            tmp_path / f"m{epochs}",
            SMALL | {"epochs": epochs, "sampler": "none"},
            0,
            prepare.Shares(train=0.4, val=0.0),
        )
        job.output.mkdir()
        sent.append(sum(found["bytes_sent"] for found in in_threads(job.run, 5)))
    assert (sent[1] - sent[0]) / 5 == 2 * parts.halo * 3 * 4  # K = 3 numbers of four bytes


def test_the_cost_model_knows_what_validation_and_algorithm_1_send(awkward, divided, tmp_path):
    parts = divided(awkward)
    sent = []
    for epochs in (3, 8):
        job = Fit(parts.folder, tmp_path / f"m{epochs}", SMALL | {"epochs": epochs}, 0)
        job.output.mkdir()
        sent.append(sum(found["bytes_sent"] for found in in_threads(job.run, 5)))
    size = cost.Size(70, parts.edges, parts.features, SMALL["hidden"], 3, 5, 0.0)
    shared = 2 * 4 / 5 * 8 * (3 * parts.features + 3) * SMALL["hidden"]  # the threads of the test do not count it
    least = cost.sent_bytes(size, 5, parts.halo / 5, 0.0) - shared
    most = cost.sent_bytes(size, 5, parts.halo / 5, parts.halo / 5) - shared
    counts = sum(len(read_part(parts, number).borders) for number in range(5)) * 8  # how many rows are asked for
    assert least * 5 <= (sent[1] - sent[0]) / 5 - counts <= most * 5


def test_the_model_of_the_halo_is_right_for_random_ends():
    rng = np.random.default_rng(0)
    nodes, links, workers = 4000, 20_000, 4
    ends = rng.integers(nodes, size=(links, 2))
    owner = np.arange(nodes) % workers
    other = owner[ends]
    crossing = other[:, 0] != other[:, 1]
    both = np.concatenate([ends[crossing], ends[crossing][:, ::-1]])
    sent = len(np.unique(both[:, 0] * workers + owner[both[:, 1]]))
    size = cost.Size(nodes, links, 1, 1, 1, workers, float(crossing.mean()))
    assert sent / workers == pytest.approx(cost.halo(size, workers), rel=0.02)
