"""What is measured of a cell: a record for each of its modes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import numpy as np

import gvdn
from gvdn.bench.code import code_of
from gvdn.bench.experiment import Experiment, Fields, Fit, timed
from gvdn.bench.maps import mapped, mapped_by_epoch
from gvdn.bench.origin import commit, origin
from gvdn.bench.streaming import streamed
from gvdn.graph import Graph, statistics
from gvdn.methods.trusted import Trusted
from gvdn.study import Cell, Mode, Record

LOSSES_EVERY = 5
"""Epochs from one whose losses are recorded to the next."""

COUNTED = ("nodes", "edges", "edges_both_directions", "features", "classes", "average_degree_test", "edge_homophily")


def measure(
    cell: Cell,
    modes: Sequence[Mode],
    *,
    device: str = "cpu",
    attacked: Path | None = None,
    fits: dict[str, Fit] | None = None,
) -> Iterator[Record]:
    """A record of each mode: scores on the victims, the same before the perturbation where the method knew that graph,
    what else the mode keeps, seconds, and the process's peak memory.

    Graphs that attacks make are read from the folder `attacked`, or left there, for this state of the code. Fits are
    looked up in `fits`, if given, and left there.
    """
    folder = None if attacked is None else attacked / f"{gvdn.__version__}-{commit()}"
    experiment = Experiment(cell, device, folder, fits=fits)
    for mode in modes:
        yield measured(experiment, mode)


def measured(experiment: Experiment, mode: Mode) -> Record:
    """The record of one mode."""
    cell = experiment.cell
    code = code_of(cell, mode)  # before the run, so that it is that of the sources as they were when it began
    return Record(cell=cell, mode=mode, code=code, **MEASURES[mode](experiment), **origin(experiment.device))


def _asked(experiment: Experiment, fitted_on: Graph, graph: Graph) -> Fields:
    """Fitted on one graph and asked on another."""
    model = experiment.fit(fitted_on).model
    probs, answering = timed(lambda: model.predict_proba(graph))
    return experiment.fields(model, probs, {"answer": answering}, fitted_on=fitted_on)


def _in_front(experiment: Experiment, answers: Callable[[Trusted, Graph], np.ndarray]) -> Fields:
    """Fitted without the victims, with something in front of the method."""
    graph = experiment.without_victims
    trusted = experiment.fit(graph).trusted
    probs, answering = timed(lambda: answers(trusted, experiment.perturbed))
    return experiment.fields(trusted.model, probs, {"answer": answering}, fitted_on=graph)


def _withheld(experiment: Experiment) -> Fields:
    """Recovered without what was stored of the victims and of the perturbators."""
    hidden = experiment.perturbed.ids[np.union1d(experiment.scored, experiment.perturbators)]
    ids = experiment.clean.ids
    return experiment.recover(experiment.clean, known=ids[~np.isin(ids, hidden)]).fields


def _with_losses(experiment: Experiment) -> Fields:
    """Recovered, with the losses of the fit and of the recovery; without the latter if that did not train."""
    recovery, fitted = experiment.recovery, experiment.fit(experiment.clean).model
    trained = recovery.model.outcome_ is not fitted.outcome_
    histories = {"fit": fitted.outcome_.history, "recover": recovery.model.outcome_.history if trained else []}
    return recovery.fields | {"losses": {stage: thinned(history) for stage, history in histories.items()}}


def thinned(history: Sequence[dict[str, float]]) -> dict[str, list[float]]:
    """Every fifth epoch, counted from 1, and each of its losses to four figures; the validation score is no loss."""
    shown = range(0, len(history), LOSSES_EVERY)
    names = [name for name in history[0] if name != "val"] if history else []
    losses = {name: [float(f"{history[epoch][name]:.4g}") for epoch in shown] for name in names}
    return {"epochs": [float(epoch + 1) for epoch in shown], **losses}


def _counted(experiment: Experiment) -> Fields:
    """The dataset table's row; of the seed it has the split, and with it the degree of the test nodes."""
    found = asdict(statistics(experiment.clean, experiment.split))
    return {"counts": {name: found[name] for name in COUNTED}}


MEASURES: dict[Mode, Callable[[Experiment], Fields]] = {
    Mode.CLEAN: lambda experiment: _asked(experiment, experiment.clean, experiment.clean),
    Mode.EVASION: lambda experiment: _asked(experiment, experiment.clean, experiment.perturbed),
    Mode.POISONING: lambda experiment: _asked(experiment, experiment.perturbed, experiment.perturbed),
    Mode.POISONING_RECOVERED: lambda experiment: experiment.poisoned().fields,
    Mode.RECOVERED: lambda experiment: experiment.recovery.fields,
    Mode.WITHHELD: _withheld,
    Mode.NEW: lambda experiment: _asked(experiment, experiment.without_victims, experiment.perturbed),
    Mode.RECOVERED_NEW: lambda experiment: experiment.recover(experiment.without_victims).fields,
    Mode.NEW_GUARDED: lambda experiment: _in_front(experiment, Trusted.guarded_alone),
    Mode.NEW_TRUSTED: lambda experiment: _in_front(experiment, Trusted.predict_proba),
    Mode.NEW_WEIGHED: lambda experiment: _in_front(experiment, Trusted.weighed_alone),
    Mode.NEW_STUDENT: lambda experiment: _in_front(experiment, Trusted.student_alone),
    Mode.NEW_LINKS: lambda experiment: _in_front(experiment, Trusted.links_alone),
    Mode.MAPPED: mapped,
    Mode.MAPPED_BY_EPOCH: mapped_by_epoch,
    Mode.WITH_LOSSES: _with_losses,
    Mode.STREAMED: streamed,
    Mode.COUNTS: _counted,
}
"""Mode -> what is measured, as fields of its record."""
