import json

import numpy as np
import scipy.sparse as sp

from gvdn.data import load_graph
from gvdn.data.published import read_graphsaint
from gvdn.graph import Graph, write_npz


def test_counts_are_present_or_absent_for_the_perturbation_that_flips_words(tmp_path, monkeypatch):
    monkeypatch.setenv("GVDN_DATA", str(tmp_path))
    counts = sp.csr_array(np.array([[1, 0, 7], [0, 3, 1]], dtype=np.float32))
    write_npz(Graph.from_edges(np.array([[0, 1]]), counts, labels=np.array([0, 1])), tmp_path / "coauthor-cs.npz")
    assert load_graph("coauthor-cs").dense_features().tolist() == counts.toarray().tolist()
    for_words = load_graph("coauthor-cs", perturbation="nettack")
    assert for_words.dense_features().tolist() == [[1, 0, 1], [0, 1, 1]]
    other = load_graph("coauthor-cs", perturbation="random-connections")
    assert other.dense_features().tolist() == counts.toarray().tolist()


def test_a_structure_without_features_has_no_column(tmp_path):
    links = sp.csr_matrix(np.array([[0, 1], [1, 0]]))
    np.savez(tmp_path / "adj_full.npz", indices=links.indices, indptr=links.indptr, data=links.data, shape=links.shape)
    (tmp_path / "class_map.json").write_text(json.dumps({"0": 1, "1": 0}))
    (tmp_path / "role.json").write_text(json.dumps({"tr": [0], "va": [1], "te": []}))
    graph = read_graphsaint(tmp_path, features=False)
    assert (graph.num_features, graph.num_edges, graph.labels.tolist()) == (0, 1, [1, 0])
