import dataclasses

import numpy as np
import pytest
import torch
from torch_geometric.data import Data

from gvdn.errors import InvalidInput
from gvdn.graph import Split, as_split, random_split


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
    with pytest.raises(InvalidInput, match="expected shares"):
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


@pytest.mark.parametrize(
    ("train", "sentence"),
    [
        (
            np.array([True, True, False]),
            "expected train as positions of nodes, got a boolean mask; use Split.from_masks",
        ),
        (torch.tensor([True, True, False]), "got a boolean mask; use Split.from_masks"),
        (np.array([0, -1]), "expected train as positions from 0 up, got -1"),
        (np.array([0.5, 1.5]), r"expected train as a list of positions \(integers\), got float64"),
        (np.array([0.0, 1.0]), r"expected train as a list of positions \(integers\), got float64"),
        (np.array([[0], [1]]), r"of shape \(2, 1\)"),
        (["a"], "got <U1"),
        (np.array([2**63], dtype=np.uint64), r"expected train below 2\*\*63"),
        ([], "expected at least one training node"),
    ],
)
def test_what_is_no_position_is_refused(train, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        Split(train, np.array([5]), np.array([6]))


def test_positions_may_be_lists_and_tensors_and_come_sorted():
    split = Split([3, 1, 3], torch.tensor([2]), [])
    assert (split.train.tolist(), split.val.tolist(), split.test.tolist()) == ([1, 3], [2], [])
    assert repr(split) == "Split(2 train, 1 val, 0 test)"
    with pytest.raises(ValueError, match="read-only"):
        split.train[0] = 0


def masks(kind):
    return [kind([node % 3 == part for node in range(6)]) for part in range(3)]


@pytest.mark.parametrize("kind", [list, np.array, torch.tensor])
def test_masks_become_positions(kind):
    split = Split.from_masks(*masks(kind))
    assert (split.train.tolist(), split.val.tolist(), split.test.tolist()) == ([0, 3], [1, 4], [2, 5])


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({0: np.array([0, 3])}, "expected a boolean mask with one entry per node as train, got int64"),
        ({1: np.zeros(5, dtype=bool)}, "expected masks of one length, .* got 6 in train, 5 in val, 6 in test"),
        ({2: np.ones(6, dtype=bool)}, "expected disjoint parts, got node 0 in more than one"),
        ({0: np.zeros(6, dtype=bool)}, "expected at least one training node"),
        ({0: np.zeros((6, 2), dtype=bool)}, r"as train, got bool of shape \(6, 2\)"),
    ],
)
def test_masks_that_do_not_fit_are_refused(changed, sentence):
    given = dict(enumerate(masks(np.array))) | changed
    with pytest.raises(InvalidInput, match=sentence):
        Split.from_masks(*given.values())


def pyg(**changes) -> Data:
    train, val, test = masks(torch.tensor)
    parts = {"x": torch.ones(6, 1), "edge_index": torch.tensor([[0], [1]]), "y": torch.tensor([0, 1] * 3)}
    return Data(**(parts | {"train_mask": train, "val_mask": val, "test_mask": test} | changes))


def test_the_masks_of_a_pyg_graph_are_its_split(ring):
    assert Split.from_pyg(pyg()).val.tolist() == [1, 4]
    assert as_split(None, pyg()).test.tolist() == [2, 5]
    given = Split([0], [1], [2])
    assert as_split(given, pyg()) is given
    assert as_split(given, ring) is given


def test_of_several_splits_in_columns_one_is_chosen():
    train = torch.stack([pyg().train_mask, torch.zeros(6, dtype=torch.bool)], dim=1)
    train[5, 1] = True
    data = pyg(train_mask=train, test_mask=torch.tensor([False, False, True, False, False, False]))
    assert Split.from_pyg(data, column=0).train.tolist() == [0, 3]
    assert Split.from_pyg(data, column=1).train.tolist() == [5]
    for column in (None, 2, -1):
        with pytest.raises(
            InvalidInput, match=r"got 2 in the columns of train_mask; choose one with .*column=0\), up to 1"
        ):
            Split.from_pyg(data, column=column)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"val_mask": None}, "expected a PyG Data with train_mask, val_mask and test_mask, got none as val_mask"),
        ({"y": torch.tensor([0, 1, -1, 0, 1, 0])}, "expected labels on all nodes of test_mask, got -1 on node 2"),
        ({"train_mask": torch.tensor([0, 3])}, "expected a boolean mask"),
    ],
)
def test_a_pyg_graph_without_a_split_is_a_sentence(changes, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        as_split(None, pyg(**changes))


def test_a_graph_has_no_split_of_its_own(ring):
    with pytest.raises(InvalidInput, match=r"expected a split of the graph, got none; give gvdn.random_split\(graph"):
        as_split(None, ring)
    with pytest.raises(InvalidInput, match="expected a split of the graph, got ndarray"):
        as_split(np.ones(60, dtype=bool), ring)


def test_a_seed_is_a_whole_number(ring):
    with pytest.raises(InvalidInput, match="expected a whole number as seed, got 1.5"):
        random_split(ring, seed=1.5)


def test_a_pyg_graph_can_be_split_at_random():
    assert repr(random_split(pyg(), seed=0, train=0.5, stratified=False)) == "Split(3 train, 1 val, 2 test)"


def test_a_split_depends_on_ids_labels_and_seed_alone(ring):
    def ids(graph, seed=0):
        split = random_split(graph, seed=seed)
        return [sorted(graph.ids[part].tolist()) for part in (split.train, split.val, split.test)]

    expected = ids(ring)
    order = np.random.default_rng(0).permutation(ring.num_nodes)
    assert ids(dataclasses.replace(ring, name="another folder")) == expected
    assert ids(ring.subgraph(order)) == expected
    assert ids(dataclasses.replace(ring, features=ring.features * 2)) == expected
    assert ids(dataclasses.replace(ring, labels=np.roll(ring.labels, 1))) != expected
    assert ids(ring, seed=1) != expected


def rare(ring, number):
    """The ring with this many nodes of the second class and none of the others."""
    labels = np.zeros(ring.num_nodes, dtype=np.int64)
    labels[:number] = 1
    return dataclasses.replace(ring, labels=labels, class_names=("often", "rarely"))


@pytest.mark.parametrize("seed", range(8))
def test_a_rare_class_has_two_training_nodes_unless_it_is_said_otherwise(ring, seed):
    graph = rare(ring, 4)
    split = random_split(graph, seed=seed)
    assert (graph.labels[split.train] == 1).sum() >= 2
    assert len(split.train) + len(split.val) + len(split.test) == ring.num_nodes
    plain = [(graph.labels[random_split(graph, seed=s, stratified=False).train] == 1).sum() for s in range(20)]
    assert min(plain) < 2


def test_a_class_with_one_node_is_no_reason_to_draw_within_classes(ring):
    graph = rare(ring, 1)
    assert random_split(graph, seed=0).train.tolist() == random_split(graph, seed=0, stratified=False).train.tolist()


def test_shares_of_all_three_parts(ring):
    split = random_split(ring, seed=0, train=0.5, val=0.1, test=0.2)
    assert [len(part) for part in (split.train, split.val, split.test)] == [30, 6, 12]
    with pytest.raises(InvalidInput, match="a sum of at most 1, got train=0.5, val=0.4, test=0.2"):
        random_split(ring, seed=0, train=0.5, val=0.4, test=0.2)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"id,part\nn0,\xff\xfe\n", "could not read the split"),
        ("id,part\nn0,{}\n".format("x" * 100_000).encode(), r"expected train, val or test, got 'x+\.\.\."),
        ("id,part\n{},train\n".format("é" * 5000).encode(), r"no node 'é+\.\.\. in the graph"),
    ],
    ids=["no UTF-8", "a long part", "a long id"],
)
def test_a_strange_split_is_one_short_sentence(content, sentence, ring, tmp_path):
    (tmp_path / "split.csv").write_bytes(content)
    with pytest.raises(InvalidInput, match=sentence) as refused:
        Split.load(tmp_path / "split.csv", ring)
    assert len(str(refused.value)) < 1100


@pytest.mark.parametrize("target", ["/dev/zero", ".", "nowhere"])
def test_a_split_is_read_from_a_regular_file(target, ring, tmp_path):
    (tmp_path / "split.csv").symlink_to(target)
    with pytest.raises(InvalidInput, match="could not read the split"):
        Split.load(tmp_path / "split.csv", ring)
