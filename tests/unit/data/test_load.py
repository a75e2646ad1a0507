import pytest

from gvdn.data import DATASETS, load_graph
from gvdn.errors import InvalidInput
from gvdn.graph import edge_homophily, write_npz

REAL = {
    "cora": (2708, 5278, 1433, 7, 0.81),
    "citeseer": (3327, 4552, 3703, 6, 0.7355),
    "pubmed": (19717, 44324, 500, 3, 0.8024),
    "amazon-photo": (7650, 119081, 745, 8, 0.8272),
    "coauthor-cs": (18333, 81894, 6805, 15, 0.8081),
    "flickr-structure": (89250, 449878, 500, 7, 0.3195),
}


def test_the_bundled_graph_needs_nothing(monkeypatch):
    monkeypatch.delenv("GVDN_DATA", raising=False)
    graph = load_graph("debian")
    assert graph.num_nodes > 4000
    assert 0.68 < edge_homophily(graph) < 0.78
    assert "games" in graph.class_names
    assert graph.features.sum(axis=1).max() == pytest.approx(1)


def test_the_large_bundled_graph_is_in_flickrs_class():
    graph = load_graph("debian-large")
    assert 30_000 < graph.num_nodes < 90_000
    assert 150_000 < graph.num_edges < 450_000


def test_features_as_published_are_not_divided():
    assert load_graph("debian", as_published=True).features.max() == 1


@pytest.mark.real
@pytest.mark.parametrize("name", REAL)
def test_the_real_graphs_load_with_the_published_counts(name, real):
    graph = real(name)
    counts = (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes)
    assert (*counts, round(edge_homophily(graph), 4)) == pytest.approx(REAL[name], abs=1e-4)


@pytest.mark.real
@pytest.mark.parametrize("name", [name for name in REAL if name != "flickr-structure"])
def test_the_pinned_hashes_are_those_of_the_real_graphs(name, real):
    real(name)
    assert load_graph(name, as_published=True).hash == DATASETS[name].hash


def test_an_unknown_name_guesses_and_lists():
    with pytest.raises(InvalidInput, match="got 'corra'.*did you mean 'cora'.*known: debian, "):
        load_graph("corra")


def test_an_npz_file_and_a_folder_with_one_load(ring, tmp_path):
    write_npz(ring, tmp_path / "graph.npz")
    assert load_graph(tmp_path / "graph.npz").hash == ring.hash
    assert load_graph(tmp_path).hash == ring.hash


def test_a_lonely_table_asks_for_its_edges(tmp_path):
    (tmp_path / "nodes.csv").write_text("id,x\na,1\n")
    with pytest.raises(InvalidInput, match="needs its table of edges"):
        load_graph(tmp_path / "nodes.csv")


def test_a_data_folder_that_is_none_is_said(monkeypatch, tmp_path):
    monkeypatch.setenv("GVDN_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(InvalidInput, match=r"expected \$GVDN_DATA to be a folder"):
        load_graph("cora")
