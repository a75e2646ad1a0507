"""Small files in the formats of publishers."""

import gzip
import io
import zipfile
from typing import Any

import numpy as np

ARXIV = {
    "raw/edge.csv.gz": "0,1\n1,0\n2,0\n3,3\n4,2\n0,1\n",
    "raw/node-feat.csv.gz": "0.5,-1.25\n1e-3,0\n-0.058943,2.0\n0.0,0.0\n1,2\n",
    "raw/node-label.csv.gz": "1\n0\n2\n2\n0\n",
    "raw/node_year.csv.gz": "2017\n2016\n2018\n2019\n2020\n",
    "raw/num-node-list.csv.gz": "5\n",
    "raw/num-edge-list.csv.gz": "6\n",
    "split/time/train.csv.gz": "0\n1\n",
    "split/time/valid.csv.gz": "2\n",
    "split/time/test.csv.gz": "3\n4\n",
    "mapping/labelidx2arxivcategeory.csv.gz": "label idx,arxiv category\n0,arxiv cs na\n1,arxiv cs mm\n2,arxiv cs lo\n",
}


def arxiv_files() -> dict[str, bytes]:
    """ogbn-arxiv as its archive has it: five papers, six citations, of which one is a loop and two are repetitions."""
    return {name: gzip.compress(text.encode(), mtime=0) for name, text in ARXIV.items()}


def arxiv_archive(**changes: bytes) -> bytes:
    """The archive of these files, with others beside them."""
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as opened:
        for name, content in ({f"arxiv/{name}": content for name, content in arxiv_files().items()} | changes).items():
            opened.writestr(name, content)
    return file.getvalue()


def platonov_arrays(**changes: Any) -> dict[str, np.ndarray]:
    """A graph of Platonov et al.: a ring of twelve nodes with ten splits."""
    rng, nodes = np.random.default_rng(0), 12
    order = np.stack([rng.permutation(nodes) for _ in range(10)])
    parts = {
        "node_features": rng.random((nodes, 3), dtype=np.float32),
        "node_labels": np.arange(nodes) % 3,
        "edges": np.stack([np.arange(nodes), np.roll(np.arange(nodes), 1)], axis=1),
        "train_masks": order < 6,
        "val_masks": (order >= 6) & (order < 9),
        "test_masks": order >= 9,
    }
    return parts | changes
