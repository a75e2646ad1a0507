"""`gvdn tune`: the settings of a method, chosen on validation data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gvdn.cli import graphs, options
from gvdn.cli.console import counted, counting, print_json, print_table, say
from gvdn.cli.model import MethodOption, SettingOption
from gvdn.errors import InvalidInput

if TYPE_CHECKING:
    from gvdn.bench.tuning.records import Trial
    from gvdn.bench.tuning.search import Found

SHOWN = 5
"""Trials in the table: the best ones."""


def tune(
    graph: options.Graph,
    method: MethodOption = "gvdn",
    trials: Annotated[int, typer.Option("--trials", min=1, help="How many combinations of settings are tried.")] = 30,
    perturbation: Annotated[
        str,
        typer.Option("--perturbation", help="Score validation nodes under wrong-links or random-connections, or none."),
    ] = "none",
    mode: Annotated[
        str,
        typer.Option(
            "--mode", help="With a perturbation: new (victims are absent when fitted), evasion, or poisoning."
        ),
    ] = "new",
    select: Annotated[
        str, typer.Option("--select", help="The score: accuracy, macro-f1, auc or loss. It chooses the epoch, too.")
    ] = "accuracy",
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file for the records, one line of JSON for each trial.")
    ] = Path("tuning.jsonl"),
    edges: options.Edges = None,
    column: graphs.Column = None,
    relation: graphs.Relation = None,
    split: options.Split = None,
    seed: options.Seed = 100,
    setting: SettingOption = None,
    device: options.Device = "cpu",
    as_json: options.Json = False,
) -> None:
    """Choose the settings of a method by random search on validation nodes; no test label is read.

    Every method has the same four settings and about as many of its own to search, and gets the same number of trials.
    A setting that is given with --set is not searched. The settings as they stand are measured for comparison.

    Stopped or killed, the same command goes on: trials that are in the file are not run again.
    """
    from gvdn.bench.tuning.question import Question
    from gvdn.bench.tuning.search import Search
    from gvdn.nn.device import usable_device
    from gvdn.study import Mode

    usable_device(device)
    if mode not in list(Mode):
        raise InvalidInput(f"expected --mode new, evasion or poisoning, got {mode!r}")
    fixed = options.parse_settings(setting or [])
    loaded = graphs.load(graph, edges, column=column, relation=relation, quiet=as_json)
    chosen = graphs.split_of(loaded, split, seed=seed, quiet=as_json)
    question = Question(loaded, chosen, seed, perturbation, Mode(mode), select)
    how: dict[str, Any] = {"dataset": graphs.preset_of(graph), "fixed": fixed, "device": device}
    search = Search(question, method, trials=trials, **how)
    with counting(f"tuning {search.method} on {loaded.name}") as move:
        found = search.run(output, move)
    if as_json:
        print_json(_as_json(found))
    else:
        _print(found, output)


def _as_json(found: Found) -> dict[str, Any]:
    return {
        "best": found.best.to_json(),
        "standard_error": round(found.noise, 5),
        "as_it_stands": found.as_it_stands.to_json(),
        "trials": [trial.to_json() for trial in found.trials],
        "options": found.options,
        "toml": found.toml,
    }


def _print(found: Found, output: Path) -> None:
    scored = sorted((trial for trial in found.trials if trial.error is None), key=lambda trial: trial.rank)
    failed = len(found.trials) - len(scored)
    rows = [_row(str(trial.trial), trial) for trial in scored[:SHOWN]]
    rows.append(_row("as it stands", found.as_it_stands))
    best = found.best
    title = f"{found.method} on {best.graph}, {best.select} in % on {best.nodes} validation nodes"
    title += "" if best.mode == "clean" else f", {best.perturbation}, {best.mode}"
    print_table(title, ["trial", "score", "clean", "settings"], rows, text=(3,))
    scores = f"{counted(len(scored), 'trial')} scored, {failed} failed"
    say(f"{scores}; one standard error of the best score: {100 * found.noise:.1f}")
    if best.rank >= (found.as_it_stands.rank if found.as_it_stands.error is None else (float("inf"), 0.0, 0)):
        say("no trial was better than the settings as they stand; keep these, or try more trials")
    typer.echo(f"\n{found.options}\n\n{found.toml}\n")  # to be copied, so no line is broken
    say(f"written: {output}")


def _row(name: str, trial: Trial) -> list[str]:
    if trial.score is None:
        return [name, "–", "–", trial.error or ""]
    said = " ".join(f"{key}={value}" for key, value in trial.settings.items())
    return [name, f"{100 * trial.score:.1f}", f"{100 * (trial.clean or 0):.1f}", said]
