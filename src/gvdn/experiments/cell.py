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

Mode = Literal[
    "clean",
    "afterwards",
    "in training",
    "in training, recovered",
    "recovered",
    "recovered, victims unseen",
]
"""Fitted and asked on the clean graph; fitted on the clean graph and asked on the perturbed one, as it is or after
`recover`, with what was stored of the victims or without; fitted on the perturbed graph, as it is or with `recover`."""


@dataclass(frozen=True)
class Cell:
    """A dataset, what happened to it, a method and a seed; everything drawn at random is drawn anew per seed.

    Graph, split and perturbation depend on nothing else: every method meets the same victims.
    """

    dataset: str
    method: str
    seed: int
    perturbation: str = "random-connections"
    perturbation_settings: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    """Changes to the method's settings for the dataset."""
    split: dict[str, Any] = field(default_factory=dict)
    """Changes to the random split."""

    def asked(self) -> dict[str, Any]:
        """All that is not the default, so that a field that is added later changes no name."""
        return {name: value for name, value in asdict(self).items() if value != {}}

    def key(self, mode: Mode) -> str:
        """The name of a run: a hash of all that was asked for."""
        asked = json.dumps([self.asked(), mode], sort_keys=True)
        return hashlib.sha256(asked.encode()).hexdigest()[:16]

    def heading(self, mode: Mode) -> Record:
        """What every record of this cell begins with."""
        return {"key": self.key(mode), "cell": self.asked(), "mode": mode}


def modes_of(method: str) -> tuple[Mode, ...]:
    """How a method can meet a perturbed graph, by what it declares and can do."""
    from gvdn.methods.contract import method_class

    kind = method_class(method)
    recovers = kind.access.snapshot and hasattr(kind, "recover")
    modes: list[Mode] = ["afterwards"] if "afterwards" in kind.access.perturbed else []
    if "in training" in kind.access.perturbed:
        modes.append("in training, recovered" if recovers else "in training")
    if recovers:
        modes.append("recovered")
        if "known" in inspect.signature(kind.recover).parameters:
            modes.append("recovered, victims unseen")
    return tuple(modes)


def measure(cell: Cell, modes: tuple[Mode, ...], *, device: str = "cpu") -> Iterator[Record]:
    """A record of each mode: accuracy, entropy and calibration on the victims, the same before the perturbation where
    the method knew that graph, seconds, and the process's peak memory.

    Fitting is shared by the modes that begin with the same graph; its seconds stand in each of their records.
    """
    from gvdn.experiments import protocol
    from gvdn.graph import random_split
    from gvdn.methods import make_method

    graph = protocol.graph_for(cell.dataset, cell.perturbation)
    split = random_split(graph, seed=cell.seed, **cell.split)
    settings = protocol.settings_for(cell.dataset, cell.perturbation) | cell.perturbation_settings
    attack = protocol.perturbed(graph, cell.dataset, split, cell.perturbation, settings, seed=cell.seed, device=device)
    scored, others = attack.scored, np.delete(graph.ids, attack.scored)
    seconds: dict[str, float] = {}

    def timed(name: str, work: Callable[[], Any]) -> Any:
        began = time.perf_counter()
        result = work()
        seconds[name] = round(time.perf_counter() - began, 3)
        return result

    @cache
    def fitted(on_clean: bool) -> Any:
        blank = make_method(cell.method, cell.dataset, device=device, **cell.settings)
        where = graph if on_clean else attack.graph
        return timed(f"fit {on_clean}", lambda: blank.fit(where, split, seed=cell.seed))

    for mode in modes:
        on_clean = not mode.startswith("in training")
        model = fitted(on_clean)
        asked = graph if mode == "clean" else attack.graph
        spent = ["fit", "answer"]
        if "recovered" in mode:
            known = {"known": others} if mode == "recovered, victims unseen" else {}
            model = timed("recover", partial(model.recover, attack.graph, **known))
            spent.append("recover")
        probs = timed("answer", partial(model.predict_proba, asked))
        seconds["fit"] = seconds[f"fit {on_clean}"]
        before = {"clean": scores(fitted(True).predict_proba(graph), graph.labels, scored)} if on_clean else {}
        yield cell.heading(mode) | {
            "settings": model.settings(),
            "perturbation_settings": settings,
            **scores(probs, graph.labels, scored),
            **before,
            "epoch": model.outcome_.epoch,
            "validation": model.outcome_.score,
            "seconds": {name: seconds[name] for name in spent},
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
