"""The commands that are killed: what they need, what they write, and what must be the same at the end."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from commands import run_inside, settings, write_tables

FEW = settings(hidden=4, epochs=41)
VOLATILE = ("seconds", "seconds_each", "peak_mib")
SPEC = """
title = "Mine"
datasets = ["."]
seeds = [0]

[[row]]
method = "gcn"
modes = ["evasion"]
settings = { hidden = 4, epochs = 3 }

[[row]]
method = "gvdn"
modes = ["evasion", "recovered"]
settings = { hidden = 4, epochs = 3, recovery_epochs = 3 }
perturbation = "nettack"
perturbation_settings = { link_flips = 1, feature_flips = 1 }
"""


@dataclass(frozen=True)
class Scenario:
    """A command in a folder.

    Attributes:
        words: the command.
        before: commands that are run first, undisturbed.
        output: the folder that it writes; with `replaces`, there is an older one in its place.
    """

    name: str
    words: tuple[str, ...]
    before: tuple[tuple[str, ...], ...] = ()
    output: str = "out/new"
    replaces: bool = False


TRAIN = ("train", ".", "-o", "out/new", *FEW)
OLD = ("train", ".", "-o", "model", "--method", "gvdn", *settings(hidden=4, epochs=3, recovery_epochs=41))
GCN = ("train", ".", "-o", "model", "--method", "gcn", *settings(hidden=4, epochs=3))
RECOVER = ("recover", "model", ".", "-o", "out/new")
PERTURB = ("perturb", ".", "--kind", "random-connections", "-o", "out/new", "--set", "victim_fraction=0.3")
NETTACK = ("perturb", ".", "--kind", "nettack", "--model", "model", "--victims", "victims.csv", "-o", "out/new")
NETTACK += tuple(settings(link_flips=1, feature_flips=1))
OTHER = ("train", ".", "-o", "out/new", "--seed", "7", *settings(hidden=4, epochs=3))
PARTITION = ("partition", ".", "-o", "out/new", "--parts", "3", "--partitioner", "stream")
PARTS = ("partition", ".", "-o", "parts", "--parts", "3", "--partitioner", "stream")
TRAIN_PARTS = ("train", "parts", "-o", "out/new", *FEW)
TUNE = ("tune", ".", "-o", "out/new.jsonl", "--method", "mlp", "--trials", "2", "--set", "epochs=3")
OTHER_GRAPH = (*PERTURB, "--seed", "7")

SCENARIOS = {
    one.name: one
    for one in (
        Scenario("train", TRAIN),
        Scenario("train-force", (*TRAIN, "--force"), (OTHER,), replaces=True),
        Scenario("recover", RECOVER, (OLD,)),
        Scenario("recover-force", (*RECOVER, "--force"), (OLD, OTHER), replaces=True),
        Scenario("perturb", PERTURB),
        Scenario("perturb-force", (*PERTURB, "--force"), (OTHER_GRAPH,), replaces=True),
        Scenario("nettack", NETTACK, (GCN,)),
        Scenario("nettack-force", (*NETTACK, "--force"), (GCN, OTHER_GRAPH), replaces=True),
        Scenario("partition", PARTITION),
        Scenario("train-parts", TRAIN_PARTS, (PARTS,)),
        Scenario("train-parts-force", (*TRAIN_PARTS, "--force"), (PARTS, OTHER), replaces=True),
        Scenario("tune", TUNE, output="out"),
        Scenario("bench", ("bench", "run", "spec.toml", "--records", "out/new"), output="out/new"),
    )
}


def prepare(scenario: Scenario, folder: Path) -> None:
    """The folder as it is before the command."""
    folder.mkdir(parents=True)
    write_tables(folder)
    (folder / "victims.csv").write_text("\n".join(["id", *(f"p{number:02d}" for number in range(0, 36, 3))]) + "\n")
    (folder / "spec.toml").write_text(SPEC)
    for words in scenario.before:
        done = run_inside(folder, *words)
        assert done.returncode == 0, done.stderr


def work(scenario: Scenario, folder: Path) -> Callable[[], tuple[int, str]]:
    def run() -> tuple[int, str]:
        done = run_inside(folder, *scenario.words)
        return done.returncode, done.stderr

    return run


def content(folder: Path) -> dict[str, Any]:
    """All files of a folder by name; of records only what is the same in every run."""
    return {
        str(path.relative_to(folder)): _records(path) if path.suffix == ".jsonl" else path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() or path.is_symlink()
    } | {f"{path.relative_to(folder)}/": b"" for path in folder.rglob("*") if path.is_dir() and not any(path.iterdir())}


def _records(path: Path) -> list[str]:
    """The records in the order of their keys; a torn line is cut off by the next run, so that each line is one."""
    found = []
    for line in path.read_text().splitlines():
        record = json.loads(line)
        found.append(
            json.dumps({name: value for name, value in record.items() if name not in VOLATILE}, sort_keys=True)
        )
    return sorted(found)


def copied(start: Path, to: Path) -> Path:
    """A fresh copy of a prepared folder, always at the same path: a random split depends on the folder's name."""
    shutil.rmtree(to, ignore_errors=True)
    shutil.copytree(start, to, symlinks=True)
    return to
