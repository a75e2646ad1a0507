"""One cell of a comparison: one method on one perturbed graph, in every mode that makes sense for it."""

from __future__ import annotations

import hashlib
import inspect
import json
import os
import platform
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cache, partial
from typing import Any, Literal

import numpy as np

from gvdn.experiments.runs import Record

Mode = Literal["afterwards", "in training", "recovered", "recovered, victims unseen"]


@dataclass(frozen=True)
class Cell:
    """A dataset, what happened to it, a method and a seed; everything drawn at random is drawn anew per seed.

    Graph, split and perturbation depend on dataset, perturbation and seed alone: every method meets the same victims.
    """

    dataset: str
    method: str
    seed: int
    perturbation: str = "random-connections"
    perturbation_settings: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    """Changes to the method's settings for the dataset."""

    def key(self, mode: Mode) -> str:
        """The name of a run: a hash of all that was asked for."""
        asked = json.dumps([asdict(self), mode], sort_keys=True)
        return hashlib.sha256(asked.encode()).hexdigest()[:16]

    def heading(self, mode: Mode) -> Record:
        """What every record of this cell begins with."""
        return {"key": self.key(mode), "cell": asdict(self), "mode": mode}


def modes_of(method: str) -> tuple[Mode, ...]:
    """How a method can meet the perturbed graph, by what it declares and can do."""
    from gvdn.methods.contract import method_class

    kind = method_class(method)
    modes: list[Mode] = [*kind.access.perturbed]
    if kind.access.snapshot and hasattr(kind, "recover"):
        modes.append("recovered")
        if "known" in inspect.signature(kind.recover).parameters:
            modes.append("recovered, victims unseen")
    return tuple(modes)


def measure(cell: Cell, modes: tuple[Mode, ...], *, device: str = "cpu") -> Iterator[Record]:
    """A record of each mode: accuracy, entropy and calibration on the victims, the same before the perturbation where
    the method knew that graph, seconds, and the process's peak memory.

    Fitting is shared by the modes that begin with the clean graph; its seconds stand in each of their records.
    """
    from gvdn.experiments import protocol
    from gvdn.graph import random_split
    from gvdn.methods.contract import method_class

    graph = protocol.graph_for(cell.dataset, cell.perturbation)
    split = random_split(graph, seed=cell.seed)
    settings = protocol.settings_for(cell.dataset, cell.perturbation) | cell.perturbation_settings
    attack = protocol.perturbed(graph, cell.dataset, split, cell.perturbation, settings, seed=cell.seed, device=device)
    others = np.delete(graph.ids, attack.victims)
    clock = Stopwatch()

    def fitted(on: str) -> Any:
        blank = method_class(cell.method).for_dataset(cell.dataset, device=device, **cell.settings)
        where = graph if on == "clean" else attack.graph
        return clock.time(f"fit {on}", lambda: blank.fit(where, split, seed=cell.seed))

    fitted = cache(fitted)
    for mode in modes:
        clean = mode != "in training"
        model = fitted("clean" if clean else "perturbed")
        known = {"known": others} if mode == "recovered, victims unseen" else {}
        if mode.startswith("recovered") or (not clean and model.access.snapshot and hasattr(model, "recover")):
            model = clock.time("recover", partial(model.recover, attack.graph, **known))
        else:
            clock.seconds.pop("recover", None)
        probs = clock.time("answer", partial(model.predict_proba, attack.graph))
        parts = {"fit": clock.seconds["fit clean" if clean else "fit perturbed"]}
        parts |= {name: clock.seconds[name] for name in ("recover", "answer") if name in clock.seconds}
        before = {"clean": scores(fitted("clean").predict_proba(graph), graph.labels, attack.victims)} if clean else {}
        yield cell.heading(mode) | {
            "settings": model.settings(),
            "perturbation_settings": settings,
            **scores(probs, graph.labels, attack.victims),
            **before,
            "epoch": model.outcome_.epoch,
            "validation": model.outcome_.score,
            "seconds": {name: round(value, 3) for name, value in parts.items()},
            **peak_memory(device),
            **surroundings(device),
        }


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


class Stopwatch:
    """Seconds of the last time that each thing was done."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def time(self, name: str, work: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        result = work()
        self.seconds[name] = time.perf_counter() - began
        return result


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
