import dataclasses

import numpy as np
import pytest

from gvdn.errors import InvalidInput
from gvdn.graph import Split, random_split


def test_a_split_is_ten_twenty_seventy_and_covers_every_labelled_node(ring):
    split = random_split(ring, seed=0)
    assert (len(split.train), len(split.val), len(split.test)) == (6, 12, 42)
    assert sorted(np.concatenate([split.train, split.val, split.test])) == list(range(60))


def test_a_stratified_split_takes_the_share_of_each_class(ring):
    split = random_split(ring, seed=0, stratified=True)
    assert np.bincount(ring.labels[split.train]).tolist() == [2, 2, 2]
    assert np.bincount(ring.labels[split.val]).tolist() == [4, 4, 4]


def test_unlabelled_nodes_are_in_no_part(ring):
    some = dataclasses.replace(ring, labels=np.where(np.arange(60) < 30, ring.labels, -1))
    split = random_split(some, seed=0)
    assert np.concatenate([split.train, split.val, split.test]).max() < 30


def test_the_seed_and_nothing_else_decides(ring):
    same, again, other = (random_split(ring, seed=seed).train.tolist() for seed in (1, 1, 2))
    assert same == again != other


def test_a_node_in_two_parts_is_named():
    with pytest.raises(InvalidInput, match="got node 2 in more than one"):
        Split(np.array([1, 2]), np.array([2]), np.array([3]))


@pytest.mark.parametrize(("train", "val"), [(0.0, 0.5), (0.6, 0.5), (-1.0, 0.0)])
def test_fractions_that_do_not_fit_are_refused(ring, train, val):
    with pytest.raises(InvalidInput, match="expected fractions"):
        random_split(ring, seed=0, train=train, val=val)


def test_a_graph_without_labels_cannot_be_split(ring):
    with pytest.raises(InvalidInput, match="no labelled node"):
        random_split(dataclasses.replace(ring, labels=None), seed=0)


def test_a_saved_split_finds_its_nodes_in_a_reordered_graph(ring, tmp_path):
    split = random_split(ring, seed=0)
    split.save(tmp_path / "split.csv", ring)
    shuffled = ring.subgraph(np.random.default_rng(0).permutation(60))
    loaded = Split.load(tmp_path / "split.csv", shuffled)
    assert sorted(shuffled.ids[loaded.test]) == sorted(ring.ids[split.test])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("id,part\nn00,train\nn01,practice\n", "row 2: expected train, val or test, got 'practice'"),
        ("id,part\nn00,train\nzz,val\n", "row 2: no node .*zz.* in the graph ring"),
        ("id,part\n,train\n", "row 1: no node"),
        ("node,part\nn00,train\n", "expected the columns id and part, got node, part"),
        ("", "could not read the split"),
    ],
)
def test_a_bad_split_file_is_named_with_its_row(ring, tmp_path, text, sentence):
    (tmp_path / "split.csv").write_text(text)
    with pytest.raises(InvalidInput, match=sentence):
        Split.load(tmp_path / "split.csv", ring)
