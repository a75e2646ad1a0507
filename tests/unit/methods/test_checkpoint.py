import hashlib
import json

import numpy as np
import pytest
from safetensors.numpy import load_file

from gvdn.errors import InvalidInput
from gvdn.methods.files import bytes_to_text, read_about, save_checkpoint, text_to_bytes

ARRAYS = {"weights": np.arange(6, dtype=np.float32).reshape(2, 3), "labels": np.array([0, 1, 2])}


@pytest.fixture
def folder(tmp_path):
    """A whole checkpoint."""
    save_checkpoint(tmp_path / "model", {"method": "toy"}, ARRAYS, force=False)
    return tmp_path / "model"


def refusal(folder) -> str:
    """The one sentence."""
    with pytest.raises(InvalidInput) as caught:
        read_about(folder)
    assert "\n" not in str(caught.value)
    assert str(folder) in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    "words",
    [["n1", "n22", "n333"], ["Zürich", "日本", "naïve café", "🦉"], ["", "a"], ["one"], ["with space ", " b"]],
)
def test_text_survives_as_bytes(words):
    packed = text_to_bytes(np.array(words))
    assert packed.dtype == np.uint8
    assert packed.shape[0] == len(words)
    assert bytes_to_text(packed).tolist() == words
    assert bytes_to_text(packed).dtype.kind == "U"


def test_no_text_at_all_survives_as_well():
    again = bytes_to_text(text_to_bytes(np.array([], dtype=np.str_)))
    assert again.tolist() == []
    assert again.dtype.kind == "U"


def test_what_is_saved_is_loaded(folder):
    about, arrays = read_about(folder), load_file(folder / "weights.safetensors")
    sha256 = hashlib.sha256((folder / "weights.safetensors").read_bytes()).hexdigest()
    files = {"weights.safetensors": sha256}
    assert about == {"format": "gvdn-model", "version": 3, "method": "toy", "files": files}
    assert {name: array.tolist() for name, array in arrays.items()} == {
        "weights": [[0, 1, 2], [3, 4, 5]],
        "labels": [0, 1, 2],
    }
    assert arrays["weights"].dtype == np.float32
    assert arrays["labels"].dtype == np.int64


def test_a_transposed_array_is_saved_as_it_reads(tmp_path):
    save_checkpoint(tmp_path / "model", {}, {"turned": np.arange(6).reshape(2, 3).T}, force=False)
    assert load_file(tmp_path / "model" / "weights.safetensors")["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_a_checkpoint_is_two_files_and_neither_is_a_pickle(folder):
    assert sorted(path.name for path in folder.iterdir()) == ["model.json", "weights.safetensors"]
    json.loads((folder / "model.json").read_text())


def test_an_existing_model_is_only_replaced_by_force(folder):
    with pytest.raises(InvalidInput, match="is not empty"):
        save_checkpoint(folder, {}, ARRAYS, force=False)
    assert read_about(folder)["method"] == "toy"
    save_checkpoint(folder, {"method": "other"}, ARRAYS, force=True)
    assert read_about(folder)["method"] == "other"


def test_a_failed_save_leaves_nothing_behind(tmp_path):
    with pytest.raises(TypeError):
        save_checkpoint(tmp_path / "model", {"what": object()}, ARRAYS, force=False)
    assert list(tmp_path.iterdir()) == []


def test_a_missing_folder_is_named(tmp_path):
    assert "there is no model in" in refusal(tmp_path / "nowhere")


@pytest.mark.parametrize("text", ["", "{", '{"format": "gvdn-mo', "\xff"])
def test_truncated_json_is_named(folder, text):
    (folder / "model.json").write_bytes(text.encode("latin-1"))
    assert "model.json: not whole JSON" in refusal(folder)


@pytest.mark.parametrize("content", [{"format": "pickle"}, {}, [1, 2], "gvdn-model", None])
def test_a_foreign_format_is_named(folder, content):
    (folder / "model.json").write_text(json.dumps(content))
    assert "expected a model of the format gvdn-model" in refusal(folder)


@pytest.mark.parametrize(
    ("version", "way_out"),
    [
        (1, "expected model version 3, got 1; it has no checksums: train the model again"),
        (2, "expected model version 3, got 2; it is of an earlier gvdn, before there was a trust model"),
        (4, "expected model version 3, got 4; a newer gvdn wrote it: update gvdn"),
        (None, "expected model version 3, got None"),
    ],
)
def test_another_version_says_what_to_do(folder, version, way_out):
    about = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(about | {"version": version}))
    assert way_out in refusal(folder)


@pytest.mark.parametrize("length", [0, 5, 60, -4])
def test_truncated_weights_are_named(folder, length):
    weights = folder / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:length])
    assert "weights.safetensors: the file is damaged, or of another model" in refusal(folder)


@pytest.mark.parametrize("bit", [0, 700, -1])
def test_one_flipped_bit_of_the_weights_is_noticed(folder, bit):
    weights = folder / "weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    weights.write_bytes(content)
    assert "weights.safetensors: the file is damaged, or of another model" in refusal(folder)


def test_missing_weights_are_named(folder):
    (folder / "weights.safetensors").unlink()
    assert "weights.safetensors: not a file of this model" in refusal(folder)


def test_weights_that_are_no_regular_file_are_not_opened(folder):
    (folder / "weights.safetensors").unlink()
    (folder / "weights.safetensors").symlink_to("/dev/zero")
    assert "weights.safetensors: not a file of this model (it is no regular file)" in refusal(folder)


@pytest.mark.parametrize("files", [None, {}, [], {"weights.safetensor": "0"}, {"weights.safetensors": None}, 3])
def test_a_model_without_the_checksum_of_its_weights_is_refused(folder, files):
    about = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(about | {"files": files}))
    assert "sha256" in refusal(folder)


@pytest.mark.parametrize("name", ["../model.json", "/etc/passwd", "model.json", "a/b", "..", "a\x00b", ""])
def test_a_checksum_is_only_taken_of_files_of_the_folder(folder, name):
    about = json.loads((folder / "model.json").read_text())
    about["files"][name] = "0"
    (folder / "model.json").write_text(json.dumps(about))
    refusal(folder)
