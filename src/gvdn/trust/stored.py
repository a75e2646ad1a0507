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
from gvdn.trust.student import Student

WEIGHTS = ("W_1", "b_1", "W_2", "b_2")
ROWS = ("answers", "own", "digests", "half")
"""Arrays with one row per stored node, besides the ids."""


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
    found = {name: getattr(baseline, name) for name in ("ids", "edges", "answers", "own", "digests")}
    found |= {"half": student.half, "table": links.table, "beta": links.beta, "excess": calibration.excess}
    found["norms"] = np.array([baseline.max_norm, student.longest, student.typical])
    found["thresholds"] = np.array([calibration.node, calibration.link])
    for number, weights in enumerate(student.weights):
        found |= {f"student.{number}.{name}": weights[name] for name in WEIGHTS}
    return {f"baseline.{name}": array for name, array in found.items()}


def restored_baseline(arrays: Mapping[str, np.ndarray]) -> LazyBaseline:
    """The baseline that `baseline_arrays` gave; raises InvalidInput unless the arrays belong together."""
    found = {name.removeprefix("baseline."): array for name, array in arrays.items() if name.startswith("baseline.")}
    number, edges = len(found["ids"]), found["edges"]
    for name in ROWS:
        if len(found[name]) != number:
            raise InvalidInput(f"expected {number} rows of baseline.{name}, got {len(found[name])}")
    if edges.ndim != 2 or edges.shape[1] != 2 or (edges.size and not 0 <= edges.min() <= edges.max() < number):
        raise InvalidInput(f"expected baseline.edges as pairs of rows from 0 to {number - 1}")
    max_norm, longest, typical = map(float, found["norms"])
    node, link = map(float, found["thresholds"])
    networks = sorted({name.split(".")[1] for name in found if name.startswith("student.")})
    weights = tuple({name: found[f"student.{one}.{name}"] for name in WEIGHTS} for one in networks)
    rows: dict[str, Any] = {name: found[name] for name in ("ids", "edges", "answers", "own", "digests")}
    student = Student(weights, found["half"], longest, typical)
    links, calibration = LinkModel(found["table"], found["beta"]), Calibration(node, link, found["excess"])
    made = Baseline(**rows, max_norm=max_norm, student=student, links=links, calibration=calibration)
    return LazyBaseline(made)
