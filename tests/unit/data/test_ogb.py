"""ogbn-arxiv, on small files in the published format."""

import gzip

import numpy as np
import pytest
from small_published import arxiv_archive, arxiv_files

from gvdn.data import load_graph
from gvdn.data.archives import unpack
from gvdn.data.ogb import CLASSES, FILES, read_ogb
from gvdn.errors import InvalidInput
from gvdn.graph import choose_split, published_split, temporal_split


@pytest.fixture
def published(tmp_path):
    folder = tmp_path / "ogbn_arxiv"
    for name, content in arxiv_files().items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


def test_links_rows_classes_and_years_are_read(published):
    graph = read_ogb(published)
    assert graph.edges.tolist() == [[0, 1], [0, 2], [2, 4]]
    assert graph.labels.tolist() == [1, 0, 2, 2, 0]
    assert graph.class_names == ("arxiv cs na", "arxiv cs mm", "arxiv cs lo")
    expected = np.array([[0.5, -1.25], [1e-3, 0], [-0.058943, 2], [0, 0], [1, 2]], dtype=np.float32)
    np.testing.assert_array_equal(graph.features, expected)
    assert graph.published.times.tolist() == [2017, 2016, 2018, 2019, 2020]
    assert graph.dropped.loops == 1


def test_the_split_by_time_that_was_published_is_the_usual_one(published):
    graph = read_ogb(published)
    for seed in (0, 7):
        split = choose_split(graph, seed=seed)
        assert [part.tolist() for part in (split.train, split.val, split.test)] == [[0, 1], [2], [3, 4]]
    older = temporal_split(graph, train=0.2, val=0.2)
    assert [part.tolist() for part in (older.train, older.val, older.test)] == [[1], [0], [2, 3, 4]]


def test_the_published_split_holds_in_a_subgraph_in_any_order(published):
    split = published_split(read_ogb(published).subgraph([4, 2, 0]), seed=0)
    assert [part.tolist() for part in (split.train, split.val, split.test)] == [[2], [1], [0]]


def test_it_is_found_by_name_as_the_library_of_its_authors_unpacks_it_or_as_their_archive(published, monkeypatch):
    monkeypatch.setenv("GVDN_DATA", str(published.parent))
    unpacked = load_graph("ogbn-arxiv")
    assert (unpacked.name, unpacked.num_nodes) == ("ogbn-arxiv", 5)
    folder = published.parent / "archives"
    folder.mkdir()
    (folder / "arxiv.zip").write_bytes(arxiv_archive())
    monkeypatch.setenv("GVDN_DATA", str(folder))
    assert load_graph("ogbn-arxiv").hash == unpacked.hash


def test_the_names_of_the_classes_may_be_missing(published):
    (published / CLASSES).unlink()
    assert read_ogb(published).class_names == ("0", "1", "2")


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("raw/edge.csv.gz", "0,1\n1\n", "edge.csv.gz: expected a table of int64, got another .*; get it again"),
        ("raw/edge.csv.gz", "0,1,2\n", "edge.csv.gz: expected two columns, got 1 rows of 3"),
        ("raw/edge.csv.gz", "0,9\n", "edge 0 joins positions .0, 9., but there are 5 nodes; get the files again"),
        ("raw/edge.csv.gz", "0,-1\n", "edge 0 joins positions .0, -1."),
        ("raw/edge.csv.gz", "0,\n", "expected a number in every field, got 1 empty ones"),
        ("raw/edge.csv.gz", "source,target\n0,1\n", "edge.csv.gz: expected a table of int64"),
        ("raw/edge.csv.gz", "", "edge.csv.gz: the file is empty; get it again"),
        ("raw/node-feat.csv.gz", "1,2\n3,a\n", "node-feat.csv.gz: expected a table of float"),
        ("raw/node-feat.csv.gz", "1\n2\n", "expected one number for each of the 2 nodes, got 5 rows of 1"),
        ("raw/node-feat.csv.gz", "1\n2\ninf\n4\n5\n", "ogbn_arxiv: .*finite.*get the files again"),
        ("raw/node-feat.csv.gz", "1\n2\nnan\n4\n5\n", "expected a number in every field, got 1 empty ones"),
        ("raw/node-label.csv.gz", "1\n0\n2\n2\n", "node-label.csv.gz: expected one number for each of the 5 nodes"),
        ("raw/node-label.csv.gz", "1\n0\n2\n2\n-7\n", "ogbn_arxiv: .*-7.*get the files again"),
        ("raw/node_year.csv.gz", "1\n0\n2\n2\n1.5\n", "node_year.csv.gz: expected a table of int64"),
        ("split/time/train.csv.gz", "0\n5\n", "train.csv.gz: expected one column of nodes below 5, got 5"),
        ("split/time/valid.csv.gz", "0\n", "valid.csv.gz: expected disjoint parts, got node 0 in two"),
        ("split/time/test.csv.gz", "3,4\n", "test.csv.gz: expected one column of nodes below 5, got 1 rows of 2"),
        (CLASSES, "idx,name\n0,a\n2,b\n1,c\n", "expected a header, and the number and the name of each of the 3"),
        (CLASSES, "idx,name\n0,a\n1,a\n2,c\n", "expected class names to differ"),
    ],
)
def test_a_broken_file_is_named_in_one_sentence(published, name, text, sentence):
    (published / name).write_bytes(gzip.compress(text.encode()))
    with pytest.raises(InvalidInput, match=sentence):
        read_ogb(published)


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_cut_off_or_missing_is_named(published, name):
    whole = (published / name).read_bytes()
    (published / name).write_bytes(whole[:-9])
    with pytest.raises(InvalidInput, match=f"{name}: not a whole gzip file"):
        read_ogb(published)
    (published / name).unlink()
    with pytest.raises(InvalidInput, match=f"there is no file .*{name}; get it again"):
        read_ogb(published)


def test_a_file_that_unpacks_to_more_than_the_limit_is_not_read(published, monkeypatch):
    monkeypatch.setenv("GVDN_MAX_BYTES", "1000")
    (published / "raw/node-feat.csv.gz").write_bytes(gzip.compress(b"1,2\n" * 1000))
    with pytest.raises(InvalidInput, match="expected at most 1,000 bytes, got 4,000; if you trust the file"):
        read_ogb(published)
    lying = gzip.compress(b"1,2\n" * 1000)[:-4] + (12).to_bytes(4, "little")
    (published / "raw/node-feat.csv.gz").write_bytes(lying)
    with pytest.raises(InvalidInput, match="expected at most 1,000 bytes, got 1,001; if you trust the file"):
        read_ogb(published)


def test_of_an_archive_only_the_named_files_are_written(tmp_path):
    (tmp_path / "arxiv.zip").write_bytes(arxiv_archive(**{"../escaped": b"x", "arxiv/processed/data.pt": b"x"}))
    unpack(tmp_path / "arxiv.zip", "arxiv", FILES, (CLASSES,), tmp_path / "out")
    assert not (tmp_path.parent / "escaped").exists()
    found = {str(path.relative_to(tmp_path / "out")) for path in (tmp_path / "out").rglob("*.*")}
    assert found == {*FILES, CLASSES}


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"nonsense", "arxiv.zip: not a whole zip archive"),
        (arxiv_archive()[:-50], "arxiv.zip: not a whole zip archive"),
        (arxiv_archive().replace(b"edge.csv", b"edgf.csv"), "expected arxiv/raw/edge.csv.gz in the archive, got none"),
    ],
)
def test_a_broken_archive_is_named(tmp_path, content, sentence):
    (tmp_path / "arxiv.zip").write_bytes(content)
    with pytest.raises(InvalidInput, match=sentence):
        unpack(tmp_path / "arxiv.zip", "arxiv", FILES, (), tmp_path / "out")


def test_an_archive_that_declares_more_than_the_limit_is_not_unpacked(tmp_path, monkeypatch):
    (tmp_path / "arxiv.zip").write_bytes(arxiv_archive())
    monkeypatch.setenv("GVDN_MAX_BYTES", "300")
    with pytest.raises(InvalidInput, match="expected at most 300 bytes"):
        unpack(tmp_path / "arxiv.zip", "arxiv", FILES, (), tmp_path / "out")
