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
        ({"version": 9}, "expected manifest version 1, got 9; update gvdn"),
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
