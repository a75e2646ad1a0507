"""Small jobs on parts, run by one worker or by several."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from workers import in_threads

from gvdn.graph import Graph
from gvdn.parts.group import Alone
from gvdn.parts.jobs import Answer, Fit, Job
from gvdn.parts.manifest import Manifest

SMALL = {"hidden": 6, "epochs": 8, "recovery_epochs": 6, "trust": False}
UNEQUAL = np.array([0] * 40 + [1] * 2 + [2] * 16 + [3] * 2 + [4] * 10)
"""Parts of 40, 2, 16, 2 and 10 nodes; the last has no link at all."""

FOUR = np.array([0] * 60 + [1] * 45 + [2] * 30 + [3] * 15)
"""Parts of a graph of 150 nodes."""
DEEP: dict[str, Any] = {"trust": True, "epochs": 40, "hidden": 8}
"""Settings with which the graph of 150 nodes is learned, with what diagnoses need."""


def run(job: Job, workers: int = 1) -> dict[str, Any]:
    """What the first worker found."""
    job.output.mkdir()
    if workers == 1:
        return job.run(Alone())
    return in_threads(job.run, workers)[0]


def fitted(parts: Manifest, output: Path, workers: int = 1, *, seed: int = 0, **changes: Any) -> Path:
    """A small model of these parts."""
    more = {name: changes.pop(name) for name in ("recompute", "progress", "save_every", "callback") if name in changes}
    run(Fit(parts.folder, output, SMALL | changes, seed, **more), workers)
    return output


def answers(model: Path, parts: Manifest, output: Path, workers: int = 1) -> dict[str, np.ndarray]:
    """Predictions and embeddings of each node, by id."""
    run(Answer(model, parts.folder, output, embeddings=True), workers)
    table = pa.concat_tables([pq.read_table(output / f"part-{number}.parquet") for number in range(parts.parts)])
    numbers = np.stack([table[name].to_numpy() for name in table.column_names[2:]], axis=1)
    return dict(zip(table["id"].to_pylist(), numbers, strict=True))


def later_of(clean: Graph) -> tuple[Graph, np.ndarray]:
    """Wrong links at some nodes, lost ones at others, a copied row, one far too large, three new nodes, one gone."""
    rng = np.random.default_rng(1)
    edges = clean.edges[~np.isin(clean.edges, [7, 8]).any(axis=1) | (rng.random(len(clean.edges)) < 0.5)]
    wrong = [(node, int(other)) for node in (20, 70, 110) for other in rng.integers(0, 150, 9)]
    new = [(150 + k, int(other)) for k in range(3) for other in rng.integers(0, 150, 6)]
    features = np.concatenate([clean.dense_features(), clean.dense_features()[[3, 90, 30]]])
    features[12], features[101] = features[140], features[101] * 60
    ids = np.append(clean.ids, ["new one", "new two", "new three, which is long"])
    whole = Graph.from_edges(
        np.concatenate([edges, wrong, new]), features, ids=ids, name="later", class_names=clean.class_names,
        feature_names=clean.feature_names,
    )  # fmt: skip
    left = np.delete(np.arange(153), 50)
    return whole.subgraph(left), np.append(FOUR, [0, 2, 3])[left]
