"""What each witness of the trust model is worth, and each part of its fit: accuracy at new victims without it.

    GVDN_DATA=... PYTHONPATH=src python benchmarks/witnesses.py [--datasets cora] [--seeds 0] [--attacks nettack]
                      [--variants all] [--device cuda] [--show]          (records in results/witnesses.jsonl)

A plain GCN is fitted on the clean graph without the victims, and they arrive in the perturbed one (the mode "new" of
the studies, with their test victims, attacks and seeds); trust stands in front of it. `VARIANTS` says what is changed.
The variants that leave a witness out share everything with `all` but the blend, which is fitted again; that without the
guard shares all; the others fit the trust model again. Nothing is chosen by these numbers. A killed run goes on with
the same command; `--show` prints a table of the records.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

from gvdn.bench.experiment import Experiment, Fit
from gvdn.bench.origin import origin
from gvdn.graph import Graph
from gvdn.methods.trusted import Trusted
from gvdn.study import Cell
from gvdn.trust import fitting, model, simulation
from gvdn.trust.front import Front, front_of
from gvdn.trust.model import KNOWN, WITNESSES, TrustModel
from gvdn.trust.regression import fit_blend

RECORDS = Path(__file__).parent.parent / "results" / "witnesses.jsonl"
ATTACKED = RECORDS.parent / "runs" / "attacked" / "witnesses"
DATASETS = ("cora", "citeseer", "pubmed", "amazon-photo", "coauthor-cs")
ATTACKS: dict[str, tuple[str, dict[str, Any]]] = {
    "wrong-links": ("wrong-links", {}),
    "prbcd": ("prbcd", {"edge_fraction": 0.05}),
    "nettack": ("nettack", {}),
}
ABOUT = {
    "row": ("entropy of the row", "row and network agree", "row and links agree"),
    "links": ("of the links", "row and links agree", "links and network agree"),
    "network": ("of the network", "row and network agree", "links and network agree"),
}
"""What is known of a node only because this witness is heard: its entropy, and whether others agree with it."""


@contextmanager
def rows_taken_as_honest() -> Iterator[None]:
    """No row is judged: each counts in full, and each link is judged with the rows at its ends."""

    def concluded(self: TrustModel, scene: Any, apart: Any, without: Any, with_rows: Any) -> Any:
        genuine = np.full(scene.graph.num_edges, model.SETTLED)
        genuine[scene.judged] = with_rows
        return model.Judgement(scene, genuine, np.ones(scene.graph.num_nodes), with_rows, without, with_rows)

    with patch.object(TrustModel, "concluded", concluded), ExitStack() as stack:
        for module in (model, fitting):
            stack.enter_context(patch.object(module, "heard_by_signs", lambda scene, signs: scene))
        yield


@contextmanager
def links_by_structure() -> Iterator[None]:
    """No link is judged by the rows at its ends."""
    fit_links, links = fitting._fit_links, TrustModel._links
    with (
        patch.object(fitting, "_fit_links", lambda *given, by_row: fit_links(*given, by_row=False)),
        patch.object(TrustModel, "_links", lambda self, scene, by_row: links(self, scene, by_row=False)),
    ):
        yield


VARIANTS: dict[str, Callable[[], Any] | None] = {
    "all": None,
    **{f"without {name}": None for name in WITNESSES},
    "without the guard": None,
    "rows taken as honest": rows_taken_as_honest,
    "links by structure alone": links_by_structure,
    "one round": lambda: patch.object(fitting, "ROUNDS", 1),
    "no rows that lie in the simulations": lambda: patch.object(
        fitting, "REGIMES", tuple((0.0, hit) for _, hit in simulation.REGIMES)
    ),
    "no chosen links in the simulations": lambda: patch.object(simulation, "CHOSEN", 0.0),
}
"""What is changed while a trust model is fitted and asked; None where that of `all` serves."""
REFERENCES = ("nothing perturbed, nothing in front", "nothing in front", "the guard alone")


class Shared:
    """A fit without the victims, its baseline, the trust model of `all`, and what the blend of that was fitted on."""

    def __init__(self, fit: Fit) -> None:
        self.fit, self.trusted = fit, Trusted(fit.model, fit.graph)
        self.baseline = self.trusted.baseline.stored()
        self._whole: tuple[TrustModel, tuple[Any, ...]] | None = None

    def refitted(self) -> TrustModel:
        """The trust model, fitted with what is patched at the time of the call."""
        lazy = Trusted(self.fit.model, self.fit.graph).baseline
        lazy.source = self.baseline
        return lazy.trust()

    @property
    def whole(self) -> tuple[TrustModel, tuple[Any, ...]]:
        if self._whole is None:
            with patch.object(fitting, "fit_blend", wraps=fit_blend) as fitted:
                self._whole = self.refitted(), fitted.call_args.args
        return self._whole


def probabilities(shared: Shared, experiment: Experiment, variant: str) -> np.ndarray:
    """The class probabilities of every node of the perturbed graph."""
    trusted, graph = shared.trusted, experiment.perturbed
    if variant in REFERENCES:
        if variant == REFERENCES[2]:
            return trusted.guarded_alone(graph)
        return trusted.model.predict_proba(experiment.clean if variant == REFERENCES[0] else graph)
    changed = VARIANTS[variant]
    if changed is not None:
        with changed():
            return joined(trusted, front_of(shared.refitted(), shared.baseline, accepted(trusted, graph)))
    whole, taught = shared.whole
    front = front_of(whole, shared.baseline, accepted(trusted, graph), guard=variant != "without the guard")
    left_out = variant.removeprefix("without ")
    return without_witness(trusted, front, taught, left_out) if left_out in WITNESSES else joined(trusted, front)


def accepted(trusted: Trusted, graph: Graph) -> Graph:
    return trusted.model.accepted(graph)


def joined(trusted: Trusted, front: Front) -> np.ndarray:
    return front.answers(trusted.model.predict_proba(front.seen))


def without_witness(trusted: Trusted, front: Front, taught: tuple[Any, ...], left_out: str) -> np.ndarray:
    """The answers of a blend that is fitted on the same cases and does not hear one of the witnesses."""
    logs, known, classes, weight = taught
    heard, about = [name != left_out for name in WITNESSES], [name not in ABOUT[left_out] for name in KNOWN]
    blend = fit_blend(logs[:, heard], known[:, about], classes, weight)
    found = trusted.model.predict_proba(front.seen).astype(np.float64)
    logs, known = model.witnesses(front.judgement, found, front.in_question)
    found[front.in_question] = blend.log_probs(logs[:, heard], known[:, about])
    return found


def measured(dataset: str, seed: int, attack: str, variants: list[str], device: str) -> Iterator[dict[str, Any]]:
    """A record of each variant."""
    perturbation, settings = ATTACKS[attack]
    experiment = Experiment(Cell(dataset, "gcn", seed, perturbation, settings), device, ATTACKED)
    shared = Shared(experiment.fit(experiment.without_victims))
    for variant in variants:
        began = time.perf_counter()
        answers = probabilities(shared, experiment, variant)[experiment.scored].argmax(axis=1)
        yield {
            "dataset": dataset,
            "seed": seed,
            "attack": attack,
            "variant": variant,
            "accuracy": round(float((answers == experiment.clean.labels[experiment.scored]).mean()), 5),
            "victims": len(experiment.scored),
            "graph": experiment.perturbed.hash[:12],
            "seconds": round(time.perf_counter() - began, 2),
        } | origin(device)


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def show(records: list[dict[str, Any]]) -> None:
    """A Markdown table: the mean accuracy in % over the seeds, of `all`, and the difference of the others from it."""
    columns = [(d, a) for a in ATTACKS for d in DATASETS if any((r["dataset"], r["attack"]) == (d, a) for r in records)]
    found: dict[tuple[str, str, str], dict[int, float]] = defaultdict(dict)
    for record in records:
        found[record["dataset"], record["attack"], record["variant"]][record["seed"]] = 100 * record["accuracy"]
    print("| | " + " | ".join(f"{attack}, {dataset}" for dataset, attack in columns) + " |")
    print("|---" + "|---:" * len(columns) + "|")
    for variant in (*REFERENCES, *VARIANTS):
        told = []
        for column in columns:
            whole, these = found[*column, "all"], found[*column, variant]
            if variant in (*REFERENCES, "all"):
                told.append(f"{np.mean(list(these.values())):.1f}" if these else "–")
            else:
                apart = [these[seed] - whole[seed] for seed in these if seed in whole]
                told.append(f"{np.mean(apart):+.1f}".replace("-", "−") if apart else "–")
        print(f"| {variant} | " + " | ".join(told) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=DATASETS, choices=DATASETS)
    parser.add_argument("--seeds", nargs="+", type=int, default=[0, 1, 2])
    parser.add_argument("--attacks", nargs="+", default=list(ATTACKS), choices=ATTACKS)
    parser.add_argument("--variants", nargs="+", default=[*REFERENCES, *VARIANTS], choices=[*REFERENCES, *VARIANTS])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--show", action="store_true", help="print a table of the records, and run nothing")
    given = parser.parse_args()
    records = read(RECORDS)
    if given.show:
        show(records)
        return
    there = {tuple(record[key] for key in ("dataset", "seed", "attack", "variant")) for record in records}
    for dataset, seed, attack in ((d, s, a) for d in given.datasets for s in given.seeds for a in given.attacks):
        missing = [variant for variant in given.variants if (dataset, seed, attack, variant) not in there]
        for record in measured(dataset, seed, attack, missing, given.device) if missing else ():
            with RECORDS.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(json.dumps({key: record[key] for key in list(record)[:8]}), flush=True)


if __name__ == "__main__":
    main()
