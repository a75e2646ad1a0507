"""Kill commands at every file operation, run them again, and compare bits: `python tests/crash/run.py`.

A kill point is fine if the second run ends with the same files, bit for bit, as a run that was left alone, and with
nothing else; if no worker outlives the kill; and, where an older output is replaced, if the old or the new one is whole
at every moment. The exit code is 1 if one is not.
"""

# ruff: noqa: E402, T201
from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections import Counter
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
for folder in ("tests", "src"):
    sys.path.insert(0, str(Path(__file__).parents[2] / folder))
os.environ.pop("GVDN_DATA", None)

import torch
import torch._dynamo
from crash.judge import PROBLEMS, Problem, bench, killed_at, order
from crash.scenarios import SCENARIOS

import gvdn.bench.measure
import gvdn.bench.modes
import gvdn.bench.run  # noqa: F401


def main() -> int:
    given = parse()
    torch.set_num_threads(1)
    problems: list[Problem] = []
    counted: dict[str, Counter[str]] = {}
    began = time.perf_counter()
    names = [given.only.split(":")[0]] if given.only else given.scenario or list(SCENARIOS)
    for name in names:
        with bench(name) as one:
            points = one.points()
            count = counted.setdefault(name, Counter(operations=len(one.alone.operations)))
            if given.only:
                _, number, *torn = given.only.split(":")
                points = [(int(number), bool(torn))]
            elif given.order:
                points = []
            elif given.sample:
                points = sorted(random.Random(f"{given.seed} {name}").sample(points, min(given.sample, len(points))))
            if given.list:
                print(*(f"{number}\t{operation}" for number, operation in enumerate(one.alone.operations)), sep="\n")
                continue
            found = [] if given.only else order(one)
            for number, torn in points:
                here = killed_at(one, number, torn)
                found += here
                count["kills"] += 1
                count["fine"] += not here
            count.update(problem.what for problem in found)
            problems += found
    if not given.list:
        report(counted, problems, time.perf_counter() - began, as_json=given.json)
    return int(bool(problems))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scenario", choices=list(SCENARIOS), action="append", help="only this one; may be repeated")
    parser.add_argument("--sample", type=int, default=0, help="so many kill points of each scenario; all if not given")
    parser.add_argument("--seed", type=int, default=0, help="of the sample")
    parser.add_argument("--only", metavar="SCENARIO:NUMBER[:torn]", help="one kill point")
    parser.add_argument("--order", action="store_true", help="no kills, only the order of operations")
    parser.add_argument("--list", action="store_true", help="only list the operations")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args()


def report(counted: dict[str, Counter[str]], problems: list[Problem], seconds: float, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps({"seconds": seconds, "counts": counted, "problems": [vars(one) for one in problems]}))
        return
    columns = ("operations", "kills", "fine", *PROBLEMS)
    print(f"{'scenario':<15}" + "".join(f"{name:>11}" for name in columns))
    for name, count in counted.items():
        print(f"{name:<15}" + "".join(f"{count.get(column, 0):>11}" for column in columns))
    print(f"{sum(count['kills'] for count in counted.values())} kills in {seconds:.0f} s")
    groups: dict[tuple[str, str, str], list[Problem]] = {}
    for one in problems:
        groups.setdefault((one.scenario, one.what, "" if one.what == "left" else one.detail), []).append(one)
    for (scenario, what, detail), some in groups.items():
        print(f"\n{scenario}: {what} ({len(some)}): {detail or some[0].detail}")
        print(f"  first at: {some[0].at}\n  {some[0].repeat}")


if __name__ == "__main__":
    sys.exit(main())
