"""A baseline as arrays for a file, and a baseline that is computed when it is first needed."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Shaped

from gvdn.errors import InvalidInput
from gvdn.trust.baseline import Baseline, Calibration
from gvdn.trust.links import LinkModel
from gvdn.trust.student import HALVES, HIDDEN, Student

WEIGHTS = ("W_1", "b_1", "W_2", "b_2")
ROWS = ("ids", "edges", "answers", "own", "digests")
BASELINE = {
    "baseline.ids": "ids b",
    "baseline.edges": "int64 e 2",
    "baseline.answers": "shares b classes",
    "baseline.own": "shares b classes",
    "baseline.digests": "uint64 b",
    "baseline.half": "int64 b",
    "baseline.table": "float64 classes classes",
    "baseline.beta": "float64 2 4",
    "baseline.excess": "float64 d",
    "baseline.norms": "float64 3",
    "baseline.thresholds": "float64 2",
    **{
        f"baseline.student.{half}.{name}": f"float32 {sides}"
        for half in range(HALVES)
        for name, sides in zip(WEIGHTS, (f"features {HIDDEN}", HIDDEN, f"{HIDDEN} classes", "classes"), strict=True)
    },
}
"""The arrays of a baseline in a file."""


class LazyBaseline:
    """A baseline, or how to compute it: once, when it is first asked for, so that `fit` does not wait for it."""

    def __init__(self, source: Baseline | Callable[[], Baseline]) -> None:
        self._source = source

    def get(self) -> Baseline:
        if not isinstance(self._source, Baseline):
            self._source = self._source()
        return self._source

    def only(self, ids: Shaped[np.ndarray, " k"]) -> "LazyBaseline":
        """The baseline of these nodes alone, so that what is withheld is withheld here too."""
        return LazyBaseline(partial(_only, self, ids))


def _only(whole: LazyBaseline, ids: Shaped[np.ndarray, " k"]) -> Baseline:
    baseline = whole.get()
    chosen = np.isin(baseline.ids, ids)
    row = np.cumsum(chosen) - 1
    edges = row[baseline.edges[chosen[baseline.edges].all(axis=1)]]
    rows = {name: getattr(baseline, name)[chosen] for name in ("ids", "answers", "own", "digests")}
    student = replace(baseline.student, half=baseline.student.half[chosen])
    return replace(baseline, edges=edges, student=student, **rows)


def baseline_arrays(baseline: Baseline) -> dict[str, np.ndarray]:
    """Everything of a baseline by name."""
    student, links, calibration = baseline.student, baseline.links, baseline.calibration
    found = {name: getattr(baseline, name) for name in ROWS}
    found |= {"half": student.half, "table": links.table, "beta": links.beta, "excess": calibration.excess}
    found["norms"] = np.array([baseline.max_norm, student.longest, student.typical])
    found["thresholds"] = np.array([calibration.node, calibration.link])
    for number, weights in enumerate(student.weights):
        found |= {f"student.{number}.{name}": weights[name] for name in WEIGHTS}
    return {f"baseline.{name}": array for name, array in found.items()}


def restored_baseline(arrays: Mapping[str, np.ndarray]) -> LazyBaseline:
    """The baseline that `baseline_arrays` gave; raises InvalidInput unless the arrays belong together."""
    found = {name.removeprefix("baseline."): array for name, array in arrays.items() if name.startswith("baseline.")}
    _require_rows(found)
    max_norm, longest, typical = map(float, found["norms"])
    node, link = map(float, found["thresholds"])
    weights = tuple({name: found[f"student.{half}.{name}"] for name in WEIGHTS} for half in range(HALVES))
    student = Student(weights, found["half"], longest, typical)
    links, calibration = LinkModel(found["table"], found["beta"]), Calibration(node, link, found["excess"])
    rows: dict[str, Any] = {name: found[name] for name in ROWS}
    return LazyBaseline(Baseline(**rows, max_norm=max_norm, student=student, links=links, calibration=calibration))


def _require_rows(found: Mapping[str, np.ndarray]) -> None:
    """Raise where an array names a row, or a half of the students, that is not there."""
    for name, most in (("edges", len(found["ids"]) - 1), ("half", HALVES - 1)):
        array = found[name]
        if array.size and not 0 <= array.min() <= array.max() <= most:
            raise InvalidInput(f"expected whole numbers from 0 to {most} in baseline.{name}, got something else")
