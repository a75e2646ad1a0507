"""What is measured of a cell: a record for each of its modes."""

from __future__ import annotations

import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import cache, cached_property
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from gvdn.experiments.cell import Cell, Mode
from gvdn.experiments.runs import Record

KEPT = {
    "recovered, mapped": "maps:mapped",
    "recovered, mapped on the way": "maps:mapped_on_the_way",
    "recovered, losses kept": "losses:losses_kept",
    "streamed": "streaming:streamed",
    "counts": "counts:counted",
}
"""Modes that leave more than the scores -> the module here and its function that measures them."""


def measure(cell: Cell, modes: tuple[Mode, ...], *, device: str = "cpu") -> Iterator[Record]:
    """A record of each mode: accuracy, entropy and calibration on the victims, the same before the perturbation where
    the method knew that graph, what else the mode keeps, seconds, and the process's peak memory."""
    met = Encounter(cell, device)
    for mode in modes:
        found = _kept(mode)(met) if mode in KEPT else met_in(met, mode)
        yield cell.heading(mode) | found | peak_memory(device) | surroundings(device)


class Fit(NamedTuple):
    """A fitted method, and how long that took."""

    model: Any
    seconds: float


class Encounter:
    """A cell made real: its graph and split, the graph that methods meet and who is scored on it, its method fitted.

    Fitting is shared by the modes that begin with the same graph; its seconds stand in each of their records.
    """

    def __init__(self, cell: Cell, device: str) -> None:
        from gvdn.experiments import protocol
        from gvdn.graph import random_split

        self.cell, self.device = cell, device
        self.clean = protocol.graph_for(cell.dataset, cell.perturbation)
        self.split = random_split(self.clean, seed=cell.seed, **cell.split)
        self.perturbation_settings = protocol.settings_for(cell.dataset, cell.perturbation) | cell.perturbation_settings
        self.perturbed, self.scored = protocol.perturbed(
            self.clean,
            cell.dataset,
            self.split,
            cell.perturbation,
            self.perturbation_settings,
            seed=cell.seed,
            device=device,
        )

    @cached_property
    def fit(self) -> Fit:
        """On the clean graph."""
        return self._fitted(self.clean)

    @cached_property
    def fit_in_training(self) -> Fit:
        """On the perturbed graph."""
        return self._fitted(self.perturbed)

    def _fitted(self, graph: Any) -> Fit:
        from gvdn.methods import make_method

        blank = make_method(self.cell.method, self.cell.dataset, device=self.device, **self.cell.settings)
        return Fit(*timed(lambda: blank.fit(graph, self.split, seed=self.cell.seed)))

    @cached_property
    def scores_before(self) -> dict[str, float]:
        """Of the model fitted on the clean graph, there, on the same nodes."""
        return scores(self.fit.model.predict_proba(self.clean), self.clean.labels, self.scored)

    def answered(self, model: Any, probs: np.ndarray, seconds: dict[str, float]) -> Record:
        """What every record of an answer holds."""
        return {
            "settings": model.settings(),
            "perturbation_settings": self.perturbation_settings,
            **scores(probs, self.clean.labels, self.scored),
            "epoch": model.outcome_.epoch,
            "validation": model.outcome_.score,
            "seconds": {name: round(spent, 3) for name, spent in seconds.items()},
        }

    def answered_afterwards(self, model: Any, probs: np.ndarray, seconds: dict[str, float]) -> Record:
        """The same, for a model that was fitted on the clean graph and has a score there."""
        return self.answered(model, probs, {"fit": self.fit.seconds} | seconds) | {"clean": self.scores_before}

    def recovered(self, **how: Any) -> tuple[Any, np.ndarray, Record]:
        """The fitted model recovered on the perturbed graph, its answers there, and what a record holds of them."""
        fitted = self.fit.model
        model, recovering = timed(lambda: fitted.recover(self.perturbed, **how))
        probs, answering = timed(lambda: model.predict_proba(self.perturbed))
        return model, probs, self.answered_afterwards(model, probs, {"recover": recovering, "answer": answering})


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


def timed(work: Callable[[], Any]) -> tuple[Any, float]:
    """What the work gives, and its seconds."""
    began = time.perf_counter()
    result = work()
    return result, time.perf_counter() - began


def _kept(mode: Mode) -> Callable[[Encounter], Record]:
    module, function = KEPT[mode].split(":")
    found: Callable[[Encounter], Record] = getattr(import_module(f"gvdn.experiments.{module}"), function)
    return found


def scores(probs: np.ndarray, labels: np.ndarray, nodes: np.ndarray) -> dict[str, float]:
    """What the metrics say of some nodes; the one place where test labels are read."""
    from gvdn.metrics import accuracy, brier_score, expected_calibration_error, normalised_entropy

    theirs, truth = probs[nodes], labels[nodes]
    return {
        "accuracy": round(accuracy(theirs, truth), 5),
        "entropy": round(normalised_entropy(theirs), 5),
        "ece": round(expected_calibration_error(theirs, truth), 5),
        "brier": round(brier_score(theirs, truth), 5),
        "nodes": len(nodes),
    }


def peak_memory(device: str) -> dict[str, float]:
    """The most memory that this process has held so far, in MiB, and on the GPU if there is one."""
    import torch

    unit = 2**20 if sys.platform == "darwin" else 2**10
    peaks = {"peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)}
    if device.startswith("cuda"):
        peaks["peak_gpu_mib"] = round(torch.cuda.max_memory_allocated() / 2**20, 1)
    return peaks


def surroundings(device: str) -> dict[str, str]:
    """Where a number comes from."""
    import torch

    import gvdn

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
    """The state of the code: git's word, or GVDN_COMMIT where there is no git."""
    try:
        done = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False)
        return done.stdout.strip() or os.environ.get("GVDN_COMMIT", "unknown")
    except OSError:
        return os.environ.get("GVDN_COMMIT", "unknown")
