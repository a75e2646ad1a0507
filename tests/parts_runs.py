"""Small jobs on parts, run by one worker or by several."""

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from workers import in_threads

from gvdn.parts.group import Alone
from gvdn.parts.jobs import Answer, Fit, Job
from gvdn.parts.manifest import Manifest

SMALL = {"hidden": 6, "epochs": 8, "recovery_epochs": 6, "trust": False}
UNEQUAL = np.array([0] * 40 + [1] * 2 + [2] * 16 + [3] * 2 + [4] * 10)
"""Parts of 40, 2, 16, 2 and 10 nodes; the last has no link at all."""


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
