import json

import numpy as np
import pytest

from gvdn.errors import InvalidInput
from gvdn.methods.files import bytes_to_text, load_checkpoint, save_checkpoint, text_to_bytes

ARRAYS = {"weights": np.arange(6, dtype=np.float32).reshape(2, 3), "labels": np.array([0, 1, 2])}


@pytest.fixture
def folder(tmp_path):
    """A whole checkpoint."""
    save_checkpoint(tmp_path / "model", {"method": "toy", "arrays": sorted(ARRAYS)}, ARRAYS, force=False)
    return tmp_path / "model"


def refusal(folder) -> str:
    """The one sentence."""
    with pytest.raises(InvalidInput) as caught:
        load_checkpoint(folder)
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
    about, arrays = load_checkpoint(folder)
    assert about == {"format": "gvdn-model", "version": 1, "method": "toy", "arrays": ["labels", "weights"]}
    assert {name: array.tolist() for name, array in arrays.items()} == {
        "weights": [[0, 1, 2], [3, 4, 5]],
        "labels": [0, 1, 2],
    }
    assert arrays["weights"].dtype == np.float32
    assert arrays["labels"].dtype == np.int64


def test_a_transposed_array_is_saved_as_it_reads(tmp_path):
    save_checkpoint(tmp_path / "model", {}, {"turned": np.arange(6).reshape(2, 3).T}, force=False)
    assert load_checkpoint(tmp_path / "model")[1]["turned"].tolist() == [[0, 3], [1, 4], [2, 5]]


def test_a_checkpoint_is_two_files_and_neither_is_a_pickle(folder):
    assert sorted(path.name for path in folder.iterdir()) == ["model.json", "weights.safetensors"]
    json.loads((folder / "model.json").read_text())


def test_an_existing_model_is_only_replaced_by_force(folder):
    with pytest.raises(InvalidInput, match="is not empty"):
        save_checkpoint(folder, {}, ARRAYS, force=False)
    assert load_checkpoint(folder)[0]["method"] == "toy"
    save_checkpoint(folder, {"method": "other"}, ARRAYS, force=True)
    assert load_checkpoint(folder)[0]["method"] == "other"


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


def test_a_newer_version_says_what_to_do(folder):
    about = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(about | {"version": 2}))
    assert "expected model version 1, got 2; a newer gvdn wrote it: update gvdn" in refusal(folder)


@pytest.mark.parametrize("length", [0, 5, 60, -4])
def test_truncated_weights_are_named(folder, length):
    weights = folder / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:length])
    assert "weights.safetensors: not a whole safetensors file" in refusal(folder)


def test_missing_weights_are_named(folder):
    (folder / "weights.safetensors").unlink()
    assert "weights.safetensors: not a whole safetensors file" in refusal(folder)


def test_weights_of_another_model_are_named(folder):
    about = json.loads((folder / "model.json").read_text())
    (folder / "model.json").write_text(json.dumps(about | {"arrays": ["labels", "bias", "scale"]}))
    assert "the weights lack bias, scale; model.json belongs to another file" in refusal(folder)
