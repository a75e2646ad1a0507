"""What is measured of a cell: a record for each of its modes."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import numpy as np
import torch

import gvdn
from gvdn.experiments.cell import Cell, Mode
from gvdn.experiments.counts import counted
from gvdn.experiments.encounter import Encounter, timed
from gvdn.experiments.losses import losses_kept
from gvdn.experiments.maps import mapped, mapped_on_the_way
from gvdn.experiments.runs import Record
from gvdn.experiments.streaming import streamed

KEPT: dict[Mode, Callable[[Encounter], Record]] = {
    "recovered, mapped": mapped,
    "recovered, mapped on the way": mapped_on_the_way,
    "recovered, losses kept": losses_kept,
    "streamed": streamed,
    "counts": counted,
}
"""Modes that leave more than the scores -> what measures them."""


def measure(cell: Cell, modes: tuple[Mode, ...], *, device: str = "cpu", kept: Path | None = None) -> Iterator[Record]:
    """A record of each mode: accuracy, entropy and calibration on the victims, the same before the perturbation where
    the method knew that graph, what else the mode keeps, seconds, and the process's peak memory.

    What attacks make is taken from the folder `kept`, or left there, for this state of the code.
    """
    met = Encounter(cell, device, None if kept is None else kept / f"{gvdn.__version__}-{commit()}")
    for mode in modes:
        found = KEPT[mode](met) if mode in KEPT else met_in(met, mode)
        yield cell.heading(mode) | found | peak_memory(device) | surroundings(device)


def met_in(met: Encounter, mode: Mode) -> Record:
    """The scores of a mode that keeps nothing else."""
    if mode == "recovered":
        return met.recovered()[2]
    if mode == "recovered, victims unseen":
        return met.recovered(known=np.delete(met.clean.ids, met.scored))[2]
    if mode.startswith("in training"):
        return _met_in_training(met, recovered=mode == "in training, recovered")
    model = met.fit.model
    probs, answering = timed(lambda: model.predict_proba(met.clean if mode == "clean" else met.perturbed))
    return met.answered_afterwards(model, probs, {"answer": answering})


def _met_in_training(met: Encounter, *, recovered: bool) -> Record:
    fitted, seconds = met.fit_in_training.model, {"fit": met.fit_in_training.seconds}
    model = fitted
    if recovered:
        model, seconds["recover"] = timed(lambda: fitted.recover(met.perturbed))
    probs, seconds["answer"] = timed(lambda: model.predict_proba(met.perturbed))
    return met.answered(model, probs, seconds)


def peak_memory(device: str) -> dict[str, float]:
    """The most memory that this process has held so far, in MiB, and on the GPU if there is one."""
    unit = 2**20 if sys.platform == "darwin" else 2**10
    peaks = {"peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)}
    if device.startswith("cuda"):
        peaks["peak_gpu_mib"] = round(torch.cuda.max_memory_allocated() / 2**20, 1)
    return peaks


def surroundings(device: str) -> dict[str, str]:
    """Where a number comes from."""
    threads = f"cpu, {torch.get_num_threads()} threads"
    return {
        "device": torch.cuda.get_device_name() if device.startswith("cuda") else threads,
        "gvdn": gvdn.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "commit": commit(),
    }


@cache
def commit() -> str:
    """The state of the code: GVDN_COMMIT, if somebody who copied it says so, else git's word on the package's folder,
    which marks what was changed since."""
    said = os.environ.get("GVDN_COMMIT")
    if said:
        return said
    words = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False, cwd=Path(__file__).parent)
    except OSError:
        return "unknown"
    return done.stdout.strip() or "unknown"
