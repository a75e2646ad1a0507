"""Run mutated inputs through every reader of gvdn: `python tests/fuzz/run.py --cases 2000 --seed 0`.

Every case is valid input with a few changes, made from (kind, seed, number) alone. It is fine if it is refused in one
sentence, or accepted and valid by an independent check; anything else is a finding. The exit code is 1 if there is one.
"""

# ruff: noqa: E402, T201
from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path

for name, value in (("OMP_NUM_THREADS", "1"), ("ARROW_DEFAULT_MEMORY_POOL", "system"), ("MALLOC_ARENA_MAX", "1")):
    os.environ.setdefault(name, value)
for folder in ("tests", "src"):
    sys.path.insert(0, str(Path(__file__).parents[2] / folder))
os.environ.pop("GVDN_DATA", None)

import pyarrow
import torch
import torch._dynamo
from fuzz.harness import FINDINGS, FINE, HARNESS, Ended, run_cases, samples_of
from fuzz.kinds import KINDS


def main() -> int:
    given = parse()
    torch.set_num_threads(1)
    pyarrow.set_cpu_count(1)
    pyarrow.set_io_thread_count(1)
    if given.keep is not None:
        kind, number = given.only.split(":")
        print(*samples_of(kind, given.seed, int(number), given.keep), sep="\n")
        return 0
    began = time.perf_counter()
    ended = []
    for one in run_cases(shares(given), given.seed, processes=given.processes):
        ended.append(one)
        if given.progress and len(ended) % 2000 == 0:
            print(f"{len(ended):,} cases, {len(ended) / (time.perf_counter() - began):.0f} a second", file=sys.stderr)
    report(ended, given, time.perf_counter() - began)
    return int(any(one.outcome not in FINE for one in ended))


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=2000, help="how many, over all kinds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kind", choices=sorted(KINDS), action="append", help="only this kind; may be repeated")
    parser.add_argument("--only", metavar="KIND:NUMBER", help="one case, with its traceback")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="with --only: write its files there, read nothing")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--json", action="store_true", help="print one JSON object with counts and defects")
    parser.add_argument("--progress", action="store_true", help="say how far it is on standard error")
    given = parser.parse_args()
    if given.keep and not given.only:
        parser.error("--keep needs --only")
    return given


def shares(given: argparse.Namespace) -> dict[str, range | list[int]]:
    """The numbers of the cases by kind, by the kinds' shares."""
    if given.only:
        kind, number = given.only.split(":")
        return {kind: [int(number)]}
    chosen = [KINDS[name] for name in given.kind or KINDS]
    whole = sum(kind.share for kind in chosen)
    return {kind.name: range(max(1, round(given.cases * kind.share / whole))) for kind in chosen}


def report(ended: list[Ended], given: argparse.Namespace, seconds: float) -> None:
    defects: dict[tuple[str, ...], list[Ended]] = defaultdict(list)
    for one in ended:
        if one.outcome not in FINE:
            defects[one.defect].append(one)
    if given.json:
        found = [_as_json(some, given) for some in defects.values()]
        print(json.dumps({"seconds": seconds, "counts": counts(ended), "defects": found}))
        return
    columns = [*FINE, *FINDINGS, HARNESS]
    print("kind       " + "".join(f"{name:>11}" for name in columns))
    for kind, numbers in counts(ended).items():
        print(f"{kind:<11}" + "".join(f"{numbers.get(name, 0):>11,}" for name in columns))
    slow = max(ended, key=lambda one: one.seconds)
    print(f"the slowest took {slow.seconds:.1f} s: {slow.kind}:{slow.number}")
    pace = f"{len(ended):,} cases in {seconds:.0f} s, {len(ended) / seconds:.0f} a second"
    print(f"{pace}; {len(defects)} distinct findings")
    for some in sorted(defects.values(), key=lambda some: (some[0].kind, some[0].outcome, -len(some))):
        first = _as_json(some, given)
        where = f" in {first['where']}" if first["where"] else ""
        print(f"\n{first['kind']}: {first['outcome']}, {first['what']}{where} ({first['cases']} cases)")
        print(f"  input: {first['input']}\n  said: {first['message']}\n  {first['repeat']}")
        if given.only:
            print(some[0].trace)


def counts(ended: list[Ended]) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for one in ended:
        found[one.kind][one.outcome] += 1
    return found


def _as_json(some: list[Ended], given: argparse.Namespace) -> dict[str, object]:
    first = min(some, key=lambda one: one.number)
    return {
        "kind": first.kind,
        "outcome": first.outcome,
        "what": first.what,
        "where": first.where,
        "cases": len(some),
        "input": "; ".join(first.notes)[:300].encode("ascii", "backslashreplace").decode(),
        "message": " ".join(first.message.split())[:200].encode("ascii", "backslashreplace").decode(),
        "repeat": f"python tests/fuzz/run.py --seed {given.seed} --only {first.kind}:{first.number}",
    }


if __name__ == "__main__":
    sys.exit(main())
