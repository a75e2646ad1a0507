"""The publishers' formats, on small files written here in the same layout."""

import json
import pickle
from collections import defaultdict

import numpy as np
import pytest
import scipy.sparse as sp

from gvdn.data import DATASETS, load_graph
from gvdn.data.published import published_files, read_graphsaint, read_planetoid
from gvdn.errors import InvalidInput


@pytest.fixture
def graphsaint(tmp_path):
    adjacency = sp.csr_matrix(np.array([[0, 1, 1, 0], [1, 0, 0, 0], [1, 0, 1, 0], [0, 0, 0, 0]]))
    np.savez(
        tmp_path / "adj_full.npz",
        data=adjacency.data.astype(bool),
        indices=adjacency.indices,
        indptr=adjacency.indptr,
        shape=adjacency.shape,
    )
    np.save(tmp_path / "feats.npy", np.arange(8, dtype=np.float64).reshape(4, 2))
    (tmp_path / "class_map.json").write_text(json.dumps({"0": 2, "1": 0, "2": 1, "3": 2}))
    (tmp_path / "role.json").write_text(json.dumps({"tr": [0, 1], "va": [2], "te": [3]}))
    return tmp_path


def test_flickr_is_read_from_graphsaints_four_files(graphsaint, monkeypatch):
    monkeypatch.setenv("GVDN_DATA", str(graphsaint))
    graph = load_graph("flickr")
    assert graph.edges.tolist() == [[0, 1], [0, 2]]
    assert graph.labels.tolist() == [2, 0, 1, 2]
    assert graph.features.tolist() == [[0, 1], [2, 3], [4, 5], [6, 7]]


def test_flickr_structure_has_simulated_features_and_says_so(graphsaint, monkeypatch):
    (graphsaint / "feats.npy").unlink()
    monkeypatch.setenv("GVDN_DATA", str(graphsaint))
    graph = load_graph("flickr-structure")
    assert graph.name == "flickr-structure"
    assert graph.features.shape == (4, 500)
    assert "SIMULATED" in DATASETS["flickr-structure"].remark


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("class_map.json", '{"0": 1}', "class_map.json: expected an entry for each of the 4 nodes, got 1"),
        ("role.json", '{"tr": [0]}', "role.json: expected an entry for each of the 4 nodes, got 1"),
        ("role.json", '{"tr": ', "role.json: not whole JSON"),
        ("feats.npy", "nonsense", "feats.npy: not a whole npy file"),
    ],
)
def test_broken_graphsaint_files_are_named(graphsaint, name, text, sentence):
    (graphsaint / name).write_text(text)
    with pytest.raises(InvalidInput, match=sentence):
        read_graphsaint(graphsaint)


def test_the_gnn_benchmark_layout_keeps_counts(tmp_path, monkeypatch):
    np.savez(
        tmp_path / "ms_academic_cs.npz",
        adj_data=np.ones(2),
        adj_indices=np.array([1, 0]),
        adj_indptr=np.array([0, 1, 2, 2]),
        adj_shape=np.array([3, 3]),
        attr_data=np.array([1.0, 105.0]),
        attr_indices=np.array([0, 1]),
        attr_indptr=np.array([0, 1, 2, 2]),
        attr_shape=np.array([3, 2]),
        labels=np.array([0, 1, 1]),
    )
    monkeypatch.setenv("GVDN_DATA", str(tmp_path))
    graph = load_graph("coauthor-cs")
    assert graph.edges.tolist() == [[0, 1]]
    assert graph.features.toarray().tolist() == [[1, 0], [0, 105], [0, 0]]


def test_a_foreign_npz_under_the_published_name_is_refused(tmp_path, monkeypatch):
    np.savez(tmp_path / "ms_academic_cs.npz", a=np.ones(2))
    monkeypatch.setenv("GVDN_DATA", str(tmp_path))
    with pytest.raises(InvalidInput, match="the key 'attr_data' is missing"):
        load_graph("coauthor-cs")


def test_planetoid_files_are_read_in_the_usual_order(tmp_path):
    # 600 nodes (the reader takes 500 of them for validation); the last two are the test nodes, listed in reverse.
    known = np.zeros((598, 2))
    known[:, 0] = 1
    parts = {
        "x": sp.csr_matrix(known[:1]),
        "tx": sp.csr_matrix(np.array([[0, 3.0], [2.0, 0]])),
        "allx": sp.csr_matrix(known),
        "y": known[:1].astype(int),
        "ty": np.array([[0, 1], [1, 0]]),
        "ally": known.astype(int),
        "graph": defaultdict(list, {0: [1, 598], 1: [0], 598: [0], 599: [599]}),
    }
    for part, content in parts.items():
        (tmp_path / f"ind.cora.{part}").write_bytes(pickle.dumps(content))
    (tmp_path / "ind.cora.test.index").write_text("599\n598\n")
    graph = read_planetoid(tmp_path, "Cora")
    assert graph.edges.tolist() == [[0, 1], [0, 598]]
    assert graph.labels[597:].tolist() == [0, 0, 1]
    assert graph.features.toarray()[597:].tolist() == [[1, 0], [2, 0], [0, 3]]
    assert set(published_files(DATASETS["cora"])) == {path.name for path in tmp_path.iterdir()}


def test_broken_planetoid_files_are_one_sentence(tmp_path):
    for name in published_files(DATASETS["cora"]):
        (tmp_path / name).write_bytes(b"broken")
    with pytest.raises(InvalidInput, match="could not read the planetoid files"):
        read_planetoid(tmp_path, "Cora")


class Hostile:
    def __reduce__(self):
        return (__import__("os").mkdir, ("hacked",))


@pytest.mark.parametrize("part", ["allx", "tx", "ally", "ty", "graph"])
def test_a_pickle_that_would_run_code_is_refused_before_it_does(tmp_path, monkeypatch, part):
    monkeypatch.chdir(tmp_path)
    matrix, classes = sp.csr_matrix(np.ones((3, 2))), np.eye(2, dtype=int)[[0, 1, 0]]
    parts = {"allx": matrix, "tx": matrix, "ally": classes, "ty": classes, "graph": {0: [1]}} | {part: Hostile()}
    for name, content in parts.items():
        (tmp_path / f"ind.cora.{name}").write_bytes(pickle.dumps(content))
    (tmp_path / "ind.cora.test.index").write_text("3\n4\n5\n")
    with pytest.raises(InvalidInput, match="expected arrays and nothing else, got (posix|os|nt).mkdir"):
        read_planetoid(tmp_path, "Cora")
    assert not (tmp_path / "hacked").exists()
