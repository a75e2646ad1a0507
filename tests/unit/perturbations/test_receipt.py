import dataclasses
import json

import numpy as np
import pytest
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.perturbations import Changes, load_receipt, perturb, replay, save_receipt


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


# ---- new nodes


@pytest.fixture
def numbered(ring):
    return dataclasses.replace(ring, ids=np.arange(60))


@pytest.fixture
def injected(numbered, tmp_path):
    done = perturb(numbered, "node-injection", np.arange(60), seed=3)
    save_receipt(done.receipt, tmp_path)
    return done, tmp_path


def test_a_receipt_without_new_nodes_is_written_as_it_always_was(saved):
    manifest = json.loads((saved[1] / "manifest.json").read_text())
    assert manifest["version"] == 1
    assert "nodes_added" not in manifest
    with np.load(saved[1] / "changes.npz") as archive:
        assert sorted(archive) == [
            *("added", "feature_rows", "label_rows", "label_values", "perturbators", "removed"),
            *("values_data", "values_indices", "values_indptr", "values_shape", "victims"),
        ]
    assert load_receipt(saved[1]).summary()["nodes_added"] == 0


@pytest.mark.parametrize("ids", [np.arange(60) * 2, np.array([f"n{node}" for node in range(60)])], ids=["int", "text"])
@pytest.mark.parametrize("dense", [True, False])
def test_new_nodes_are_replayed_with_ids_rows_and_links(ring, tmp_path, ids, dense):
    graph = dataclasses.replace(ring, ids=ids, features=ring.dense_features() if dense else ring.features)
    done = perturb(graph, "node-injection", np.arange(60), seed=3)
    save_receipt(done.receipt, tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert (manifest["version"], manifest["nodes_added"], manifest["edges_added"]) == (2, 5, 30)
    again = replay(graph, tmp_path)
    assert again.graph.hash == done.graph.hash
    assert again.graph.ids.tolist() == done.graph.ids.tolist()
    assert again.perturbators.tolist() == [60, 61, 62, 63, 64]
    assert load_receipt(tmp_path).summary() == done.receipt.summary()


def test_rows_and_labels_may_change_where_nodes_are_new(numbered):
    """All parts of the changes at once; the new rows stand where the new ids do."""
    for features in (numbered.features, numbered.dense_features()):
        graph = dataclasses.replace(numbered, features=features)
        rows = sp.csr_array(np.arange(5 * 4, dtype=np.float32).reshape(4, 5) + 1)
        changes = Changes(
            added=np.array([[0, 61]]),
            removed=graph.edges[:1],
            feature_rows=np.array([59, 2]),
            feature_values=rows[:2],
            label_rows=np.array([7]),
            label_values=np.array([2]),
            new_ids=np.array([100, 90]),
            new_values=rows[2:],
        )
        after = changes.apply(graph)
        assert (after.num_nodes, after.num_edges) == (62, graph.num_edges)
        found = after.dense_features()
        np.testing.assert_array_equal(found[[59, 2, 60, 61]], rows.toarray())
        others = np.setdiff1d(np.arange(60), [59, 2])
        np.testing.assert_array_equal(found[others], graph.dense_features()[others])
        assert after.ids[60:].tolist() == [100, 90]
        assert (after.labels[7], *after.labels[60:]) == (2, -1, -1)
        assert after.degrees[60:].tolist() == [0, 1]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"version": 1}, "unknown key 'nodes_added' in the manifest"),
        ({"version": True}, "expected manifest version 1 or 2, got True"),
        ({"version": 2.0}, "expected a whole number as version of the manifest, got 2.0"),
        ({"nodes_added": 4}, "the manifest counts other changes than changes.npz"),
        ({"nodes_added": 0}, "expected nodes_added of the manifest from 1 to inf, got 0"),
    ],
)
def test_a_manifest_that_counts_other_nodes_is_refused(injected, change, sentence):
    path = injected[1] / "manifest.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    with pytest.raises(InvalidInput, match=sentence):
        load_receipt(injected[1])


def test_a_receipt_that_has_no_count_of_its_new_nodes_is_refused(injected):
    path = injected[1] / "manifest.json"
    manifest = json.loads(path.read_text())
    del manifest["nodes_added"]
    path.write_text(json.dumps(manifest))
    with pytest.raises(InvalidInput, match="expected nodes_added in the manifest"):
        load_receipt(injected[1])


def rewrite(folder, **changes):
    path = folder / "changes.npz"
    with np.load(path) as archive:
        arrays = dict(archive)
    np.savez(path, **{name: changes[name](array) if name in changes else array for name, array in arrays.items()})


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("new_ids", lambda ids: ids[:4], "expected an id for each of 5 new nodes, got shape"),
        ("new_ids", lambda ids: ids[:, None], "expected an id for each of 5 new nodes, got shape"),
        ("new_ids", lambda ids: ids[0], "expected an id for each of 5 new nodes, got shape"),
        ("new_ids", lambda ids: np.repeat(ids[:1], 5), "expected unique ids, got '60' on nodes 0 and 1"),
        ("new_ids", lambda ids: ids + 0.5, "expected 5 ids, whole numbers or text, got float64"),
        ("new_indptr", lambda starts: starts[:-1], "expected 6 row starts of the new nodes' features"),
        ("new_indices", lambda columns: columns + 9, "expected columns of the new nodes' features from 0 to 4"),
        ("new_indices", lambda columns: columns[::-1], "expected each column of the new nodes' features once in a row"),
        ("new_shape", lambda shape: shape[:1], "expected two numbers as shape of the new nodes' features"),
    ],
)
def test_new_nodes_that_no_perturbation_makes_are_refused(injected, name, change, sentence):
    rewrite(injected[1], **{name: change})
    with pytest.raises(InvalidInput, match=sentence):
        load_receipt(injected[1])


def test_new_nodes_that_lack_an_array_are_refused(injected):
    path = injected[1] / "changes.npz"
    with np.load(path) as archive:
        arrays = {name: array for name, array in archive.items() if name != "new_data"}
    np.savez(path, **arrays)
    with pytest.raises(InvalidInput, match="the changes lack 'new_data'; make the perturbation again"):
        load_receipt(injected[1])


@pytest.mark.parametrize(
    ("name", "change", "sentence"),
    [
        ("new_ids", lambda ids: ids - 3, "expected new ids for new nodes, got 57, which ring has"),
        ("new_ids", lambda ids: ids.astype(str), "expected ids of new nodes as whole numbers, as ring has, got <U21"),
        ("new_shape", lambda shape: shape + [0, 1], "expected a receipt for 5 features, got 6 features"),
        ("new_data", lambda values: values * np.inf, "expected finite features in the receipt"),
        ("added", lambda pairs: pairs + [0, 1], "expected a receipt for 65 nodes, got node 65"),
        ("perturbators", lambda rows: rows + 1, "expected a receipt for 65 nodes, got node 65"),
        ("victims", lambda rows: rows + 5, "expected a receipt for 60 nodes, got node 6"),
    ],
)
def test_new_nodes_that_do_not_suit_the_graph_are_refused(numbered, tmp_path, name, change, sentence):
    done = perturb(numbered, "node-injection", np.arange(54, 60), seed=3, victim_fraction=1.0)
    save_receipt(done.receipt, tmp_path)
    rewrite(tmp_path, **{name: change})
    with pytest.raises(InvalidInput, match=sentence):
        replay(numbered, tmp_path)


def test_rows_that_would_fill_the_memory_are_refused(numbered, monkeypatch):
    """Sparse in the file, dense in the graph: a small file may stand for large features."""
    dense = dataclasses.replace(numbered, features=numbered.dense_features())
    done = perturb(dense, "information-sparsity", np.arange(60), seed=0)
    new = {"new_ids": np.arange(100, 10_100), "new_values": sp.csr_array((10_000, 5), dtype=np.float32)}
    receipt = dataclasses.replace(done.receipt, changes=Changes(**new))
    assert replay(dense, receipt).graph.num_nodes == 10_060
    monkeypatch.setenv("GVDN_MAX_BYTES", "100000")
    with pytest.raises(InvalidInput, match="expected features of at most 100,000 bytes, got 201,200; if you trust"):
        replay(dense, receipt)
