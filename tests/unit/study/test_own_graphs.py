"""Graphs of one's own in a spec: their names, and which of them a cell asks about."""

import json

import pytest

from gvdn.bench.contents import with_contents
from gvdn.errors import InvalidInput
from gvdn.graph import write_npz
from gvdn.study import Cell, Mode, Record, Scores, load_spec

TEXT = 'title = "t"\nseeds = [0]\nmethods = ["mlp"]\ndatasets = '


def spec_on(folder, *datasets, more=""):
    (folder / "mine.toml").write_text(TEXT + json.dumps(datasets) + "\n" + more)
    return with_contents(load_spec(folder / "mine.toml"))


@pytest.fixture
def graphs(tmp_path, ring, barbell):
    for folder, graph in (("a", ring), ("b", barbell)):
        (tmp_path / folder).mkdir()
        write_npz(graph, tmp_path / folder / "net.npz")
    return tmp_path


def test_a_graph_of_ones_own_has_the_last_part_of_its_path_as_its_name(graphs, ring):
    spec = spec_on(graphs, "a/net.npz", "debian")
    assert spec.datasets == ("net", "debian")
    ((_, mine), (_, known)) = spec.cells()
    assert (mine.dataset, mine.content, mine.path) == ("net", ring.hash[:12], str(graphs / "a" / "net.npz"))
    assert (known.dataset, known.content, known.path) == ("debian", "", "")


def test_two_graphs_of_one_name_are_called_by_their_paths(graphs):
    assert spec_on(graphs, "a/net.npz", "b/net.npz").datasets == ("a/net.npz", "b/net.npz")


def test_a_graph_with_the_name_of_a_known_dataset_is_called_by_its_path_and_gets_no_preset(graphs, ring):
    (graphs / "sub").mkdir()
    write_npz(ring, graphs / "sub" / "debian.npz")
    spec = spec_on(graphs, "sub/debian.npz")
    assert spec.datasets == ("sub/debian.npz",)
    ((_, cell),) = spec.cells()
    assert (cell.preset, Cell("debian", "mlp", 0).preset) == ("", "debian")


def test_rows_that_are_bound_to_a_graph_find_it_by_what_the_file_says(graphs):
    spec = spec_on(graphs, "a/net.npz", "debian", more='[[row]]\nmethod = "gcn"\ndatasets = ["a/net.npz"]\n')
    assert [cell.dataset for row, cell in spec.cells() if row.method == "gcn"] == ["net"]


def test_the_same_graph_elsewhere_is_the_same_run_and_another_content_is_another(graphs, barbell):
    ((_, here),) = spec_on(graphs, "a/net.npz").cells()
    (graphs / "c").mkdir()
    (graphs / "a" / "net.npz").rename(graphs / "c" / "net.npz")
    ((_, there),) = spec_on(graphs, "c/net.npz").cells()
    assert here.key(Mode.EVASION) == there.key(Mode.EVASION)
    write_npz(barbell, graphs / "c" / "net.npz")
    ((_, changed),) = spec_on(graphs, "c/net.npz").cells()
    assert changed.key(Mode.EVASION) != here.key(Mode.EVASION)


def test_the_record_of_such_a_cell_is_read_again_without_its_path(graphs):
    ((_, cell),) = spec_on(graphs, "a/net.npz").cells()
    record = Record(cell=cell, mode=Mode.EVASION, scores=Scores(0.5, 0.5, 0.5, 0.5, 10))
    again = Record.from_json(json.loads(json.dumps(record.to_json())))
    assert again == record
    assert str(graphs) not in json.dumps(record.to_json())


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        ('reference = "gcn"\n', "expected reference as one of the methods of the spec, got 'gcn'"),
        ("perturbations = [1]\n", "expected a perturbation as a name or a table with its name, got 1"),
        ('modes = ["recoverd"]\n', "unknown mode 'recoverd'; did you mean 'recovered'?"),
    ],
)
def test_what_a_spec_says_wrongly_is_named(more, sentence, graphs):
    with pytest.raises(InvalidInput) as refused:
        spec_on(graphs, "debian", more=more)
    assert sentence in str(refused.value)


def test_a_spec_without_a_method_is_refused(tmp_path):
    (tmp_path / "mine.toml").write_text('title = "t"\nseeds = [0]\ndatasets = ["debian"]\n')
    with pytest.raises(InvalidInput, match="expected methods or a \\[\\[row\\]\\] in the spec, got neither"):
        load_spec(tmp_path / "mine.toml")


def test_methods_are_crossed_with_perturbations_that_may_have_settings(graphs):
    more = 'perturbations = ["random-connections", { name = "nettack", link_flips = 1 }]\n'
    rows = spec_on(graphs, "debian", more=more).rows
    assert [(row.method, row.perturbation, row.perturbation_settings, row.group) for row in rows] == [
        ("mlp", "random-connections", {}, "random-connections"),
        ("mlp", "nettack", {"link_flips": 1}, "nettack, link_flips 1"),
    ]
