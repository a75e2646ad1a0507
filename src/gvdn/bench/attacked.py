"""What an attack made of a graph, kept on disk beside the records: every method meets the very same graph, also after a
grid was killed.

Two fits of one model on a GPU differ in their last digits, and an attack through such a model in a flip or two.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gvdn.experiments.protocol import Meeting
from gvdn.graph import read_npz, write_npz


def shared(folder: Path, name: str, make: Callable[[], Meeting]) -> Meeting:
    """The meeting of that name, made unless it is there; of two processes that make it at once the first one counts."""
    kept = folder / name
    if not kept.exists():
        made = make()
        folder.mkdir(parents=True, exist_ok=True)
        draft = Path(tempfile.mkdtemp(prefix=".draft-", dir=folder))
        try:
            write_npz(made.graph, draft / "graph.npz")
            np.save(draft / "scored.npy", made.scored)
            draft.rename(kept)
        except OSError:
            if not kept.exists():
                raise
        finally:
            shutil.rmtree(draft, ignore_errors=True)
    return Meeting(read_npz(kept / "graph.npz"), np.load(kept / "scored.npy"))
