"""`gvdn train`, `recover`, `predict`, `embed`: from a graph to a model to tables."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gvdn.cli import graphs, options
from gvdn.cli.console import print_json, print_table, progress, say
from gvdn.errors import InvalidInput

if TYPE_CHECKING:
    from gvdn.graph import Graph, Split
    from gvdn.methods import Method

ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder that gvdn train or gvdn recover wrote.")]
ModelOutput = Annotated[Path, typer.Option("--output", "-o", help="The folder to write the model into.")]
TableOutput = Annotated[Path, typer.Option("--output", "-o", help="The file to write, .parquet or .csv.")]
SamplesOption = Annotated[int, typer.Option("--samples", help="Draws to average; adds their mutual information.")]
MethodOption = Annotated[str, typer.Option("--method", metavar="METHOD", help="Which method: gvdn methods lists them.")]
SettingOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting of the method, e.g. --set epochs=100; may be repeated."),
]

COPIES = 5
"""Of the weights: the model's, and in its progress file the last ones, the best ones and two moments of Adam."""


def train(
    graph: options.Graph,
    output: ModelOutput,
    edges: options.Edges = None,
    column: graphs.Column = None,
    relation: graphs.Relation = None,
    split: options.Split = None,
    method: MethodOption = "gvdn",
    seed: options.Seed = 0,
    setting: SettingOption = None,
    paper: Annotated[bool, typer.Option("--paper", help="GVDN's printed settings instead of ours.")] = False,
    device: options.Device = "cpu",
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Train a method on a clean graph and keep the model; GVDN keeps the embeddings of the graph's nodes with it.

    Stopped half way (Ctrl-C, a crash), the same command goes on where it was, at most 20 epochs back.
    """
    from gvdn.files import drop_progress, progress_file, require_output, whole_folder
    from gvdn.graph import Split, random_split
    from gvdn.methods import METHODS, make_method
    from gvdn.nn.device import usable_device

    require_output(output, "folder", force=force)
    method = METHODS.canonical(method)
    if paper and method != "gvdn":
        raise InvalidInput(f"--paper is for gvdn; the settings of {method} are the paper's already; leave it out")
    usable_device(device)
    loaded = graphs.load(graph, edges, column=column, relation=relation, quiet=as_json)
    parts = Split.load(split, loaded) if split else random_split(loaded, seed=seed)
    model = make_method(method, graph, paper=paper, device=device).set_params(**options.parse_settings(setting or []))
    require_output(output, "folder", force=force, needs=_model_bytes(model, loaded))
    resume = progress_file(output, f"{model} {loaded.hash} {seed}", parts.train.tobytes(), parts.val.tobytes())
    with progress(f"training {method} on {loaded.name}", model.rounds()) as callback:
        model.fit(loaded, parts, seed=seed, callback=callback, resume=resume)
    with whole_folder(output, force=force) as folder:
        model.save(folder)
        parts.save(folder / "split.csv", loaded)
    drop_progress(output)
    _report(f"{method} trained on {loaded.name}", _scores(model, loaded, parts), output, loaded, as_json)


def recover(
    model: ModelArgument,
    graph: options.Graph,
    output: ModelOutput,
    edges: options.Edges = None,
    known: Annotated[
        Path | None,
        typer.Option("--known", help="A table with a column id: only what was stored of these nodes is used."),
    ] = None,
    labels: Annotated[bool, typer.Option("--labels", help="Use the training labels too; the paper uses none.")] = False,
    setting: SettingOption = None,
    device: options.Device = "cpu",
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Recover on a perturbed graph: a new model; the old one stays as it is.

    For the methods that gvdn methods lists with recover.
    """
    from gvdn.data import read_ids
    from gvdn.files import drop_progress, progress_file, require_output
    from gvdn.methods.files import load_model

    require_output(output, "folder", force=force)
    if output.resolve() == model.resolve():
        raise InvalidInput(f"the output {output} is the model itself, which recovery leaves as it is; choose another")
    old: Any = load_model(model, device=device)
    old = old.set_params(**options.parse_settings(setting or []))
    able = _recover_options(old)
    perturbed = graphs.load(graph, edges, model=old, quiet=as_json)
    wanted: dict[str, Any] = {}
    if known is not None:
        wanted["known"] = read_ids(known, like=perturbed)
    if labels:
        wanted["labels"] = True
    for option in wanted:
        if option not in able:
            raise InvalidInput(f"--{option} is not supported by the method {old.name}; leave it out")
    weights = (model / "weights.safetensors").read_bytes()
    require_output(output, "folder", force=force, needs=COPIES * len(weights))
    if "resume" in able:
        chosen = repr(wanted["known"].tolist()).encode() if known is not None else b""
        wanted["resume"] = progress_file(output, f"{old} {perturbed.hash} {labels}", weights, chosen)
    with progress(f"recovering on {perturbed.name}", old.recovery_rounds()) as callback:
        new = old.recover(perturbed, callback=callback, **wanted)
    new.save(output, force=force)
    drop_progress(output)
    _report(f"{old.name} recovered on {perturbed.name}", _changes(old, new, perturbed), output, perturbed, as_json)


def predict(
    model: ModelArgument,
    graph: options.Graph,
    output: TableOutput,
    edges: options.Edges = None,
    samples: SamplesOption = 0,
    device: options.Device = "cpu",
    force: options.Force = False,
) -> None:
    """Write a table: id, class, the probability of each class, entropy; of GVDN also suspicious and why."""
    _write_answers(model, graph, output, edges, samples, device, force, embeddings=False)


def embed(
    model: ModelArgument,
    graph: options.Graph,
    output: TableOutput,
    edges: options.Edges = None,
    samples: SamplesOption = 0,
    device: options.Device = "cpu",
    force: options.Force = False,
) -> None:
    """Write a table: id, class, the probability of each class, entropy, and the embedding (h0, h1, …)."""
    _write_answers(model, graph, output, edges, samples, device, force, embeddings=True)


def _write_answers(
    model: Path,
    graph: str,
    output: Path,
    edges: Path | None,
    samples: int,
    device: str,
    force: bool,
    *,
    embeddings: bool,
) -> None:
    from gvdn.data.table_files import require_ending, write_table
    from gvdn.files import require_output
    from gvdn.methods.answers import answer_table
    from gvdn.methods.files import load_model

    require_ending(output)
    require_output(output, "file", force=force)
    loaded = load_model(model, device=device)
    table = answer_table(loaded, graphs.load(graph, edges, model=loaded), samples, embeddings=embeddings)
    write_table(table, output)
    say(f"written: {output} ({table.num_rows:,} rows, {table.num_columns:,} columns)")


def _model_bytes(model: Any, graph: Graph) -> int:
    """About what the model and its progress take on the disk."""
    return COPIES * 4 * model.get_params().get("hidden", 0) * (graph.num_features + graph.num_nodes)


def _recover_options(model: Method) -> tuple[str, ...]:
    """What the model's `recover` takes besides the graph."""
    if not model.capabilities.recovers:
        raise InvalidInput(
            f"the method {model.name} does not recover; gvdn predict asks it on the perturbed graph as it is, gvdn "
            "train fits it anew there"
        )
    return model.capabilities.recover_options


def _scores(model: Any, graph: Graph, split: Split) -> dict[str, float | None]:
    from gvdn.metrics import accuracy, normalised_entropy

    probs = model.predict_proba(graph)
    scores: dict[str, float | None] = {"validation_accuracy": model.outcome_.score}
    if len(split.test):
        scores["test_accuracy"] = accuracy(probs[split.test], graph.labels[split.test])
        scores["test_entropy"] = normalised_entropy(probs[split.test])
    return scores


def _changes(old: Method, new: Method, graph: Graph) -> dict[str, float | None]:
    from gvdn.metrics import normalised_entropy

    before, after = old.predict_proba(graph), new.predict_proba(graph)
    return new.reliance(graph) | {
        "answers_changed": float((before.argmax(axis=1) != after.argmax(axis=1)).mean()),
        "entropy_before": normalised_entropy(before),
        "entropy_after": normalised_entropy(after),
    }


def _report(title: str, numbers: dict[str, float | None], output: Path, graph: Graph, as_json: bool) -> None:
    if as_json:
        print_json(numbers | {"output": str(output), "notes": list(graph.notes)})
        return
    rows = [[name.replace("_", " "), "–" if value is None else f"{value:.2%}"] for name, value in numbers.items()]
    print_table(title, ["", "value"], rows)
    say(f"written: {output}")
