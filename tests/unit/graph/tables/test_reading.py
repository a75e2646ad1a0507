"""Graphs from tables of every kind: links, weights, relations; and tables that read back to the same graph."""

import numpy as np
import pyarrow as pa
import pytest

from gvdn.data import load_graph, write_tables
from gvdn.errors import InvalidInput
from gvdn.graph import Graph

NODES = {"id": ["a", "b", "c", "d"], "x": [0.5, 1.5, 2.5, 9.0]}
EDGES = {"source": ["a", "b", "c"], "target": ["b", "c", "d"]}


def read(**links: object) -> Graph:
    return Graph.from_tables(NODES, EDGES | links)


def test_a_column_weight_is_the_weight():
    assert read(weight=[1, 2.5, 4]).edge_weights.tolist() == [1, 2.5, 4]
    assert read(weight=["1,5", "2,5", "4"]).edge_weights.tolist() == [1.5, 2.5, 4]


def test_weights_that_drown_the_nodes_own_features_are_said():
    assert any("the median weight of the links is 5,000" in note for note in read(weight=[1, 5000, 9000]).notes)


def test_relations_are_joined_and_said_or_one_is_chosen():
    both = read(relation=["pays", "pays", "knows"])
    assert both.num_edges == 3
    assert "the links of 2 relations are joined (pays 2, knows 1); --relation NAME takes one of them" in both.notes
    one = Graph.from_tables(NODES, EDGES | {"relation": ["pays", "pays", "knows"]}, relation="pays")
    assert one.edges.tolist() == [[0, 1], [1, 2]]
    assert "only the 2 links of the relation 'pays' are used, of 3" in one.notes
    later = Graph.from_tables(NODES, EDGES | {"relation": ["knows", "pays", "knows"]}, columns=one.columns)
    assert later.edges.tolist() == [[1, 2]]
    with pytest.raises(InvalidInput, match="there is no relation 'pay'; did you mean 'pays'"):
        Graph.from_tables(NODES, EDGES | {"type": ["pays", "pays", "knows"]}, relation="pay")
    with pytest.raises(InvalidInput, match="expected a column relation to choose 'pays' from, got none"):
        Graph.from_tables(NODES, EDGES, relation="pays")


def test_columns_of_links_that_are_not_used_are_said():
    (note,) = read(time=[1, 2, 3], amount=[1, 2, 3]).notes
    assert note == "the columns 'time', 'amount' of the links are not used; only weight and relation are"


def test_links_in_both_directions_are_said():
    graph = Graph.from_tables(NODES, {"source": ["a", "b", "c"], "target": ["b", "a", "d"]})
    assert graph.notes == ("1 pair of nodes is linked in both directions; each pair is one edge",)


class Streamed:
    """A frame of a library that speaks Arrow's stream, as polars and recent pandas do."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self.table.__arrow_c_stream__(requested_schema)


class Polar:
    def __init__(self, table: pa.Table) -> None:
        self.table = table

    def to_arrow(self) -> pa.Table:
        return self.table


@pytest.mark.parametrize("frame", [pa.table, lambda d: Streamed(pa.table(d)), lambda d: Polar(pa.table(d))])
def test_any_frame_that_speaks_arrow_is_read(frame):
    plain = Graph.from_tables(NODES, EDGES)
    assert Graph.from_tables(frame(NODES), frame(EDGES)).hash == plain.hash
    assert Graph.from_polars(frame(NODES), frame(EDGES)).hash == plain.hash


@pytest.mark.parametrize(("name", "read_frame"), [("pandas", Graph.from_pandas), ("polars", Graph.from_polars)])
def test_frames_of_other_libraries_are_read(name, read_frame):
    library = pytest.importorskip(name)
    frames = library.DataFrame(NODES), library.DataFrame(EDGES)
    assert read_frame(*frames).hash == Graph.from_tables(NODES, EDGES).hash


def test_what_is_no_table_is_refused():
    with pytest.raises(
        InvalidInput, match="expected a pandas, polars or Arrow table, or a dict of lists as the node table"
    ):
        Graph.from_tables(5, EDGES)
    with pytest.raises(InvalidInput, match="the edge table: expected the columns source and target, got from, to"):
        Graph.from_tables(NODES, {"from": [1], "to": [2]})


def test_one_class_or_none_can_be_read():
    assert Graph.from_tables(NODES | {"label": ["a", None, "a", "a"]}, EDGES).class_names == ("a",)
    assert Graph.from_tables(NODES | {"label": pa.nulls(4)}, EDGES).num_classes == 0


# ---- tables as files


@pytest.mark.parametrize("sign", [";", "\t", "|"])
def test_other_separators_are_recognised_and_said(tmp_path, sign):
    (tmp_path / "nodes.csv").write_text("id,label,x,y\na,u,1.5,2\nb,v,2.5,3\nc,u,9.5,4\n".replace(",", sign))
    (tmp_path / "edges.csv").write_text("source,target\na,b\n")
    graph = load_graph(tmp_path)
    assert graph.feature_names == ("x", "y")
    assert graph.notes[0].startswith("the columns of nodes.csv are separated by ")


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_written_tables_read_back_to_the_same_graph(ring, tmp_path, format):
    weights = np.linspace(0.1, 3, ring.num_edges)
    rest = {name: getattr(ring, name) for name in ("ids", "class_names", "name")}
    labels = np.where(np.arange(60) % 7 == 0, -1, ring.labels)
    graph = Graph.from_edges(ring.edges, ring.features, weights=weights, labels=labels, **rest)
    write_tables(graph, tmp_path, format)
    back = load_graph(tmp_path)
    assert (back.hash, back.name, back.feature_names, back.columns) == (graph.hash, "ring", (), None)


@pytest.mark.parametrize("format", ["csv", "parquet"])
def test_encoded_columns_are_written_as_they_are_and_keep_their_schema(tmp_path, format):
    nodes = {
        "id": ["1", "02", "3", "4"],
        "x": NODES["x"],
        "city": ["Rome"] * 4,
        "label": ["true", "false", None, "true"],
    }
    graph = Graph.from_tables(nodes, {"source": ["1"], "target": ["02"]}, name="mine")
    write_tables(graph, tmp_path, format)
    back = load_graph(tmp_path)
    assert (back.hash, back.name, back.ids.tolist()) == (graph.hash, "mine", ["1", "02", "3", "4"])
    assert (back.columns, back.feature_names) == (graph.columns, graph.feature_names)


def test_numbers_that_are_ids_in_text_stay_text(tmp_path):
    graph = Graph.from_edges([[0, 1]], [[1.0], [0.0]], ids=["10", "2"])
    write_tables(graph, tmp_path)
    assert load_graph(tmp_path).ids.tolist() == ["10", "2"]


def test_names_that_a_csv_does_not_give_back_are_refused(tmp_path):
    graph = Graph.from_edges([[0, 1]], [[1.0], [0.0]], ids=["a\nb", "2"])
    with pytest.raises(InvalidInput, match="id names that a CSV can hold, got .*; write parquet or npz"):
        write_tables(graph, tmp_path)
    write_tables(graph, tmp_path, "parquet")
    assert load_graph(tmp_path).hash == graph.hash


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("{}", "expected the format gvdn-tables"),
        ("[1", "not whole JSON"),
        ('{"format": "gvdn-tables", "version": 9}', "9"),
    ],
)
def test_a_broken_graph_json_is_one_sentence(tmp_path, ring, text, sentence):
    write_tables(ring, tmp_path)
    (tmp_path / "graph.json").write_text(text)
    with pytest.raises(InvalidInput, match=sentence):
        load_graph(tmp_path)
