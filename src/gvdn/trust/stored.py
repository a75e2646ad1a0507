"""What is stored of the clean graph as arrays for a file, and computed when it is first needed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from jaxtyping import Shaped

from gvdn.errors import InvalidInput
from gvdn.trust.baseline import Baseline, Calibration
from gvdn.trust.model import BINS, KNOWN, ROUNDS, WITNESSES, TrustModel
from gvdn.trust.regression import Blend, Regression, flat_size
from gvdn.trust.rows import DIMENSIONS
from gvdn.trust.scene import BY_ROW, OF_ROW, SIGNS, STRUCTURE, Learned
from gvdn.trust.student import HALVES, HIDDEN, Student

WEIGHTS = ("W_1", "b_1", "W_2", "b_2")
ROWS = ("ids", "edges", "answers", "own", "digests")
TRUST = {
    "trust.table": "float64 classes classes",
    "trust.prior": "float64 classes",
    "trust.basis": f"float32 features {DIMENSIONS}",
    "trust.centre": f"float64 {DIMENSIONS}",
    "trust.norms": "float64 2",
    "trust.signs": f"float64 {flat_size(len(SIGNS))}",
    "trust.structural": f"float64 {ROUNDS} {flat_size(len(STRUCTURE))}",
    "trust.by_row": f"float64 {ROUNDS} {flat_size(len(STRUCTURE + BY_ROW))}",
    "trust.rows": f"float64 {flat_size(len(OF_ROW))}",
    "trust.company": "float64 5",
    "trust.known": f"float64 2 {len(KNOWN)}",
    "trust.blend": f"float64 {len(KNOWN) + 1} {len(WITNESSES)}",
    "trust.temperature": "float64 1",
    "trust.brought_back": f"float64 {len(BINS) + 1} 3",
}
"""The arrays of a trust model in a file."""
BASELINE = {
    "baseline.ids": "ids b",
    "baseline.edges": "int64 e 2",
    "baseline.answers": "shares b classes",
    "baseline.own": "shares b classes",
    "baseline.digests": "uint64 b",
    "baseline.taught": "ids s",
    "baseline.half": "int64 s",
    "baseline.excess": "float64 d",
    "baseline.norms": "float64 3",
    "baseline.thresholds": "float64 2",
    **{
        f"baseline.student.{half}.{name}": f"float32 {sides}"
        for half in range(HALVES)
        for name, sides in zip(WEIGHTS, (f"features {HIDDEN}", HIDDEN, f"{HIDDEN} classes", "classes"), strict=True)
    },
    **TRUST,
}
"""The arrays of a baseline and of a trust model in a file."""


@dataclass
class LazyBaseline:
    """A baseline and a trust model, or how to compute each: once, when it is first asked for; `fit` does not wait.

    Args:
        source: the baseline without its calibration.
        calibrated: a baseline with it, which takes the trust model.
        trusting: the trust model of a baseline.
    """

    source: Baseline | Callable[[], Baseline]
    calibrated: Callable[[Baseline, TrustModel], Baseline]
    trusting: TrustModel | Callable[[Baseline], TrustModel]
    complete: Baseline | None = None

    def stored(self) -> Baseline:
        """The baseline, which may be without its calibration."""
        if not isinstance(self.source, Baseline):
            self.source = self.source()
        return self.source

    def get(self) -> Baseline:
        """The baseline with its calibration."""
        if self.complete is None:
            self.complete = self.calibrated(self.stored(), self.trust())
        return self.complete

    def trust(self) -> TrustModel:
        if not isinstance(self.trusting, TrustModel):
            self.trusting = self.trusting(self.stored())
        return self.trusting

    def only(self, ids: Shaped[np.ndarray, " k"]) -> "LazyBaseline":
        """The baseline of these nodes alone, so that what is withheld is withheld here too."""
        return LazyBaseline(partial(_only, self, ids), partial(_calibrated_as, self), partial(_trusting_as, self))


def _calibrated_as(whole: LazyBaseline, cut: Baseline, _: TrustModel) -> Baseline:
    return replace(cut, calibration=whole.get().calibration)


def _trusting_as(whole: LazyBaseline, _: Baseline) -> TrustModel:
    return whole.trust()


def _same(baseline: Baseline, _: TrustModel) -> Baseline:
    return baseline


def _only(whole: LazyBaseline, ids: Shaped[np.ndarray, " k"]) -> Baseline:
    baseline = whole.stored()
    return baseline.only(np.isin(baseline.ids, ids))


def baseline_arrays(lazy: LazyBaseline) -> dict[str, np.ndarray]:
    """Everything of a baseline and of its trust model by name."""
    baseline = lazy.get()
    student, calibration = baseline.student, baseline.calibration
    found = {name: getattr(baseline, name) for name in ROWS}
    found |= {"taught": student.ids, "half": student.half, "excess": calibration.excess}
    found["norms"] = np.array([baseline.max_norm, student.longest, student.typical])
    found["thresholds"] = np.array([calibration.node, calibration.link])
    for number, weights in enumerate(student.weights):
        found |= {f"student.{number}.{name}": weights[name] for name in WEIGHTS}
    return {f"baseline.{name}": array for name, array in found.items()} | _trust_arrays(lazy.trust())


def _trust_arrays(model: TrustModel) -> dict[str, np.ndarray]:
    learned, blend = model.learned, model.blend
    trusted = {name: getattr(learned, name) for name in ("table", "prior", "basis", "centre", "norms")}
    trusted["signs"] = model.signs.flat()
    trusted |= {"structural": np.stack([one.flat() for one in model.structural])}
    trusted |= {"by_row": np.stack([one.flat() for one in model.by_row]), "rows": model.rows.flat()}
    trusted |= {"company": model.company, "known": np.stack([blend.mean, blend.spread]), "blend": blend.A}
    trusted |= {"temperature": np.array([blend.t]), "brought_back": model.brought_back}
    return {f"trust.{name}": array for name, array in trusted.items()}


def restored_baseline(arrays: Mapping[str, np.ndarray]) -> LazyBaseline:
    """What `baseline_arrays` gave; raises InvalidInput unless the arrays belong together."""
    found = {name.removeprefix("baseline."): array for name, array in arrays.items() if name.startswith("baseline.")}
    _require_rows(found)
    max_norm, longest, typical = map(float, found["norms"])
    node, link = map(float, found["thresholds"])
    weights = tuple({name: found[f"student.{half}.{name}"] for name in WEIGHTS} for half in range(HALVES))
    student = Student(weights, found["taught"], found["half"], longest, typical)
    calibration = Calibration(node, link, found["excess"])
    rows: dict[str, Any] = {name: found[name] for name in ROWS}
    baseline = Baseline(**rows, max_norm=max_norm, student=student, calibration=calibration)
    return LazyBaseline(baseline, _same, _restored_trust(arrays, student), baseline)


def _restored_trust(arrays: Mapping[str, np.ndarray], student: Student) -> TrustModel:
    held = {name.removeprefix("trust."): array for name, array in arrays.items() if name.startswith("trust.")}
    learned = Learned(student, *(held[name] for name in ("table", "prior", "basis", "centre", "norms")))
    structural, by_row = (
        tuple(Regression.from_flat(one, len(names)) for one in held[name])
        for name, names in (("structural", STRUCTURE), ("by_row", STRUCTURE + BY_ROW))
    )
    signs, rows = Regression.from_flat(held["signs"], len(SIGNS)), Regression.from_flat(held["rows"], len(OF_ROW))
    if min(one.spread.min() for one in (*structural, *by_row, signs, rows)) <= 0 or held["known"][1].min() <= 0:
        raise InvalidInput("expected spreads above 0 in the trust model, got something else")
    mean, spread = held["known"]
    blend = Blend(mean, spread, held["blend"], float(held["temperature"][0]))
    return TrustModel(learned, signs, structural, by_row, rows, held["company"], blend, held["brought_back"])


def _require_rows(found: Mapping[str, np.ndarray]) -> None:
    """Raise where an array names a row, or a half of the students, that is not there."""
    for name, most in (("edges", len(found["ids"]) - 1), ("half", HALVES - 1)):
        array = found[name]
        if array.size and not 0 <= array.min() <= array.max() <= most:
            raise InvalidInput(f"expected whole numbers from 0 to {most} in baseline.{name}, got something else")
