import gzip

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

from gvdn.data import load_graph, read_tables
from gvdn.errors import InvalidInput

NODES = "id,label,age,height\nann,spam,30,1.5\nbob,ham,0,0\ncid,,7,2.25\n"
EDGES = "source,target\nann,bob\nbob,cid\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "nodes.csv").write_text(NODES)
    (tmp_path / "edges.csv").write_text(EDGES)
    return tmp_path


def test_a_folder_of_csv_becomes_a_graph(folder):
    graph = load_graph(folder)
    assert graph.ids.tolist() == ["ann", "bob", "cid"]
    assert graph.class_names == ("ham", "spam")
    assert graph.labels.tolist() == [1, 0, -1]
    assert graph.feature_names == ("age", "height")
    given = np.array([[30, 1.5], [0, 0], [7, 2.25]])
    np.testing.assert_allclose(graph.features, (given - given.mean(axis=0)) / given.std(axis=0), rtol=1e-6)
    assert graph.edges.tolist() == [[0, 1], [1, 2]]
    assert graph.name == folder.name


def test_two_files_of_any_name_and_kind_become_the_same_graph(folder):
    table = pa.table({"id": ["ann", "bob", "cid"], "label": ["spam", "ham", None], "age": [30, 0, 7]})
    pq.write_table(table.append_column("height", pa.array([1.5, 0, 2.25])), folder / "people.parquet")
    (folder / "friends.csv.gz").write_bytes(gzip.compress(EDGES.encode()))
    assert load_graph(folder / "people.parquet", folder / "friends.csv.gz").hash == load_graph(folder).hash


def test_whole_numbers_are_ids_as_numbers_and_padded_ones_as_text(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\n2,10\n")
    (tmp_path / "nodes.csv").write_text("id,x\n10,1\n2,2\n")
    assert load_graph(tmp_path).ids.tolist() == [10, 2]
    (tmp_path / "nodes.csv").write_text("id,x\n10,1\n2,2\n007,3\n")
    assert load_graph(tmp_path).ids.tolist() == ["10", "2", "007"]


def test_numbered_classes_come_in_numerical_order(tmp_path):
    (tmp_path / "edges.csv").write_text("source,target\n")
    (tmp_path / "nodes.csv").write_text("id,label,x\n1,10,0\n2,9,1\n3,2,1\n")
    assert load_graph(tmp_path).class_names == ("2", "9", "10")


def test_loops_duplicates_and_both_directions_are_one_edge(folder):
    (folder / "edges.csv").write_text("source,target\nann,bob\nbob,ann\nann,bob\ncid,cid\n")
    graph = load_graph(folder)
    assert graph.edges.tolist() == [[0, 1]]
    assert graph.dropped == (1, 2, 1)


def test_mostly_zero_features_are_kept_sparse(tmp_path):
    words = np.eye(8, dtype=int)
    header = ",".join(f"w{number}" for number in range(8))
    rows = "\n".join(f"{number}," + ",".join(map(str, row)) for number, row in enumerate(words))
    (tmp_path / "nodes.csv").write_text(f"id,{header}\n{rows}\n")
    (tmp_path / "edges.csv").write_text("source,target\n0,1\n")
    graph = load_graph(tmp_path)
    assert sp.issparse(graph.features)
    np.testing.assert_array_equal(graph.features.toarray(), words)


def test_nodes_without_features_and_edges_get_features_of_their_links(tmp_path):
    (tmp_path / "nodes.csv").write_text("id\na\nb\n")
    (tmp_path / "edges.csv").write_text("source,target\n")
    graph = load_graph(tmp_path)
    assert (graph.num_nodes, graph.num_edges, graph.num_features) == (2, 0, 130)
    assert "the nodes have no features" in graph.notes[-1]


def test_dictionary_and_large_string_columns_of_parquet_are_read(tmp_path):
    ids = pa.array(["a", "b"], pa.large_string())
    labels = pa.array(["x", "y"]).dictionary_encode()
    pq.write_table(pa.table({"id": ids, "label": labels, "f": [True, False]}), tmp_path / "nodes.parquet")
    pq.write_table(pa.table({"source": ["a"], "target": ["b"]}), tmp_path / "edges.parquet")
    graph = load_graph(tmp_path)
    assert graph.labels.tolist() == [0, 1]
    assert graph.features.tolist() == [[1], [0]]


@pytest.mark.parametrize(
    ("file", "text", "sentence"),
    [
        (
            "edges",
            "source,target\nann,bob\nann,zoe\n",
            r"edges.csv, row 2: the target 'zoe' is no id of the node table",
        ),
        ("edges", "source,target\nann,\n", r"edges.csv, row 1: the target is missing"),
        ("edges", "from,to\nann,bob\n", r"edges.csv: expected the columns source and target, got from, to"),
        ("edges", "", r"edges.csv: the file is empty"),
        ("edges", 'source,target\nann,"bob\n', r"edges.csv: not a readable table|no id of the node table"),
        ("nodes", "id,x\nann,1\nbob,2\nann,3\n", r"nodes.csv, row 3: the id 'ann' is in row 1 too"),
        ("nodes", "id,x\nann,1\n,2\n", r"nodes.csv, row 2: the id is missing"),
        ("nodes", "id,x\nann,inf\nbob,1\n", r"nodes.csv, row 1: the feature 'x' is inf"),
        ("nodes", "id,x\nann,1e31\nbob,1\n", r"row 1: the feature 'x' is 1e\+31; expected a finite number of at most"),
        (
            "nodes",
            "id,x\na,1\nb,2\nc,3\nd,4\ne,five\n",
            r"row 5: expected a number in the column 'x', got 'five'; corr",
        ),
        (
            "edges",
            "source,target,weight\nann,bob,0\n",
            r"edges.csv, row 1: expected a positive number as weight, got 0",
        ),
        ("edges", "source,target,weight\nann,bob,\n", r"row 1: expected a positive number as weight, got none; a link"),
        ("edges", "source,target,weight\nann,bob,x\n", r"row 1: expected a positive number as weight, got 'x'"),
        ("nodes", "id,x\n", r"nodes.csv: a header but no rows"),
        ("nodes", "name,x\nann,1\n", r"nodes.csv: expected the column id, got name, x"),
        ("nodes", "id,x,x\nann,1,2\n", r"nodes.csv: the column 'x' is there twice"),
        ("nodes", "id,x\nann,1,9\n", r"nodes.csv: not a readable table .*Expected 2 columns, got 3"),
        ("nodes", f"id,x\nann,{'1' * 500},9\n", r"nodes.csv: not a readable table .*1{90} \.\.\.\); repair"),
    ],
)
def test_bad_tables_get_one_sentence_that_names_the_file_and_the_row(folder, file, text, sentence):
    (folder / f"{file}.csv").write_text(text)
    with pytest.raises(InvalidInput, match=sentence) as caught:
        load_graph(folder)
    assert "\n" not in str(caught.value)


def test_a_truncated_parquet_file_is_one_sentence(folder):
    pq.write_table(pa.table({"id": ["ann"], "x": [1.0]}), folder / "whole.parquet")
    (folder / "cut.parquet").write_bytes((folder / "whole.parquet").read_bytes()[:-8])
    with pytest.raises(InvalidInput, match=r"cut.parquet: not a readable table"):
        read_tables(folder / "cut.parquet", folder / "edges.csv")


def test_text_that_is_no_text_is_one_sentence(folder):
    (folder / "nodes.csv").write_bytes(b"id,x\n\xff\xfe,1\n")
    with pytest.raises(InvalidInput, match=r"nodes.csv: not a readable table"):
        load_graph(folder)


@pytest.mark.parametrize(
    "ids",
    [pa.array([True, False]), pa.array([[1], [2]]), pa.array([2**63, 1], pa.uint64())],
    ids=["bool", "list", "huge"],
)
def test_ids_of_a_kind_nobody_expects_are_one_sentence(tmp_path, ids):
    pq.write_table(pa.table({"id": ids, "x": [1.0, 2.0]}), tmp_path / "nodes.parquet")
    pq.write_table(pa.table({"source": ["1"], "target": ["2"]}), tmp_path / "edges.parquet")
    with pytest.raises(InvalidInput, match="nodes.parquet|edges.parquet"):
        load_graph(tmp_path)


def test_an_edge_between_numbers_and_words_is_named(tmp_path):
    (tmp_path / "nodes.csv").write_text("id,x\n1,1\n2,2\n")
    (tmp_path / "edges.csv").write_text("source,target\n1,2\n1,two\n")
    with pytest.raises(InvalidInput, match="row 2: the target 'two' is no id"):
        load_graph(tmp_path)


def test_a_folder_without_tables_says_what_it_looked_for(tmp_path):
    with pytest.raises(InvalidInput, match=r"expected one of nodes.parquet, nodes.csv, nodes.csv.gz .* got none"):
        load_graph(tmp_path)


def test_a_table_of_another_kind_is_refused(folder):
    (folder / "nodes.xlsx").write_text("x")
    with pytest.raises(InvalidInput, match=r"nodes.xlsx: expected a table ending in"):
        read_tables(folder / "nodes.xlsx", folder / "edges.csv")
