"""A graph is divided into parts on the disk, and nothing of it is lost."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from commands import run_inside, write_accounts, write_folders_of_parquet
from conftest import make_graph

from gvdn.data import load_graph
from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.methods.gvdn import GVDN
from gvdn.parts import prepare, rows
from gvdn.parts.assign import assigned, chosen_partitioner, streamed
from gvdn.parts.group import Alone
from gvdn.parts.manifest import read_manifest, require_files, sha256
from gvdn.parts.part import Part, read_part
from gvdn.parts.partition import partition
from gvdn.parts.rows import MemoryRows, sorted_rows
from gvdn.parts.source import GraphSource, TableSource, source_of


def joined(parts: list[Part]) -> tuple[list, sp.csr_array, np.ndarray, np.ndarray]:
    """The whole graph of its parts, in the order of the parts: an independent way back."""
    offsets = np.concatenate([[0], np.cumsum([part.nodes for part in parts])])
    where, columns, values = [], [], []
    for part in parts:
        column = np.arange(part.links.shape[1]) + offsets[part.number]
        for other, piece in part.halo.items():
            column[piece] = offsets[other] + parts[other].borders[part.number]
        entries = part.links.tocoo()
        where.append(entries.row + offsets[part.number])
        columns.append(column[entries.col])
        values.append(entries.data)
    size = int(offsets[-1])
    cells = (np.concatenate(values), (np.concatenate(where), np.concatenate(columns)))
    features = [part.features.toarray() if sp.issparse(part.features) else part.features for part in parts]
    ids = [node for part in parts for node in part.ids.tolist()]
    return ids, sp.csr_array(cells, shape=(size, size)), np.concatenate(features), np.concatenate(
        [part.labels for part in parts]
    )  # fmt: skip


def require_same(graph: Graph, parts: list[Part]) -> None:
    ids, adjacency, features, labels = joined(parts)
    order = graph.locate(np.array(ids))
    assert sorted(order.tolist()) == list(range(graph.num_nodes))
    assert (abs(graph.adjacency[order][:, order] - adjacency)).nnz == 0
    np.testing.assert_allclose(graph.dense_features()[order], features, rtol=1e-6, atol=1e-7)
    assert (graph.labels[order] == labels).all()


@pytest.fixture(params=["ring", "isolated", "star", "barbell"])
def any_graph(request) -> Graph:
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("number", [1, 3])
def test_the_parts_of_a_graph_are_the_graph(any_graph, number, tmp_path):
    made = partition(GraphSource(any_graph), tmp_path / "parts", number, partitioner="stream")
    require_files(made)
    require_same(any_graph, [read_part(made, part) for part in range(number)])


def test_the_report_counts_what_is_in_the_files(ring, tmp_path):
    made = partition(GraphSource(ring), tmp_path / "parts", 4, partitioner="stream")
    parts = [read_part(made, number) for number in range(4)]
    assert [(share.nodes, share.links, share.halo) for share in made.shares] == [
        (part.nodes, part.links.nnz, part.halo_size) for part in parts
    ]
    crossing = sum(int((part.links.indices >= part.nodes).sum()) for part in parts)
    assert made.cut == crossing // 2
    assert made.edges == ring.num_edges
    assert made.report()["cut_share"] == round(made.cut / made.edges, 4)


@pytest.mark.parametrize("partitioner", ["stream", "metis"])
def test_two_cliques_are_kept_together_and_the_parts_are_balanced(partitioner):
    if partitioner == "metis":
        pytest.importorskip("pymetis")
    sides = np.repeat([0, 1, 2, 3], 40)
    edges = [(a, b) for a in range(160) for b in range(a) if sides[a] == sides[b] and (a + b) % 3 == 0]
    shuffled = np.random.default_rng(0).permutation(160)
    graph = make_graph([(int(shuffled[a]), int(shuffled[b])) for a, b in edges], 160)
    part = assigned(MemoryRows(graph.adjacency), 4, partitioner)
    assert np.bincount(part, minlength=4).max() <= 42
    assert (part[graph.edges[:, 0]] != part[graph.edges[:, 1]]).mean() < 0.3  # three quarters, if it were at random


def test_no_part_is_empty_and_too_many_parts_are_refused(isolated):
    part = assigned(MemoryRows(isolated.adjacency), 14, "stream")
    assert sorted(part.tolist()) == list(range(14))
    with pytest.raises(InvalidInput, match="expected from 1 to 14 parts, .* got 15"):
        assigned(MemoryRows(isolated.adjacency), 15, "stream")


def test_nodes_that_were_placed_before_stay_and_new_ones_go_to_their_neighbours(barbell):
    placed = np.repeat([1, 0], 10)
    placed[[3, 17]] = -1
    assert streamed(MemoryRows(barbell.adjacency), 2, placed).tolist() == [1] * 10 + [0] * 10


def test_links_are_merged_on_the_disk_as_in_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(rows, "BUCKET", 4)
    rng = np.random.default_rng(1)
    for case, weights in enumerate([None, rng.random(200) + 0.5, np.full(200, 2.0)]):
        pairs = rng.integers(0, 13, (200, 2))
        if case == 2:  # an undirected graph written twice: its weights count once
            pairs = np.unique(np.sort(pairs[pairs[:, 0] != pairs[:, 1]], axis=1), axis=0)
            pairs = np.concatenate([pairs, pairs[:, ::-1]])
            weights = np.full(len(pairs), 2.0)
        wanted = Graph.from_edges(pairs, np.ones((13, 1)), weights=weights)
        folder = tmp_path / str(case)
        folder.mkdir()
        pieces = [(pairs[:90], None if weights is None else weights[:90])]
        pieces += [(pairs[90:], None if weights is None else weights[90:])]
        found = sorted_rows(iter(pieces), 13, folder)
        assert found.entries == wanted.adjacency.nnz
        assert abs(rows.whole_matrix(found) - wanted.adjacency).max() < 1e-6


@pytest.mark.parametrize("form", ["csv", "parquet", "folders"])
def test_tables_that_are_streamed_give_what_loading_them_gives(form, tmp_path, monkeypatch):
    from pyarrow import csv as pacsv

    monkeypatch.setattr("gvdn.parts.source.NODES_AT_A_TIME", 7)
    monkeypatch.setattr("gvdn.parts.source.LINKS_AT_A_TIME", 11)
    write_accounts(tmp_path)
    if form == "parquet":
        for name in ("nodes", "edges"):
            pq.write_table(pacsv.read_csv(tmp_path / f"{name}.csv"), tmp_path / f"{name}.parquet")
            (tmp_path / f"{name}.csv").unlink()
    if form == "folders":
        write_folders_of_parquet(tmp_path, tmp_path / "many")
    source = source_of(str(tmp_path / "many" if form == "folders" else tmp_path))
    assert isinstance(source, TableSource)
    made = partition(source, tmp_path / "parts", 3, partitioner="stream")
    graph = load_graph(tmp_path)
    require_same(graph, [read_part(made, number) for number in range(3)])
    assert made.class_names == graph.class_names
    assert made.feature_names == graph.feature_names
    assert made.columns is not None
    assert made.columns.encodes_as(graph.columns)


def test_a_bad_row_is_named_with_the_piece_it_is_in(tmp_path, monkeypatch):
    write_accounts(tmp_path)
    with (tmp_path / "edges.csv").open("a") as edges:
        edges.write("acc-01,nobody,1,transfer\n")
    with pytest.raises(InvalidInput, match="row 121: the target 'nobody' is no id of the node table"):
        partition(source_of(str(tmp_path)), tmp_path / "parts", 2)
    assert not (tmp_path / "parts").exists()


def damaged(how: str, made, other) -> None:
    path = made.path("links", 1)
    if how == "missing":
        path.unlink()
    elif how == "truncated":
        path.write_bytes(path.read_bytes()[:-40])
    elif how == "flipped":
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(bytes(content))
    else:
        path.write_bytes(other.path("links", 1).read_bytes())


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("missing", "the file is missing"),
        ("truncated", "the file is truncated"),
        ("flipped", "the file is damaged, or of another partition"),
        ("foreign", "the file is "),
    ],
)
def test_a_file_that_is_missing_truncated_or_foreign_is_named(how, said, ring, star, tmp_path):
    made = partition(GraphSource(ring), tmp_path / "parts", 3, partitioner="stream")
    other = partition(GraphSource(star), tmp_path / "other", 3, partitioner="stream")
    damaged(how, made, other)
    with pytest.raises(InvalidInput, match=rf"links/part=1/links.parquet: .*{said}"):
        require_files(made)


def test_a_manifest_that_lacks_a_part_is_refused(ring, tmp_path):
    made = partition(GraphSource(ring), tmp_path / "parts", 3, partitioner="stream")
    path = made.folder / "manifest.json"
    content = json.loads(path.read_text())
    del content["shares"][1]
    path.write_text(json.dumps(content))
    with pytest.raises(InvalidInput, match="expected the nodes and links of 2 parts"):
        read_manifest(made.folder)


def test_an_unknown_partitioner_is_refused():
    with pytest.raises(InvalidInput, match="expected one of auto, metis, stream as partitioner, got 'kmeans'"):
        chosen_partitioner("kmeans")


def test_a_later_graph_is_divided_like_an_earlier_one_from_the_command_line(tmp_path):
    write_accounts(tmp_path)
    done = run_inside(tmp_path, "partition", ".", "-o", "parts", "--parts", "3", "--partitioner", "stream", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["parts"] == 3
    with (tmp_path / "nodes.csv").open("a") as nodes:
        nodes.write("new-1,,9,33,Rome,2025-02-03,yes,hello\n")
    again = run_inside(tmp_path, "partition", ".", "-o", "later", "--like", "parts")
    assert again.returncode == 0, again.stderr
    assert "61 nodes" in again.stdout
    assert "written: later" in again.stdout
    before, after = (read_manifest(tmp_path / name) for name in ("parts", "later"))
    mine = [[set(read_part(one, number).ids.tolist()) for number in range(3)] for one in (before, after)]
    assert all(old <= new for old, new in zip(*mine, strict=True))
    assert run_inside(tmp_path, "partition", ".", "-o", "x", "--like", "parts", "--parts", "2").returncode == 2


def rewritten(made, kind: str, number: int, change) -> None:
    """Change a table of a part, and the checksum with it: as somebody would who wants to do harm."""
    path = made.path(kind, number)
    table = change(pq.read_table(path))
    pq.write_table(table, path)
    content = json.loads((made.folder / "manifest.json").read_text())
    content["files"][f"{kind}/part={number}/{kind}.parquet"] = [sha256(path), path.stat().st_size]
    (made.folder / "manifest.json").write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("kind", "name", "value", "said"),
    [
        ("links", "target", 1000, "got one to a node that is not there"),
        ("links", "part", 7, "got one to a node that is not there"),
        ("links", "source", -1, "expected links of nodes 0 to"),
        ("links", "weight", 0.0, "expected positive weights"),
        ("nodes", "label", 9, "expected labels from -1 to 2"),
    ],
)
def test_what_is_in_a_part_is_checked_also_where_the_checksum_is_right(kind, name, value, said, ring, tmp_path):
    made = partition(GraphSource(ring), tmp_path / "parts", 3, partitioner="stream")
    rewritten(made, kind, 1, lambda table: column_at(table, name, table.num_rows // 2, value))
    again = read_manifest(made.folder)
    require_files(again)
    with pytest.raises(InvalidInput, match=said):
        read_part(again, 1)


def test_links_that_are_not_there_from_both_sides_are_refused(ring, tmp_path):
    made = partition(GraphSource(ring), tmp_path / "parts", 3, partitioner="stream")
    own = read_part(made, 0).borders
    other = next(iter(own))

    def cut(table):
        first = np.flatnonzero(table["part"].to_numpy() == other)[0]
        return column_at(table, "part", int(first), 0)

    rewritten(made, "links", 0, cut)
    with pytest.raises(InvalidInput, match="the links of part . to part . are not those back"):
        prepare.sites(read_manifest(made.folder), GVDN(hidden=2), Alone())


def column_at(table, name, row, value):
    changed = table[name].to_numpy().copy()
    changed[row] = value
    number = table.column_names.index(name)
    return table.set_column(number, table.schema.field(name), pa.array(changed, table.schema.field(name).type))
