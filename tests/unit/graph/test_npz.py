import numpy as np
import pytest

from gvdn.errors import InvalidInput
from gvdn.graph import read_npz, write_npz


def test_a_graph_comes_back_whole(ring, barbell, tmp_path):
    for graph in (ring, barbell):
        write_npz(graph, tmp_path / "graph.npz")
        back = read_npz(tmp_path / "graph.npz")
        assert (back.hash, back.name, back.class_names) == (graph.hash, graph.name, graph.class_names)


def test_a_failed_save_leaves_nothing_behind(ring, tmp_path, monkeypatch):
    def fail(*_args, **_kwargs):
        raise OSError("disk full")

    monkeypatch.setattr(np, "savez_compressed", fail)
    with pytest.raises(OSError, match="disk full"):
        write_npz(ring, tmp_path / "graph.npz")
    assert list(tmp_path.iterdir()) == []


def test_wrong_keys_are_listed(tmp_path):
    np.savez(tmp_path / "wrong.npz", adj_indptr=np.zeros(2), y=np.zeros(1))
    with pytest.raises(
        InvalidInput, match=r"wrong.npz: expected the keys adj_indptr, adj_indices, y .* got adj_indptr, y"
    ):
        read_npz(tmp_path / "wrong.npz")


def test_a_truncated_file_is_one_sentence(ring, tmp_path):
    write_npz(ring, tmp_path / "graph.npz")
    whole = (tmp_path / "graph.npz").read_bytes()
    for length in (0, 10, len(whole) // 2, len(whole) - 30):
        (tmp_path / "cut.npz").write_bytes(whole[:length])
        with pytest.raises(InvalidInput, match=r"cut.npz: not "):
            read_npz(tmp_path / "cut.npz")


def test_a_pickle_is_refused(tmp_path):
    np.savez(tmp_path / "evil.npz", y=np.array([{"a": 1}], dtype=object))
    with pytest.raises(InvalidInput, match="pickled content is never read"):
        read_npz(tmp_path / "evil.npz")


def test_indices_beyond_the_nodes_are_refused(tmp_path):
    np.savez(tmp_path / "far.npz", adj_indptr=np.array([0, 1, 2]), adj_indices=np.array([1, 9]), y=np.zeros(2, int))
    with pytest.raises(InvalidInput, match="far.npz"):
        read_npz(tmp_path / "far.npz")


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"y": np.array([0.5, 1.0])}, "expected 2 whole numbers as labels"),
        ({"adj_indices": np.array([1.0, 0.0])}, "expected whole numbers as columns of the adjacency matrix"),
        ({"class_names": np.array("a")}, "odd.npz"),
        ({"x_indptr": np.array([0, 0, 0])}, "odd.npz"),
        ({"y": np.array([0, 10**12])}, "expected class numbers below the number of nodes"),
    ],
)
def test_arrays_of_another_kind_are_one_sentence(tmp_path, change, sentence):
    good = {"adj_indptr": np.array([0, 1, 2]), "adj_indices": np.array([1, 0]), "y": np.array([0, 1])}
    np.savez(tmp_path / "odd.npz", **(good | change))
    with pytest.raises(InvalidInput, match=sentence):
        read_npz(tmp_path / "odd.npz")


def test_a_missing_file_is_said_so(tmp_path):
    with pytest.raises(InvalidInput, match="there is no file"):
        read_npz(tmp_path / "none.npz")


def test_a_file_that_holds_more_than_is_allowed_is_not_read(tmp_path, monkeypatch):
    np.savez_compressed(tmp_path / "bomb.npz", nobody_reads_this=np.zeros(1 << 20))
    monkeypatch.setenv("GVDN_MAX_BYTES", "1000000")
    with pytest.raises(InvalidInput, match="expected at most 1,000,000 bytes, got 8,3.*GVDN_MAX_BYTES"):
        read_npz(tmp_path / "bomb.npz")


@pytest.mark.parametrize("part", ["adj_indptr", "x_indptr"])
def test_row_starts_of_a_hostile_file_never_reach_native_code(tmp_path, part):
    empty, three = np.array([], dtype=np.int32), np.zeros(4, dtype=np.int32)
    arrays = {"adj_indptr": three, "adj_indices": empty, "y": np.zeros(3, dtype=int)}
    arrays |= {"x_indptr": three, "x_indices": empty, "x_data": empty.astype(np.float32), "x_shape": np.array([3, 2])}
    np.savez(tmp_path / "hostile.npz", **(arrays | {part: np.array([0, 9, 9, 0], dtype=np.int32)}))
    with pytest.raises(InvalidInput, match="expected row starts"):
        read_npz(tmp_path / "hostile.npz")
