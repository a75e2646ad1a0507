"""Splits that come with a graph, and splits by time."""

import dataclasses

import numpy as np
import pytest

from gvdn.errors import InvalidInput
from gvdn.graph import Published, choose_split, published_split, random_split, read_npz, temporal_split, write_npz

TIMES = np.repeat([2010, 2011, 2012, 2013], [6, 6, 6, 6])


def parts_of(split):
    return [part.tolist() for part in (split.train, split.val, split.test)]


@pytest.fixture(name="ring")
def arc(ring):
    return ring.subgraph(range(24))


@pytest.fixture
def dated(ring):
    return dataclasses.replace(ring, published=Published(ring.ids, np.zeros((24, 0), dtype=int), TIMES))


@pytest.fixture
def split_twice(ring):
    splits = np.stack([np.arange(24) % 4, (np.arange(24) + 1) % 4], axis=1)
    return dataclasses.replace(ring, published=Published(ring.ids, splits))


def test_the_oldest_train_and_the_latest_test(dated):
    found = parts_of(temporal_split(dated, train=0.5, val=0.25))
    assert found == [list(range(12)), list(range(12, 18)), list(range(18, 24))]


@pytest.mark.parametrize(
    ("shares", "ends"),
    [
        ({"train": 0.3, "val": 0.2}, (6, 12, 24)),
        ({"train": 0.4, "val": 0.2}, (12, 18, 24)),
        ({"train": 0.9, "val": 0.05}, (12, 18, 24)),
        ({"train": 0.75, "val": 0.25}, (18, 24, 24)),
        ({"train": 0.25, "val": 0.25, "test": 0.25}, (6, 12, 18)),
        ({"train": 0.5, "val": 0.0}, (12, 12, 24)),
        ({"train": 0.5, "val": 0.25, "test": 0.0}, (12, 18, 18)),
        ({"train": 1.0, "val": 0.0}, (24, 24, 24)),
    ],
)
def test_a_part_ends_after_the_time_that_is_nearest_to_its_share(dated, shares, ends):
    first, second, last = ends
    expected = [list(range(first)), list(range(first, second)), list(range(second, last))]
    assert parts_of(temporal_split(dated, **shares)) == expected


def test_nodes_without_a_label_or_a_time_are_left_out(dated):
    labels = dated.labels.copy()
    labels[0] = -1
    known = Published(dated.ids[:23], np.zeros((23, 0), dtype=int), TIMES[:23])
    split = temporal_split(dataclasses.replace(dated, labels=labels, published=known))
    every = np.concatenate(parts_of(split))
    assert sorted(every) == list(range(1, 23))


def test_times_can_be_given_and_the_order_of_nodes_does_not_matter(ring, dated):
    assert parts_of(temporal_split(ring, times=TIMES)) == parts_of(temporal_split(dated))
    order = np.random.default_rng(0).permutation(24)
    mixed = dated.subgraph(order)
    split = temporal_split(mixed)
    assert sorted(mixed.ids[split.train]) == sorted(dated.ids[temporal_split(dated).train])


@pytest.mark.parametrize(
    ("how", "sentence"),
    [
        (
            {"times": np.zeros(24)},
            "expected nodes of at least 3 times, one for each part, in .* got 1; split at random",
        ),
        ({"times": np.zeros(23)}, "expected a finite number for each of the 24 nodes as times, got float64 of shape"),
        ({"times": np.full(24, np.nan)}, "expected a finite number for each of the 24 nodes"),
        ({"times": ["a"] * 24}, "expected a finite number for each of the 24 nodes"),
        ({"times": TIMES, "train": 0.0}, "expected shares with train > 0"),
        ({"times": TIMES, "train": 0.8, "val": 0.3}, "expected shares .* sum of at most 1"),
        ({}, "expected a graph whose nodes have times, got .*, whose nodes have none; give times"),
    ],
)
def test_a_split_by_time_that_cannot_be_made_is_a_sentence(ring, how, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        temporal_split(ring, **how)


def test_of_several_published_splits_the_seed_chooses_one(split_twice):
    first, second = (published_split(split_twice, seed=seed) for seed in (0, 1))
    assert first.train.tolist() == [1, 5, 9, 13, 17, 21]
    assert second.train.tolist() == [0, 4, 8, 12, 16, 20]
    assert parts_of(published_split(split_twice, seed=4)) == parts_of(first)


def test_the_usual_split_is_the_published_one_then_by_time_then_at_random(ring, dated, split_twice):
    assert parts_of(choose_split(split_twice, seed=1)) == parts_of(published_split(split_twice, seed=1))
    assert parts_of(choose_split(dated, seed=1)) == parts_of(temporal_split(dated))
    assert parts_of(choose_split(ring, seed=1)) == parts_of(random_split(ring, seed=1))
    assert parts_of(choose_split(dated, seed=1, train=0.3)) == parts_of(random_split(ring, seed=1, train=0.3))
    assert parts_of(choose_split(dated, seed=1, kind="random")) == parts_of(random_split(ring, seed=1))
    found = parts_of(choose_split(dated, seed=1, kind="time", train=0.25, val=0.25))
    assert found == [list(range(6)), list(range(6, 12)), list(range(12, 24))]


def test_kinds_that_do_not_fit_are_refused(ring, split_twice):
    with pytest.raises(InvalidInput, match="unknown kind of split 'tme'.*did you mean 'time'"):
        choose_split(ring, seed=0, kind="tme")
    with pytest.raises(InvalidInput, match="expected a graph with a published split, got .* which has none"):
        choose_split(ring, seed=0, kind="published")
    with pytest.raises(InvalidInput, match="a published split has its own shares, got train=0.3; leave them out"):
        choose_split(split_twice, seed=0, kind="published", train=0.3)


def test_splits_and_times_are_stored_with_the_graph(tmp_path, dated, split_twice):
    for number, graph in enumerate((dated, split_twice)):
        write_npz(graph, tmp_path / f"{number}.npz")
        again = read_npz(tmp_path / f"{number}.npz")
        assert again.hash == graph.hash
        assert parts_of(choose_split(again, seed=1)) == parts_of(choose_split(graph, seed=1))


@pytest.mark.parametrize(
    ("splits", "times", "sentence"),
    [
        (np.full((24, 1), 4), None, r"expected 0, 1 \(train\), 2 \(validation\) or 3 \(test\) in the splits, got 4"),
        (np.full((24, 1), -1), None, "in the splits, got -1"),
        (np.zeros((23, 1), dtype=int), None, "a row for each of 24 nodes"),
        (np.zeros(24, dtype=int), None, "a row for each of 24 nodes"),
        (np.zeros((24, 1)), None, "got float64 of shape"),
        (np.zeros((24, 1), dtype=int), np.zeros(24), "expected a whole number for each of 24 nodes as their times"),
        (np.zeros((24, 1), dtype=int), np.zeros(3, dtype=int), "expected a whole number for each of 24 nodes"),
    ],
)
def test_what_is_published_is_checked(ring, splits, times, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        Published(ring.ids, splits, times)


def test_a_broken_file_is_one_sentence(tmp_path, dated):
    write_npz(dated, tmp_path / "graph.npz")
    arrays = dict(np.load(tmp_path / "graph.npz"))
    np.savez(tmp_path / "graph.npz", **arrays | {"published_times": np.zeros(3, dtype=int)})
    with pytest.raises(InvalidInput, match="graph.npz: expected a whole number for each of 24 nodes as their times"):
        read_npz(tmp_path / "graph.npz")
