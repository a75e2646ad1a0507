"""Write the settings that `gvdn tune` found into the catalogue.

    PYTHONPATH=src python benchmarks/tuned.py [--show]                 (records in results/tuning.jsonl)

The records are of `gvdn tune DATASET --method METHOD --trials 8 --perturbation wrong-links`, for every method and
dataset: the same number of trials each, scored on validation victims of seed 100 that arrive with wrong links, and that
no table reports. Taken is the best of nine: the eight that were drawn, and the settings as they stand without a search,
which are those of the authors of a method or of the paper, so that no method is worse off than in print. The tables
`tuned` stand at the end of a file of the catalogue, below `MARK`; where a table is empty, the settings as they stand
were the best. `--show` prints what was gained.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path

from gvdn.bench.tuning.records import Trial, Trials
from gvdn.reports.page import write_whole

ROOT = Path(__file__).parent.parent
TRIALS = 8
RECORDS = ROOT / "results" / "tuning.jsonl"
CATALOGUE = ROOT / "src" / "gvdn" / "data" / "datasets"
MARK = (
    "# Chosen by gvdn tune, 8 trials each beside the settings as they stand; "
    "benchmarks/tuned.py writes these from results/tuning.jsonl.\n"
)
SAME = {"snapshot": "gcn", "gcn-retrained": "gcn"}
"""References that are another method in all that is tuned -> that method."""

Searches = Mapping[tuple[str, str], list[Trial]]


def searches(path: Path = RECORDS) -> Searches:
    """Dataset and method -> the trials of a search that came to its end: the settings as they stand, then the drawn."""
    found: dict[tuple[str, str], list[Trial]] = defaultdict(list)
    for trial in Trials(path).by_key.values():
        if trial.trial <= TRIALS:
            found[trial.graph, trial.method].append(trial)
    whole = {pair: sorted(trials, key=lambda one: one.trial) for pair, trials in sorted(found.items())}
    return {pair: trials for pair, trials in whole.items() if len(trials) == TRIALS + 1}


def best(trials: list[Trial]) -> Trial:
    """The best, the settings as they stand among them."""
    return min((one for one in trials if one.error is None), key=lambda one: one.rank)


def tables(dataset: str, found: Searches) -> str:
    """The tables of a dataset's file, in the order of the methods' names."""
    chosen = {method: best(trials) for (graph, method), trials in found.items() if graph == dataset}
    chosen |= {name: chosen[same] for name, same in SAME.items() if same in chosen}
    lines = []
    for method, trial in sorted(chosen.items()):
        settings = (f"{name} = {json.dumps(value)}" for name, value in trial.settings.items())
        lines += ["", f"[tuned.{method}]", *settings]
    return MARK + "\n".join(lines[1:]) + "\n" if lines else ""


def filled(text: str, dataset: str, found: Searches) -> str:
    """The file of a dataset with these tables in the place of earlier ones."""
    above = text.split(MARK)[0].rstrip("\n") + "\n"
    below = tables(dataset, found)
    return f"{above}\n{below}" if below else above


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--show", action="store_true", help="print what was gained, and write nothing")
    show, found = parser.parse_args().show, searches()
    for dataset in dict.fromkeys(graph for graph, _ in found):
        path = CATALOGUE / f"{dataset}.toml"
        if not show:
            write_whole(path, filled(path.read_text(encoding="utf-8"), dataset, found))
    for (dataset, method), trials in found.items() if show else ():
        before, after = trials[0], best(trials)
        print(f"{dataset:14} {method:22} {before.score or 0:.3f} -> {after.score or 0:.3f}  {dict(after.settings)}")


if __name__ == "__main__":
    main()
