"""`gvdn train`, `recover`, `predict`, `embed`: from a graph to a model to tables."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gvdn.cli.console import (
    EdgesOption,
    ForceOption,
    GraphArgument,
    JsonOption,
    SeedOption,
    SplitOption,
    console,
    parse_settings,
    plain_table,
    print_json,
    progress,
)
from gvdn.errors import InvalidInput

if TYPE_CHECKING:
    from gvdn.graph import Graph, Split
    from gvdn.methods.gvdn import GVDN

ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder that gvdn train or gvdn recover wrote.")]
ModelOutput = Annotated[Path, typer.Option("--output", "-o", help="The folder to write the model into.")]
TableOutput = Annotated[Path, typer.Option("--output", "-o", help="The file to write, .parquet or .csv.")]
DeviceOption = Annotated[str, typer.Option("--device", help="cpu, cuda or cuda:1.")]
SamplesOption = Annotated[int, typer.Option("--samples", help="Noise draws to average; adds how far they disagree.")]
SettingOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting of GVDN, e.g. --set epochs=100; may be repeated."),
]


def train(
    graph: GraphArgument,
    output: ModelOutput,
    edges: EdgesOption = None,
    split: SplitOption = None,
    seed: SeedOption = 0,
    setting: SettingOption = None,
    paper: Annotated[bool, typer.Option("--paper", help="The paper's printed settings instead of ours.")] = False,
    device: DeviceOption = "cpu",
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train GVDN on a clean graph and keep the model with the embeddings of its nodes.

    Stopped half way (Ctrl-C, a crash), the same command goes on where it was, at most 20 epochs back.
    """
    from gvdn.data import load_graph
    from gvdn.files import refuse_to_overwrite, whole_folder
    from gvdn.graph import Split, random_split
    from gvdn.methods.gvdn import GVDN
    from gvdn.methods.presets import preset_for_any

    refuse_to_overwrite(output, force=force)
    loaded = load_graph(graph, edges)
    parts = Split.load(split, loaded) if split else random_split(loaded, seed=seed)
    model = GVDN(**preset_for_any(graph, paper=paper), device=device).with_settings(**parse_settings(setting or []))
    resume = _progress_file(output, f"{model} {loaded.hash} {seed}", parts.train.tobytes(), parts.val.tobytes())
    with progress(f"training on {loaded.name}", model.epochs) as callback:
        model.fit(loaded, parts, seed=seed, callback=callback, resume=resume)
    with whole_folder(output, force=force) as folder:
        model.save(folder)
        parts.save(folder / "split.csv", loaded)
    _report(f"trained on {loaded.name}", _scores(model, loaded, parts), output, as_json)


def recover(
    model: ModelArgument,
    graph: GraphArgument,
    output: ModelOutput,
    edges: EdgesOption = None,
    known: Annotated[
        Path | None, typer.Option("--known", help="A table with a column id: only these nodes' embeddings are used.")
    ] = None,
    labels: Annotated[bool, typer.Option("--labels", help="Use the training labels too; the paper uses none.")] = False,
    setting: SettingOption = None,
    device: DeviceOption = "cpu",
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Recover on a perturbed graph: a new model; the old one stays as it is."""
    from gvdn.data import load_graph, read_ids
    from gvdn.files import refuse_to_overwrite
    from gvdn.methods.gvdn import GVDN

    refuse_to_overwrite(output, force=force)
    if output.resolve() == model.resolve():
        raise InvalidInput(f"the output {output} is the model itself, which recovery leaves as it is; choose another")
    old = GVDN.load(model, device=device).with_settings(**parse_settings(setting or []))
    perturbed = load_graph(graph, edges)
    ids = None if known is None else read_ids(known, like=perturbed)
    weights = (model / "weights.safetensors").read_bytes()
    chosen = b"" if ids is None else repr(ids.tolist()).encode()
    resume = _progress_file(output, f"{old} {perturbed.hash} {labels}", weights, chosen)
    with progress(f"recovering on {perturbed.name}", old.recovery_epochs) as callback:
        new = old.recover(perturbed, known=ids, labels=labels, callback=callback, resume=resume)
    new.save(output, force=force)
    _report(f"recovered on {perturbed.name}", _changes(old, new, perturbed), output, as_json)


def predict(
    model: ModelArgument,
    graph: GraphArgument,
    output: TableOutput,
    edges: EdgesOption = None,
    samples: SamplesOption = 0,
    device: DeviceOption = "cpu",
) -> None:
    """Write a table: id, class, the probability of each class, entropy."""
    _write_answers(model, graph, output, edges, samples, device, embeddings=False)


def embed(
    model: ModelArgument,
    graph: GraphArgument,
    output: TableOutput,
    edges: EdgesOption = None,
    samples: SamplesOption = 0,
    device: DeviceOption = "cpu",
) -> None:
    """Write a table: id, class, the probability of each class, entropy, and the embedding (h0, h1, …)."""
    _write_answers(model, graph, output, edges, samples, device, embeddings=True)


def _write_answers(
    model: Path, graph: str, output: Path, edges: Path | None, samples: int, device: str, *, embeddings: bool
) -> None:
    from gvdn.data import load_graph
    from gvdn.data.table_files import require_ending, write_table
    from gvdn.methods.answers import answer_table
    from gvdn.methods.gvdn import GVDN

    require_ending(output)
    table = answer_table(GVDN.load(model, device=device), load_graph(graph, edges), samples, embeddings=embeddings)
    write_table(table, output)
    console().print(f"written: {output} ({table.num_rows:,} rows, {table.num_columns:,} columns)")


def _progress_file(output: Path, run: str, *content: bytes) -> Path:
    """Beside the output, named by everything the run depends on, so that only the same run goes on from it."""
    name = hashlib.sha256(b"\x1f".join([run.encode(), *content])).hexdigest()[:12]
    return output.parent / f".{output.name}-{name}.progress.safetensors"


def _scores(model: GVDN, graph: Graph, split: Split) -> dict[str, float | None]:
    from gvdn.metrics import accuracy, normalised_entropy

    probs = model.predict_proba(graph)
    scores: dict[str, float | None] = {"validation_accuracy": model.outcome_.score}
    if len(split.test):
        scores["test_accuracy"] = accuracy(probs[split.test], graph.labels[split.test])
        scores["test_entropy"] = normalised_entropy(probs[split.test])
    return scores


def _changes(old: GVDN, new: GVDN, graph: Graph) -> dict[str, float | None]:
    from gvdn.metrics import normalised_entropy

    before, after = old.predict_proba(graph), new.predict_proba(graph)
    return {
        "nodes_with_stored_embedding": float((new.memory_.places(graph) >= 0).mean()),
        "nodes_that_lean_on_it": float((new.memory_.lean(graph, new.evidence_floor) > 0).mean()),
        "answers_changed": float((before.argmax(axis=1) != after.argmax(axis=1)).mean()),
        "entropy_before": normalised_entropy(before),
        "entropy_after": normalised_entropy(after),
    }


def _report(title: str, numbers: dict[str, float | None], output: Path, as_json: bool) -> None:
    if as_json:
        print_json(numbers | {"output": str(output)})
        return
    rows = [[name.replace("_", " "), "–" if value is None else f"{value:.2%}"] for name, value in numbers.items()]
    console().print(plain_table(title, ["", "value"], rows))
    console().print(f"written: {output}")
