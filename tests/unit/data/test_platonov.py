"""The graphs of Platonov et al., on small files in the published format."""

import numpy as np
import pytest
from small_published import platonov_arrays as arrays

from gvdn.data import DATASETS, load_graph
from gvdn.data.published import read_platonov
from gvdn.errors import InvalidInput
from gvdn.graph import choose_split, write_npz


def test_features_labels_links_and_ten_splits_are_read(tmp_path):
    np.savez_compressed(tmp_path / "roman_empire.npz", **arrays())
    graph = read_platonov(tmp_path / "roman_empire.npz")
    assert (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes) == (12, 12, 3, 3)
    assert graph.published.num_splits == 10
    for seed in (0, 9, 13):
        split = choose_split(graph, seed=seed)
        for part, name in (("train", "train_masks"), ("val", "val_masks"), ("test", "test_masks")):
            assert getattr(split, part).tolist() == np.flatnonzero(arrays()[name][seed % 10]).tolist()


@pytest.mark.parametrize("name", [name for name, one in DATASETS.items() if one.source == "platonov"])
def test_they_are_found_by_name_in_their_layout_and_in_ours(name, tmp_path, monkeypatch):
    monkeypatch.setenv("GVDN_DATA", str(tmp_path))
    np.savez_compressed(tmp_path / f"{DATASETS[name].stem}.npz", **arrays())
    graph = load_graph(name)
    assert graph.name == name
    (tmp_path / f"{DATASETS[name].stem}.npz").unlink()
    write_npz(graph, tmp_path / f"{name}.npz")
    again = load_graph(name)
    assert again.hash == graph.hash
    assert choose_split(again, seed=3).train.tolist() == choose_split(graph, seed=3).train.tolist()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"train_masks": np.ones((10, 12), dtype=int)}, "expected boolean train masks of shape .10, 12., got int64"),
        ({"val_masks": np.zeros((9, 12), dtype=bool)}, "expected boolean validation masks of shape .10, 12., got bool"),
        ({"test_masks": np.ones((10, 12), dtype=bool)}, "expected disjoint masks, got node .* of split 0"),
        ({"edges": np.array([[0, 12]])}, "edge 0 joins positions .0, 12., but there are 12 nodes"),
        ({"edges": np.zeros((2, 5), dtype=int)}, "expected edges as pairs of positions"),
        ({"node_labels": np.arange(11)}, "expected the splits as whole numbers with a row for each of 11 nodes"),
        ({"node_labels": np.linspace(0, 1, 12)}, "expected 12 whole numbers as labels"),
        ({"node_features": np.full((12, 1), np.inf)}, "finite"),
        ({"node_features": np.ones(12)}, "expected features as a matrix"),
    ],
)
def test_a_broken_file_is_named_in_one_sentence(tmp_path, changes, sentence):
    np.savez(tmp_path / "questions.npz", **arrays(**changes))
    with pytest.raises(InvalidInput, match=f"questions.npz: .*{sentence}.*; get it again"):
        read_platonov(tmp_path / "questions.npz")


def test_a_missing_key_and_a_file_that_is_cut_off_are_named(tmp_path, monkeypatch):
    monkeypatch.setenv("GVDN_DATA", str(tmp_path))
    parts = arrays()
    del parts["val_masks"]
    np.savez(tmp_path / "tolokers.npz", **parts)
    with pytest.raises(InvalidInput, match="tolokers.npz: expected the keys node_features, .* got node_features"):
        load_graph("tolokers")
    (tmp_path / "tolokers.npz").write_bytes((tmp_path / "tolokers.npz").read_bytes()[:200])
    with pytest.raises(InvalidInput, match="tolokers.npz: not a whole npz file"):
        load_graph("tolokers")
