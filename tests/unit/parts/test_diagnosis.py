"""A diagnosis on parts is that of the whole graph, on any number of workers."""

import json
import re
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from parts_runs import DEEP, FOUR, fitted, later_of, run

from gvdn.errors import InvalidInput
from gvdn.parts import learning
from gvdn.parts.jobs import Diagnose
from gvdn.parts.joining import join
from gvdn.parts.model import read_model
from gvdn.parts.part import read_part
from gvdn.seeds import generator
from gvdn.trust.tables import link_table, node_table

NUMBERS = ("score", "norm", "row", "gained", "lost", "neighbours", "answer", "misfit", "contact")


def tables(output, kind: str, parts: int) -> pa.Table:
    return pa.concat_tables([pq.read_table(output / kind / f"part-{number}.parquet") for number in range(parts)])


def by_name(table: pa.Table) -> dict:
    """The rows of a table by the node or the ends of the link, whichever comes first."""
    rows = table.to_pylist()
    return {row["id"] if "id" in row else tuple(sorted((row["source"], row["target"]))): row for row in rows}


def same(found: dict, wanted: dict) -> None:
    assert found.keys() == wanted.keys()
    for name, row in wanted.items():
        for column, value in row.items():
            if column in NUMBERS:
                assert found[name][column] == pytest.approx(value, abs=1e-5), (
                    name,
                    column,
                )
            elif column == "why":  # which end comes first, and which of two neighbours is named, may differ
                words, told = (sorted(re.findall(r"[^\s;:,]+", one)) for one in (found[name][column], value))
                assert [one for one in words if one[0] != "n"] == [one for one in told if one[0] != "n"]
            elif column not in ("source", "target"):
                assert found[name][column] == value, (name, column)


def test_on_one_to_four_workers_it_is_the_diagnosis_of_the_whole_graph(clean, model, divided, tmp_path):
    parts, folder = model
    later, part = later_of(clean)
    hurt = divided(later, "later", part=part, like=parts.folder)
    # The whole clean graph, in the order of its parts: random numbers go by position.
    order = np.concatenate([clean.locate(read_part(parts, number).ids) for number in range(4)])
    wanted = join(read_model(folder), clean.subgraph(order)).diagnose(later)
    assert wanted.perturbed
    assert wanted.suspicious.sum() > 3
    assert len(wanted.links) > 40
    for workers in (1, 2, 3, 4):
        output = tmp_path / f"d{workers}"
        found = run(Diagnose(folder, hurt.folder, output), workers)
        same(by_name(tables(output, "nodes", 4)), by_name(node_table(wanted)))
        same(by_name(tables(output, "links", 4)), by_name(link_table(wanted)))
        summary = wanted.summary(100)
        for name in ("perturbed", "p_value", "advice", "because", *wanted.counts):
            assert found[name] == summary[name], name
        told = json.loads((output / "diagnosis.json").read_text())
        assert [one["id"] for one in told["nodes_ranked"]] == [one["id"] for one in summary["nodes_ranked"]]
        assert sorted(told["new_ids"]) == sorted(summary["new_ids"])
        assert told["vanished_ids"] == summary["vanished_ids"]
        assert sorted(path.name for path in output.iterdir()) == ["diagnosis.json", "links", "nodes", "result.json"]


def test_the_clean_graph_itself_is_not_perturbed(model, tmp_path):
    parts, folder = model
    found = run(Diagnose(folder, parts.folder, tmp_path / "found"), 3)
    assert not found["perturbed"]
    assert found["advice"] == "nothing"
    assert (found["new_links"], found["lost_links"], found["changed_rows"], found["new_nodes"]) == (0, 0, 0, 0)


def test_the_trust_model_is_the_same_whoever_fits_it(clean, model, tmp_path):
    parts, folder = model
    alone = fitted(parts, tmp_path / "alone", **DEEP)
    for name in ("trust.safetensors", "baseline-2.safetensors"):
        assert (alone / name).read_bytes() == (folder / name).read_bytes()
    assert not (folder / "sample").exists()


def test_a_large_graph_is_learned_from_whole_neighbourhoods_of_every_part(clean, divided, tmp_path, monkeypatch):
    monkeypatch.setattr(learning, "MOST", 90)
    parts = divided(clean, "parts", part=FOUR)
    chosen = []
    for number in range(4):
        part = read_part(parts, number)
        share = learning._share(parts, number)
        nodes = learning.neighbourhoods(part, share, generator(0, "trust", f"part {number}"))
        assert len(nodes) == share == 90 * part.nodes // 150
        assert (np.diff(nodes) > 0).all()
        chosen.append(nodes)
    graphs = []
    fit = learning.fit_trust
    monkeypatch.setattr(learning, "fit_trust", lambda graph, *a, **k: graphs.append((graph, k)) or fit(graph, *a, **k))
    folder = fitted(parts, tmp_path / "model", 3, **DEEP)
    ((graph, how),) = graphs
    assert graph.num_nodes == 90
    there = clean.locate(graph.ids)
    assert (graph.dense_features() == clean.dense_features()[there]).all()
    assert graph.num_edges == clean.subgraph(there).num_edges
    outer = graph.degrees < clean.degrees[there]
    assert outer.any()
    assert how["trained"][outer].all()  # only a node whose links are all there plays the part of a new one
    assert not how["trained"].all()
    assert run(Diagnose(folder, parts.folder, tmp_path / "found"), 2)["nodes"] == 150


def test_a_model_without_trust_is_refused(model, tmp_path):
    parts, _ = model
    folder = fitted(parts, tmp_path / "plain")
    with pytest.raises(InvalidInput, match="stores nothing of the clean graph to compare with"):
        run(Diagnose(folder, parts.folder, tmp_path / "x"))


@pytest.mark.parametrize("name", ["trust", "baseline-1"])
def test_a_damaged_baseline_is_named(model, name, tmp_path):
    parts, folder = model[0], tmp_path / "model"
    shutil.copytree(model[1], folder)
    path = folder / f"{name}.safetensors"
    path.write_bytes(path.read_bytes()[:-8])
    with pytest.raises(InvalidInput, match=f"{name}.safetensors is missing, damaged or of another model"):
        read_model(folder)
    with pytest.raises(InvalidInput, match=f"{name}.safetensors: not the"):
        run(Diagnose(folder, parts.folder, tmp_path / "x"))
