import dataclasses
import json

import numpy as np
import pytest

from gvdn.errors import InvalidInput
from gvdn.perturbations import load_receipt, perturb, replay, save_receipt


@pytest.fixture
def saved(ring, tmp_path):
    done = perturb(ring, "random-connections", np.arange(60), seed=3, rate=0.1)
    save_receipt(done.receipt, tmp_path)
    return done, tmp_path


def test_the_manifest_says_what_was_done(saved):
    manifest = json.loads((saved[1] / "manifest.json").read_text())
    assert manifest["kind"] == "random-connections"
    assert manifest["settings"] == {"rate": 0.1, "victim_fraction": 0.1, "constant_features": True}
    assert (manifest["seed"], manifest["victims"], manifest["edges_added"]) == (3, 6, 6)


def test_another_clean_graph_is_refused(saved, ring):
    receipt = load_receipt(saved[1])
    other = dataclasses.replace(ring, features=ring.features * 2)
    with pytest.raises(InvalidInput, match="expected the graph ring with hash .*, got ring with hash"):
        replay(other, receipt)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"format": "other"}, "expected a manifest of the format gvdn-perturbation"),
        ({"version": 9}, "expected manifest version 1 or 2, got 9; update gvdn"),
    ],
)
def test_a_foreign_or_newer_manifest_is_refused(saved, change, sentence):
    path = saved[1] / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InvalidInput, match=sentence):
        load_receipt(saved[1])


def test_a_truncated_receipt_is_one_sentence(saved):
    folder = saved[1]
    whole = (folder / "changes.npz").read_bytes()
    (folder / "changes.npz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InvalidInput, match="changes.npz: not a"):
        load_receipt(folder)
    (folder / "manifest.json").write_text('{"format": ')
    with pytest.raises(InvalidInput, match="not whole JSON"):
        load_receipt(folder)


def test_no_receipt_at_all_is_said(tmp_path):
    with pytest.raises(InvalidInput, match="there is no manifest"):
        load_receipt(tmp_path)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"settings": {"rate": [1]}}, r"expected a number, text, true or false as settings of the manifest\['rate'\]"),
        ({"settings": 3}, "expected a table as settings of the manifest, got 3"),
        ({"seed": 1.5}, "expected a whole number as seed of the manifest, got 1.5"),
        ({"kind": None}, "expected text as kind of the manifest, got None"),
        ({"victims": -1}, "expected victims of the manifest from 0 to inf, got -1"),
        ({"victim": 6}, "unknown key 'victim' in the manifest; did you mean 'victims'"),
        ({"victims": 7}, "the manifest counts other changes than changes.npz"),
        ({"edges_added": 0}, "the manifest counts other changes than changes.npz"),
    ],
)
def test_a_manifest_with_other_fields_is_refused(saved, change, sentence):
    path = saved[1] / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InvalidInput, match=sentence):
        load_receipt(saved[1])


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("victims", lambda rows: np.repeat(rows[:1], 6), "expected each of victims once"),
        ("perturbators", lambda rows: np.repeat(rows, 2), "expected each of perturbators once"),
        ("victims", lambda rows: rows - 2**40, "expected victims as whole numbers from 0 up"),
        ("victims", lambda rows: rows + 2**40, "expected victims to be positions of nodes"),
        ("victims", lambda rows: rows + 0.5, "expected victims as whole numbers from 0 up, got float64"),
        ("added", lambda pairs: pairs[:, [0, 0]], "expected added as pairs of a node and a later one"),
        ("added", lambda pairs: pairs[:, ::-1], "expected added as pairs of a node and a later one"),
        ("added", lambda pairs: pairs.ravel(), "expected added as whole numbers from 0 up, got int64 of shape"),
        ("added", lambda pairs: pairs[0, 0], "expected added as whole numbers from 0 up, got int64 of shape"),
        ("victims", lambda rows: rows[0], "expected victims as whole numbers from 0 up, got int64 of shape"),
        ("added", lambda pairs: np.concatenate([pairs[1:], pairs[1:2]]), "expected each of added once"),
        (
            "values_indptr",
            lambda starts: np.full_like(starts, 2**31 - 1),
            "expected row starts of the changed features",
        ),
        ("values_shape", lambda shape: [*shape, 1], "expected two numbers as shape of the changed features"),
        ("feature_rows", lambda rows: rows[:0], "expected one new row for each changed node"),
    ],
)
def test_changes_that_no_perturbation_makes_are_refused(saved, name, change, sentence):
    path = saved[1] / "changes.npz"
    with np.load(path) as archive:
        arrays = dict(archive)
    np.savez(path, **(arrays | {name: change(arrays[name])}))
    with pytest.raises(InvalidInput, match=sentence):
        load_receipt(saved[1])
