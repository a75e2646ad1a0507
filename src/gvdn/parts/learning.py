"""How the trust model of a graph in parts is learned: on neighbourhoods of all parts that fit into one worker.

Student, trust model and thresholds are small, and some thousands of nodes are enough for them. So each part draws some
whole neighbourhoods, and the first worker puts them together to one graph; where the parts together have no more nodes
than that, it is the whole clean graph. What is stored of every node is then computed part by part.
"""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import scipy.sparse as sp
import torch
from safetensors.numpy import load_file, save_file

from gvdn.graph import Graph
from gvdn.graph.graph import Features
from gvdn.methods.base import probabilities
from gvdn.methods.files import bytes_to_text, text_to_bytes
from gvdn.parts.answering import asked
from gvdn.parts.baseline import PartBaseline, SharedBaseline, complete, read_shared
from gvdn.parts.group import Group
from gvdn.parts.joining import assembled
from gvdn.parts.manifest import Manifest
from gvdn.parts.model import TRAIN, VAL, PartsModel, Rows
from gvdn.parts.part import Part, read_part
from gvdn.seeds import generator
from gvdn.trust.baseline import Baseline
from gvdn.trust.calibration import calibrate
from gvdn.trust.fitting import fit_trust
from gvdn.trust.rows import digests, l2_norms
from gvdn.trust.sample import MOST

NEIGHBOURHOODS = 8
"""Neighbourhoods that a part gives, at least."""
SCRATCH = "sample"


def learn(model: PartsModel, manifest: Manifest, numbers: list[int], group: Group) -> None:
    """Fit the trust model, and write it and what is stored of every node into the folder of the model.

    Args:
        model: as it was trained; the rows of its parts are in its folder already.
        numbers: the parts of this worker.
    """
    output, scratch = model.folder, model.folder / SCRATCH
    scratch.mkdir(exist_ok=True)
    longest = 0.0
    for number in numbers:
        part = read_part(manifest, number)
        longest = max(longest, float(l2_norms(part.features).max(initial=0)))
        chosen = neighbourhoods(part, _share(manifest, number), generator(model.seed, "trust", f"part {number}"))
        _write_sample(part, model.rows(number), chosen, manifest, scratch)
    longest = float(group.largest(torch.tensor([longest], dtype=torch.float64)))
    group.wait()
    if group.rank == 0:
        _fit(model, manifest, scratch, longest).write(output)
        shutil.rmtree(scratch)
    group.wait()
    shared = read_shared(output, model.features, len(model.class_names), manifest.parts)
    answers = asked(manifest, model, group).probs if model.method.samples else {}
    for number in numbers:
        rows = model.rows(number)
        said = answers[number] if answers else probabilities(torch.from_numpy(rows.logits))
        _of_part(read_part(manifest, number), said, shared, manifest).write(output, number)


def neighbourhoods(part: Part, number: int, rng: np.random.Generator) -> np.ndarray:
    """So many nodes of a part, or all of them: some random ones, with their neighbours, the neighbours of these and so
    on, as far as links inside of the part lead."""
    if number >= part.nodes:
        return np.arange(part.nodes)
    inside = sp.csr_array(part.links[:, : part.nodes])
    each, taken, count = max(1, number // NEIGHBOURHOODS), np.zeros(part.nodes, dtype=bool), 0
    for start in rng.permutation(part.nodes):
        if count >= number:
            break
        if taken[start]:
            continue
        front, left = np.array([start]), min(each, number - count)
        while len(front) and left:
            front = rng.permutation(front)[:left]
            taken[front] = True
            count, left = count + len(front), left - len(front)
            near = np.unique(inside[front].indices)
            front = near[~taken[near]]
    return np.flatnonzero(taken)


def _share(manifest: Manifest, number: int) -> int:
    """The nodes of a part that are learned from: its part of them."""
    nodes = manifest.shares[number].nodes
    return nodes if manifest.nodes <= MOST else max(1, MOST * nodes // manifest.nodes)


def _far(manifest: Manifest, number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The links of a part: the end there, the other end among the nodes of all parts, and the weight."""
    table = pq.read_table(manifest.path("links", number))
    source, part, target, weight = (table[name].to_numpy() for name in ("source", "part", "target", "weight"))
    offsets = np.concatenate([[0], np.cumsum([share.nodes for share in manifest.shares])])
    return source.astype(np.int64), offsets[part] + target, weight


def _write_sample(part: Part, rows: Rows, chosen: np.ndarray, manifest: Manifest, scratch: Path) -> None:
    source, far, weight = _far(manifest, part.number)
    place = np.full(part.nodes, -1, dtype=np.int64)
    place[chosen] = np.arange(len(chosen))
    there = place[source] >= 0
    offset = sum(share.nodes for share in manifest.shares[: part.number])
    features = part.features[chosen]
    held = {
        "position": offset + chosen, "roles": rows.roles[chosen], "labels": rows.labels[chosen],
        "W_z": rows.W_z[chosen], "near": place[source[there]], "far": far[there], "weight": weight[there],
        "degree": np.diff(part.links.indptr)[chosen].astype(np.int64),
    }  # fmt: skip
    held["ids"] = text_to_bytes(part.ids[chosen]) if part.ids.dtype.kind == "U" else part.ids[chosen]
    if isinstance(features, np.ndarray):
        held["x"] = features
    else:
        held |= {"x_starts": features.indptr, "x_columns": features.indices, "x_values": features.data}
    save_file({name: np.ascontiguousarray(one) for name, one in held.items()}, scratch / f"{part.number}.safetensors")


def _fit(model: PartsModel, manifest: Manifest, scratch: Path, longest: float) -> SharedBaseline:
    """On the first worker: everything that is learned from the neighbourhoods of all parts."""
    held = [load_file(scratch / f"{number}.safetensors") for number in range(manifest.parts)]
    graph, inner = _put_together(held, manifest)
    roles, labels, W_z = (np.concatenate([one[name] for one in held]) for name in ("roles", "labels", "W_z"))
    fitted = assembled(model, _rows(model, graph.ids, W_z, roles, labels))
    baseline = Baseline.of(graph, fitted.asked, seed=model.seed, device=fitted.torch_device())
    trust = fit_trust(
        graph, fitted.asked, baseline.student, baseline.own.astype(np.float64),
        labels=np.where(roles == VAL, labels, -1), trained=(roles == TRAIN) | ~inner, seed=model.seed,
    )  # fmt: skip
    # The largest norms are those of all nodes.
    student = replace(baseline.student, longest=longest)
    norms = np.array([trust.learned.norms[0], model.max_norm])
    trust = replace(trust, learned=replace(trust.learned, student=student, norms=norms))
    baseline = replace(baseline, student=student, max_norm=model.max_norm)
    baseline = replace(baseline, calibration=calibrate(trust, baseline, graph, fitted.asked, seed=model.seed))
    sizes = np.array([share.nodes for share in manifest.shares], dtype=np.int64)
    return SharedBaseline(complete(baseline, trust), sizes)


def _put_together(held: list[dict[str, np.ndarray]], manifest: Manifest) -> tuple[Graph, np.ndarray]:
    """The graph of the neighbourhoods of all parts, and of which nodes it has all links."""
    sizes = [len(one["position"]) for one in held]
    first = np.concatenate([[0], np.cumsum(sizes)])
    position = np.concatenate([one["position"] for one in held])  # ascending
    near = np.concatenate([first[number] + one["near"] for number, one in enumerate(held)])
    far, weight = (np.concatenate([one[name] for one in held]) for name in ("far", "weight"))
    other = np.minimum(np.searchsorted(position, far), len(position) - 1)
    there = position[other] == far
    n = len(position)
    adjacency = sp.csr_array((weight[there], (near[there], other[there])), shape=(n, n))
    ids = [bytes_to_text(one["ids"]) if one["ids"].ndim == 2 else one["ids"] for one in held]
    graph = Graph(
        adjacency,
        _features(held, manifest),
        ids=np.concatenate(ids),
        class_names=manifest.class_names,
        feature_names=manifest.feature_names,
        name=manifest.name,
        columns=manifest.columns,
    )
    return graph, graph.degrees == np.concatenate([one["degree"] for one in held])


def _features(held: list[dict[str, np.ndarray]], manifest: Manifest) -> Features:
    if not manifest.sparse:
        return np.concatenate([one["x"] for one in held])
    pieces = [
        sp.csr_array(
            (one["x_values"], one["x_columns"], one["x_starts"]), shape=(len(one["position"]), manifest.features)
        )
        for one in held
    ]
    return sp.csr_array(sp.vstack(pieces, format="csr"))


def _rows(model: PartsModel, ids: np.ndarray, W_z: np.ndarray, roles: np.ndarray, labels: np.ndarray) -> Rows:
    """The rows of some nodes without H_emb, logits, mass and norms: a model that is not recovered needs none."""
    H_emb, logits = (np.zeros((len(ids), width), np.float32) for width in (W_z.shape[1], len(model.class_names)))
    return Rows(
        ids, W_z, ids, H_emb, logits, np.zeros(len(ids), np.float32), np.zeros(len(ids), np.float32), roles, labels
    )


def _of_part(part: Part, answers: np.ndarray, shared: SharedBaseline, manifest: Manifest) -> PartBaseline:
    """What is stored of the nodes of one part."""
    _, far, _ = _far(manifest, part.number)
    own = shared.lazy.stored().student.answers(part.features, part.ids)
    return PartBaseline(
        ids=part.ids,
        answers=answers.astype(np.float32),
        own=own.astype(np.float32),
        digests=digests(part.features),
        kept=np.ones(part.nodes, dtype=bool),
        starts=part.links.indptr.astype(np.int64),
        far=far,
    )
