"""The demo: a small study on the bundled graph, measured in this process."""

from dataclasses import replace
from importlib.resources import files
from pathlib import Path

from gvdn.bench.experiment import Experiment, Fit, Progress
from gvdn.bench.measure import measured
from gvdn.study import Record, Spec, load_spec
from gvdn.trust.diagnosis import Diagnosis

QUICK = {"epochs": 10, "recovery_epochs": 10, "trust": False}


def demo_spec(*, seed: int, quick: bool = False) -> Spec:
    """GVDN under three perturbations of the bundled graph; `quick` trains for a few epochs only."""
    spec = load_spec(Path(str(files("gvdn.bench") / "demo.toml")), own=False)
    rows = tuple(replace(row, settings=QUICK) for row in spec.rows) if quick else spec.rows
    return replace(spec, seeds=(seed,), rows=rows)


def run_in_process(
    spec: Spec, *, progress: Progress | None = None, fits: dict[str, Fit] | None = None
) -> dict[str, Record]:
    """The records of a spec by their keys; cells that fit the same method on the same graph share the fit."""
    fits = {} if fits is None else fits
    records: dict[str, Record] = {}
    for cell, modes in spec.tasks():
        experiment = Experiment(cell, "cpu", fits=fits, progress=progress)
        records |= {cell.key(mode): measured(experiment, mode) for mode in modes}
    return records


def what_the_diagnosis_says(spec: Spec, fits: dict[str, Fit]) -> str:
    """What the fitted model says of the first perturbed graph of the spec, whose fit is among the fits."""
    cell, _ = next(spec.tasks())
    experiment = Experiment(cell, "cpu", fits=fits)
    found: Diagnosis = experiment.fit(experiment.clean).model.diagnose(experiment.perturbed)
    if not found.perturbed:
        return f"gvdn diagnose calls the graph under {spec.rows[0].label} unsuspicious: {found.because}."
    first = [f"{found.graph.ids[node]} ({found.reasons.node(node)[0]})" for node in found.ranked_nodes[:3].tolist()]
    return (
        f"And which nodes are to blame? gvdn diagnose calls the graph under {spec.rows[0].label} perturbed: "
        f"{found.because}. Most suspicious: {', '.join(first)}."
    )
