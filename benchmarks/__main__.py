"""Speed and memory, stage by stage, always beside a plain GCN of torch-geometric in the same run.

    make bench                                     on this machine's CPU, the bundled graphs
    GVDN_DATA=... python -m benchmarks             the real graphs too
    GVDN_DATA=... python -m benchmarks --device cuda

Records are appended to results/speed.jsonl, with the machine in them; `python benchmarks/speed_page.py` draws
docs/speed.md of that file.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

PARTS = ("training", "epoch", "method", "growth")
REAL = ("cora", "citeseer", "pubmed", "amazon-photo", "coauthor-cs", "flickr-structure")


def jobs(options: argparse.Namespace) -> Iterator[tuple[str, list[Any]]]:
    """Each measurement and its arguments."""
    on_gpu = options.device.startswith("cuda")
    for dataset in options.datasets:
        if "training" in options.only and on_gpu:
            yield "training", [dataset, options.device, options.epochs, options.rounds]
        if "epoch" in options.only and not on_gpu:
            yield "epoch", [dataset, options.device, 4 * options.rounds]
    for method in options.methods if "method" in options.only and on_gpu else ():
        yield "method", [method, options.datasets[0], options.device, options.rounds]
    for nodes in options.nodes if "growth" in options.only else ():
        shape = [options.hidden, options.growth_epochs, options.links, options.fit_only]
        yield "growth", [int(float(nodes)), options.device, *shape]


def main() -> None:
    import speed  # after the path is set

    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    known = list(REAL) if os.environ.get("GVDN_DATA") else ["debian"]
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--datasets", nargs="+", default=known)
    parser.add_argument("--methods", nargs="+", default=["gvdn", *speed.METHODS])
    parser.add_argument("--nodes", nargs="+", default=["1e4", "3e4", "1e5", "3e5"], help="sizes of generated graphs")
    parser.add_argument("--links", type=int, default=speed.EDGES_PER_NODE, help="links per node of generated graphs")
    parser.add_argument("--hidden", type=int, default=200, help="width on generated graphs")
    parser.add_argument("--epochs", type=int, default=500, help="of a whole training")
    parser.add_argument("--growth-epochs", type=int, default=6)
    parser.add_argument("--fit-only", action="store_true", help="leave out what comes after fit, on generated graphs")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--records", type=Path, default=HERE.parent / "results" / "speed.jsonl")
    parser.add_argument("--job", nargs=2, metavar=("WHAT", "ARGUMENTS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        print(json.dumps(getattr(speed, options.job[0])(*json.loads(options.job[1]))))
        return
    for what, given in jobs(options):
        command = [sys.executable, str(HERE / "__main__.py"), "--job", what, json.dumps(given)]
        # Products in a fixed order need the first; a model of 10^6 nodes is larger than what is read without asking.
        environment = {"CUBLAS_WORKSPACE_CONFIG": ":4096:8", "GVDN_MAX_BYTES": str(1 << 40)} | os.environ
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
        if done.returncode:
            print(
                f"{what} {given}: failed: {(done.stderr.strip().splitlines() or ['no message'])[-1]}", file=sys.stderr
            )
            continue
        line = done.stdout.splitlines()[-1]
        print(line, flush=True)
        with options.records.open("a") as file:
            file.write(line + "\n")


if __name__ == "__main__":
    main()
