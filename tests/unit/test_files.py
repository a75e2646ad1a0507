import pytest

from gvdn.errors import InvalidInput
from gvdn.files import whole_file, whole_folder


def test_a_failed_file_leaves_the_old_one(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with pytest.raises(RuntimeError), whole_file(target) as draft:
        draft.write_text("half")
        raise RuntimeError
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]
    assert target.read_text() == "old"


def test_a_failed_folder_leaves_nothing(tmp_path):
    with pytest.raises(KeyboardInterrupt), whole_folder(tmp_path / "out") as draft:
        (draft / "x").write_text("half")
        raise KeyboardInterrupt
    assert list(tmp_path.iterdir()) == []


def test_a_full_folder_is_replaced_only_by_force_and_only_if_it_is_ours(tmp_path):
    out = tmp_path / "out"
    out.mkdir()
    (out / "precious.txt").write_text("mine")
    with pytest.raises(InvalidInput, match="is not empty"), whole_folder(out):
        pass
    with pytest.raises(InvalidInput, match="was not written by gvdn"), whole_folder(out, force=True):
        pass
    assert (out / "precious.txt").read_text() == "mine"
    (out / "manifest.json").write_text("{}")
    with whole_folder(out, force=True) as draft:
        (draft / "new").write_text("new")
    assert [p.name for p in out.iterdir()] == ["new"]


def test_a_file_in_the_place_of_a_folder_is_refused(tmp_path):
    (tmp_path / "out").write_text("")
    with pytest.raises(InvalidInput, match="expected a folder to write into"), whole_folder(tmp_path / "out"):
        pass
