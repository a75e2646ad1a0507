"""What the two Gaussian heads of GVDN carry, and whether another treatment of them helps recovery.

    GVDN_DATA=... PYTHONPATH=src python benchmarks/heads.py [--datasets cora] [--seeds 100] [--variants gvdn]
                       [--device cuda] [--processes 4] [--output FILE] [--show]    (records in results/heads.jsonl)

For each dataset, seed and variant (`heads_variants.VARIANTS`) GVDN is fitted with the catalogue's settings; a record
has what the heads carry in every tenth epoch, and accuracies. Victims are validation nodes, so that variants can be
chosen without test data: a tenth of them get five links each to random nodes of other classes, features untouched
(`wrong links`), or they are the victims of `random-connections`. In recovery the victims and perturbators are withheld.
Choices are made on seeds from 100; tables use 0 to 9.
A killed run goes on with the same command; `--show` prints a table of the records.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from heads_variants import VARIANTS, HeadsGVDN

import gvdn
from gvdn.bench.origin import origin
from gvdn.graph import Graph
from gvdn.metrics import roc_auc
from gvdn.perturbations import PERTURBATIONS
from gvdn.perturbations.receipt import Changes
from gvdn.seeds import generator

RECORDS = Path(__file__).parent.parent / "results" / "heads.jsonl"
DATASETS = ("cora", "citeseer", "pubmed", "amazon-photo", "coauthor-cs")
LINKS, SHARE = 5, 0.1


class Job(NamedTuple):
    dataset: str
    seed: int
    variant: str


class Attacked(NamedTuple):
    graph: Graph
    victims: np.ndarray
    withheld: np.ndarray


def wrong_links(graph: Graph, candidates: np.ndarray, seed: int, links: int = LINKS, share: float = SHARE) -> Attacked:
    """A share of the candidates gets links to distinct random nodes of other classes, not linked to them before."""
    rng = generator(seed, "benchmark", "wrong links", graph.name)
    victims = np.sort(rng.choice(candidates, max(1, round(share * len(candidates))), replace=False))
    pairs: dict[tuple[int, int], None] = {}
    for victim in victims.tolist():
        start, stop = graph.adjacency.indptr[victim : victim + 2]
        others = np.flatnonzero((graph.labels != graph.labels[victim]) & (graph.labels >= 0))
        others = np.setdiff1d(others, graph.adjacency.indices[start:stop], assume_unique=True)
        for other in rng.choice(others, min(links, len(others)), replace=False).tolist():
            pairs[min(victim, other), max(victim, other)] = None
    added = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
    return Attacked(Changes(added=added).apply(graph), victims, victims)


def random_connections(graph: Graph, candidates: np.ndarray, seed: int) -> Attacked:
    found = PERTURBATIONS["random-connections"](graph, candidates, seed=seed)
    return Attacked(found.graph, found.victims, np.concatenate([found.victims, found.perturbators]))


def measured(job: Job, device: str) -> dict[str, Any]:
    """The record of one fit and its recoveries."""
    graph = gvdn.load_graph(job.dataset)
    split = gvdn.random_split(graph, seed=job.seed)
    model = HeadsGVDN.preset(job.dataset, variant=job.variant, trust=False, device=device)
    began = time.perf_counter()
    model.fit(graph, split, seed=job.seed)
    wrong = wrong_links(graph, split.val, job.seed)
    content: dict[str, Any] = {
        "settings": {name: value for name, value in model.get_params().items() if name != "device"},
        "fit_seconds": round(time.perf_counter() - began, 2),
        "epoch": model.outcome_.epoch,
        "heads": model.carried(graph),
        "trace": [{name: float(f"{value:.5g}") for name, value in point.items()} for point in model.trace_],
        "val": model.score(graph, split.val),
        "test": model.score(graph, split.test),
        "wrong links": recovered(model, graph, wrong),
        "auc_of_distance": ranked(model, wrong, split.val) if model.kind.predict else None,
        "random connections": recovered(model, graph, random_connections(graph, split.val, job.seed)),
    }
    return job._asdict() | content | {"seconds": round(time.perf_counter() - began, 2)} | origin(device)


def recovered(model: HeadsGVDN, clean: Graph, attacked: Attacked) -> dict[str, Any]:
    """Accuracies of the victims: clean, before recovery, and recovered with what was stored of them withheld."""
    graph, victims = attacked.graph, attacked.victims
    healed = model.recover(graph, known=np.setdiff1d(graph.ids, graph.ids[attacked.withheld]))
    return {
        "victims": len(victims),
        "clean": model.score(clean, victims),
        "before": model.score(graph, victims),
        "withheld": healed.score(graph, victims),
        "own features alone": own_score(healed, graph, victims) if model.kind.predict else None,
        "heads": healed.carried(graph),
    }


def own_score(model: HeadsGVDN, graph: Graph, nodes: np.ndarray) -> float:
    """The accuracy of what the heads answer from a node's own features alone."""
    return float((model.own_answers(graph)[nodes] == graph.labels[nodes]).mean())


def ranked(model: HeadsGVDN, attacked: Attacked, nodes: np.ndarray) -> float:
    """The area under the curve with which the distance of H from its prediction tells victims from these nodes."""
    return roc_auc(model.distances(attacked.graph)[nodes], np.isin(nodes, attacked.victims))


def done(jobs: list[Job], device: str, processes: int) -> Iterator[tuple[Job, dict[str, Any] | None]]:
    """The record of each job as it is finished; None of one that failed, which is said on stderr."""
    if processes == 1:
        for job in jobs:
            yield job, measured(job, device)
        return
    threads = max(1, torch.get_num_threads() // processes)
    spawned = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, spawned, torch.set_num_threads, (threads,)) as pool:
        waiting = {pool.submit(measured, job, device): job for job in jobs}
        for one in as_completed(waiting):
            problem = one.exception()
            if problem is not None:
                print(f"{waiting[one]} failed: {type(problem).__name__}: {problem}", file=sys.stderr, flush=True)
            yield waiting[one], None if problem is not None else one.result()


def read(path: Path) -> list[dict[str, Any]]:
    """The records; a line that a killed run left unfinished is passed over."""
    records = []
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            records.append(json.loads(line))
        except json.JSONDecodeError:
            print(f"{path}: passed over a line that is not whole", file=sys.stderr)
    return records


def numbers(record: dict[str, Any]) -> dict[str, float]:
    """The columns of the table: what the heads carry on the clean graph, and accuracies in %."""
    heads, wrong, random = (record[name] for name in ("heads", "wrong links", "random connections"))
    accuracies = {
        "val": record["val"],
        "test": record["test"],
        "wrong": wrong["before"],
        "wrong, withheld": wrong["withheld"],
        "random": random["before"],
        "random, withheld": random["withheld"],
    }
    carried = {"KL": heads["kl"], "mu / H": heads["mu"] / max(heads["H"], 1e-30), "Z in H_emb": heads["share_of_Z"]}
    return carried | {name: 100 * value for name, value in accuracies.items()}


def show(records: list[dict[str, Any]]) -> None:
    """A Markdown table: the mean over the seeds of each dataset and variant."""
    rows: dict[tuple[str, str], list[dict[str, float]]] = defaultdict(list)
    for record in records:
        rows[record["dataset"], record["variant"]].append(numbers(record))
    if not rows:
        return
    names = list(next(iter(rows.values()))[0])
    print("| dataset | variant | seeds | " + " | ".join(names) + " |")
    print("|---" * (3 + len(names)) + "|")
    order = {name: number for number, name in enumerate([*DATASETS, "debian", *VARIANTS])}
    for (dataset, variant), found in sorted(rows.items(), key=lambda row: [order.get(name, 99) for name in row[0]]):
        means = {name: float(np.mean([one[name] for one in found])) for name in names}
        told = (f"{value:.1f}" if number >= 3 else f"{value:.2g}" for number, value in enumerate(means.values()))
        print(f"| {dataset} | {variant} | {len(found)} | " + " | ".join(told) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=DATASETS, choices=(*DATASETS, "debian"))
    parser.add_argument("--seeds", nargs="+", type=int, default=[100, 101, 102])
    parser.add_argument("--variants", nargs="+", default=list(VARIANTS), choices=VARIANTS)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--processes", type=int, default=1, help="each does one dataset, seed and variant at a time")
    parser.add_argument("--output", type=Path, default=RECORDS)
    parser.add_argument("--show", action="store_true", help="print a table of the records, and run nothing")
    given = parser.parse_args()
    records = read(given.output)
    if given.show:
        show(records)
        return
    there = {Job(*(record[field] for field in Job._fields)) for record in records}
    wanted = [Job(d, s, v) for s in given.seeds for d in given.datasets for v in given.variants]
    jobs = [job for job in wanted if job not in there]
    print(f"{len(wanted) - len(jobs)} of {len(wanted)} records are there", flush=True)
    failed = 0
    for number, (job, record) in enumerate(done(jobs, given.device, given.processes), start=1):
        if record is None:
            failed += 1
            continue
        with given.output.open("a") as file:
            file.write(json.dumps(record) + "\n")
        told = "  ".join(f"{name} {value:.3g}" for name, value in numbers(record).items())
        print(f"{number}/{len(jobs)} {' '.join(map(str, job))}: {told}  {record['seconds']} s", flush=True)
    if failed:
        sys.exit(f"{failed} of {len(jobs)} runs failed; the same command runs them again")


if __name__ == "__main__":
    main()
