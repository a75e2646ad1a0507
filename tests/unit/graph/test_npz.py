import io
import struct
import zipfile

import numpy as np
import pytest

from gvdn.errors import InvalidInput
from gvdn.graph import read_npz, write_npz
from gvdn.graph.npz import read_array, read_arrays


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


FEATURES = {
    "x_indptr": np.array([0, 1, 2]),
    "x_indices": np.array([0, 1]),
    "x_data": np.ones(2),
    "x_shape": np.array([2, 2]),
}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"x_indices": np.array([2**32, 1])}, "expected columns of the features from 0 to 1, got 4294967296"),
        ({"x_indices": np.array([0.0, 0.5])}, "expected whole numbers as columns of the features, got float64"),
        ({"y": np.array([0, 2**64 - 1], dtype=np.uint64)}, "expected labels below"),
        ({"feature_names": np.array(["a", "a"])}, "expected feature names to differ, got 'a' twice; rename one"),
        ({"class_names": np.array(["a", "a"])}, "expected class names to differ, got 'a' twice; rename one"),
        ({"class_names": np.array([3, 4])}, "expected class_names as text, got int64"),
        ({"feature_names": np.array([0.5, 1.5])}, "expected feature_names as text, got float64"),
        ({"class_names": np.array([["a", "b"]])}, "expected class_names as text, got <U1 of shape"),
        ({"name": np.array(7)}, "expected name as text, got int64"),
        ({"name": np.array("a\ud800")}, "expected the name of whole characters"),
        ({"class_names": np.array(["a", "\ud800"])}, r"expected class names of whole characters, got '.ud800'"),
        ({"ids": np.array(["a", "\udfff"])}, r"expected ids of whole characters, got '.udfff'"),
        ({"x_shape": np.array([2, 2, 2])}, "expected two numbers as shape of the features, got 3"),
        ({"x_shape": np.array([2, 10**15])}, "expected shape of the features from 0 to 2147483648, got 10000"),
        ({"x_data": np.array([1e39, 1])}, "expected finite features, got NaN or infinity on node 0"),
        ({"x": np.array([[1.0], [-1e300]])}, "expected finite features, got NaN or infinity on node 1"),
    ],
)
def test_nothing_is_read_as_something_else(tmp_path, change, sentence):
    good = {"adj_indptr": np.array([0, 1, 2]), "adj_indices": np.array([1, 0]), "y": np.array([0, 1])} | FEATURES
    np.savez(tmp_path / "odd.npz", **(good | change))
    with pytest.raises(InvalidInput, match=rf"odd.npz: {sentence}.*; see gvdn.graph.npz for the layout"):
        read_npz(tmp_path / "odd.npz")


def npy(header: str, data: bytes = b"") -> bytes:
    """The bytes of an npy file with this header."""
    text = header.encode().ljust(118) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + data


HEADER = "{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}"


@pytest.mark.parametrize(
    "member",
    [
        npy(HEADER.format("<f4", (400_000_000, 2))),
        npy(HEADER.format("<f4", (10**15,))),
        npy(HEADER.format("|b1", (400_000_000,))),
        npy(HEADER.format("<U1000000000", (4,))),
        npy(HEADER.format("<i4", (-1,))),
        npy("(" * 300),
        npy(HEADER.format("<i4", 4)),
        npy(""),
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff",
        b"",
        b"\x80\x04N.",
    ],
    ids=["3 GiB", "10^15", "bits", "text", "negative", "nested", "no shape", "empty", "long header", "none", "pickle"],
)
def test_an_array_is_refused_by_its_header_before_there_is_room_for_it(tmp_path, member):
    (tmp_path / "a.npy").write_bytes(member)
    with pytest.raises(InvalidInput, match=r"a.npy: not a whole npy file of plain arrays"):
        read_array(tmp_path / "a.npy")
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as archive:
        archive.writestr("x.npy", member)
    with pytest.raises(InvalidInput, match=r"a.npz: not a whole npz file of plain arrays"):
        read_arrays(tmp_path / "a.npz")


def test_a_plain_array_comes_back(tmp_path):
    np.save(tmp_path / "a.npy", np.arange(6).reshape(2, 3))
    assert read_array(tmp_path / "a.npy").tolist() == [[0, 1, 2], [3, 4, 5]]


@pytest.mark.parametrize("target", ["/dev/zero", "."])
def test_what_is_no_regular_file_is_not_read(tmp_path, target):
    (tmp_path / "a.npz").symlink_to(target)
    with pytest.raises(InvalidInput, match=r"a.npz: not a whole npz file of plain arrays \(it is no regular file\)"):
        read_npz(tmp_path / "a.npz")


@pytest.mark.parametrize(("place", "value"), [(6, b"\x01"), (8, b"\x63")], ids=["encrypted", "unknown method"])
def test_an_odd_archive_is_one_sentence(tmp_path, place, value):
    file = io.BytesIO()
    np.savez(file, y=np.arange(3))
    content = bytearray(file.getvalue())
    for mark, shift in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):
        at = content.find(mark) + place + shift
        content[at : at + 1] = value
    (tmp_path / "odd.npz").write_bytes(content)
    with pytest.raises(InvalidInput, match="odd.npz: not a whole npz file"):
        read_npz(tmp_path / "odd.npz")


def test_an_archive_behind_other_bytes_is_refused(ring, tmp_path):
    write_npz(ring, tmp_path / "graph.npz")
    (tmp_path / "graph.npz").write_bytes(b"seven b" + (tmp_path / "graph.npz").read_bytes())
    with pytest.raises(InvalidInput, match="expected an npz file, got something that holds one"):
        read_npz(tmp_path / "graph.npz")


def test_text_of_numbers_that_are_no_characters_is_refused(ring, tmp_path):
    write_npz(ring, tmp_path / "graph.npz")
    with np.load(tmp_path / "graph.npz") as file:
        arrays = dict(file)
    arrays["class_names"] = np.array([0x41, 0x110000, 0x42], dtype=np.uint32).view("U1")
    np.savez(tmp_path / "graph.npz", **arrays)
    with pytest.raises(InvalidInput, match="expected text in class_names, got numbers that are no characters"):
        read_npz(tmp_path / "graph.npz")
