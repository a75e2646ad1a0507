"""`gvdn train`, `recover`, `update`: from a graph to a model."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gvdn.cli import graphs, options, parts, scores
from gvdn.cli.console import progress, waiting
from gvdn.errors import InvalidInput, TrainingWarning

if TYPE_CHECKING:
    from gvdn.graph import Graph
    from gvdn.methods import Method

ModelArgument = Annotated[Path, typer.Argument(metavar="MODEL", help="A folder that gvdn train or gvdn recover wrote.")]
ModelOutput = Annotated[Path, typer.Option("--output", "-o", help="The folder to write the model into.")]
MethodOption = Annotated[str, typer.Option("--method", metavar="METHOD", help="Which method: gvdn methods lists them.")]
SelectOption = Annotated[
    str | None, typer.Option("--select", help="The score that chooses the epoch: accuracy, macro-f1, auc or loss.")
]
WeightOption = Annotated[
    str | None, typer.Option("--class-weight", help="balanced: rare classes count as much as frequent ones.")
]
SettingOption = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting of the method, e.g. --set epochs=100; may be repeated."),
]
RecoverySettingOption = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help="A setting that the recovery of the method reads, e.g. --set recovery_epochs=100; may be repeated.",
    ),
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
    train_share: options.Train = None,
    val_share: options.Val = None,
    test_share: options.Test = None,
    all_labels: Annotated[
        bool,
        typer.Option("--all-labels", help="Use every label: nine tenths to train on, one tenth to choose the epoch."),
    ] = False,
    method: MethodOption = "gvdn",
    select: SelectOption = None,
    class_weight: WeightOption = None,
    seed: options.Seed = 0,
    setting: SettingOption = None,
    paper: Annotated[
        bool, typer.Option("--paper", help="What the GVDN paper prints; of gvdn, without our additions.")
    ] = False,
    engine: parts.EngineOption = "local",
    workers: parts.WorkersOption = 1,
    address: parts.AddressOption = None,
    min_workers: parts.FewestOption = None,
    save_memory: parts.MemoryOption = False,
    device: options.Device = "cpu",
    reproducible: options.Reproducible = False,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Train a method on a clean graph and keep the model; GVDN keeps the embeddings of the graph's nodes with it.

    Stopped half way (Ctrl-C, a crash), the same command goes on where it was, at most 20 epochs back. A graph that gvdn
    partition divided is trained on part by part, here or by the workers of a cluster.
    """
    from gvdn.files import drop_progress, progress_file, require_output, whole_folder
    from gvdn.methods import METHODS, make_method
    from gvdn.methods.decisions import calibrated
    from gvdn.nn.device import usable_device

    require_output(output, "folder", force=force)
    method = METHODS.canonical(method)
    usable_device(device)
    first, second, third = (0.9, 0.1, 0.0) if all_labels else (train_share, val_share, test_share)
    settings = options.parse_settings(setting or [])
    settings |= {key: word for key, word in (("select", select), ("class_weight", class_weight)) if word is not None}
    where = parts.Where(engine, workers, address, min_workers)
    if where.require_parts(graph):
        parts.refuse({"edges": edges, "column": column, "relation": relation})
        how: dict[str, Any] = {
            "method": method,
            "settings": settings,
            "paper": paper,
            "seed": seed,
        }
        usual = (0.1 if first is None else first, 0.2 if second is None else second, third)
        how |= {"shares": usual, "table": Path(split) if split else None, "device": device, "recompute": save_memory}
        parts.train_parts(graph, output, where, **how, force=force, as_json=as_json)
        return
    loaded = graphs.load(graph, edges, column=column, relation=relation, quiet=as_json)
    chosen = graphs.split_of(loaded, split, seed=seed, quiet=as_json, train=first, val=second, test=third)
    model = make_method(method, graphs.preset_of(graph), paper=paper, device=device).set_params(**settings)
    require_output(output, "folder", force=force, needs=_model_bytes(model, loaded))
    resume = progress_file(output, f"{model} {loaded.hash} {seed}", chosen.train.tobytes(), chosen.val.tobytes())
    with progress(f"training {method} on {loaded.name}", model.rounds()) as callback, warnings.catch_warnings():
        warnings.simplefilter("ignore", TrainingWarning)  # told below, with what else there is to tell
        model.fit(loaded, chosen, seed=seed, callback=callback, resume=resume)
    model = calibrated(model, loaded)
    with whole_folder(output, force=force) as folder, waiting():
        model.save(folder)
        chosen.save(folder / "split.csv", loaded)
    drop_progress(output)
    found = scores.of_training(model, loaded, chosen)
    scores.report(f"{method} trained on {loaded.name}", found, output, loaded, as_json)


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
    poisoned: Annotated[
        bool,
        typer.Option("--poisoned", help="The graph of the training may be perturbed: judge it and train again."),
    ] = False,
    setting: RecoverySettingOption = None,
    engine: parts.EngineOption = "local",
    workers: parts.WorkersOption = 1,
    address: parts.AddressOption = None,
    min_workers: parts.FewestOption = None,
    save_memory: parts.MemoryOption = False,
    device: options.Device = "cpu",
    reproducible: options.Reproducible = False,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Recover on a perturbed graph: a new model; the old one stays as it is.

    For the methods that gvdn methods lists with recover. GVDN judges links and rows first, and of four ways to recover
    takes the one that brings most withheld answers back; where the graph does not look perturbed, it leaves the model
    as it is unless another way brings more of them back by over two standard errors. With --set trust=false it trains
    without that choice. Settings are those that a recovery reads, such as recovery_epochs; others are refused.
    """
    from gvdn.data import read_ids
    from gvdn.files import drop_progress, progress_file, require_output, whole_folder
    from gvdn.methods.decisions import calibrated
    from gvdn.methods.recovered_on import note_graph
    from gvdn.methods.recovery_settings import require_read

    require_output(output, "folder", force=force)
    if output.resolve() == model.resolve():
        raise InvalidInput(f"the output {output} is the model itself, which recovery leaves as it is; choose another")
    where = parts.Where(engine, workers, address, min_workers)
    if where.require_parts(graph):
        parts.refuse({"edges": edges, "poisoned": poisoned})
        how: dict[str, Any] = {"settings": options.parse_settings(setting or []), "device": device}
        how |= {"known": known, "labels": labels}
        parts.recover_parts(model, graph, output, where, **how, recompute=save_memory, force=force, as_json=as_json)
        return
    old = parts.load_whole(model, device)
    able, settings = _recover_options(old), options.parse_settings(setting or [])
    old = old.set_params(**settings)
    require_read(old, settings, poisoned=poisoned)
    perturbed = graphs.load(graph, edges, model=old, quiet=as_json)
    wanted: dict[str, Any] = {}
    if known is not None:
        wanted["known"] = read_ids(known, like=perturbed)
    wanted |= {name: True for name, given in (("labels", labels), ("poisoned", poisoned)) if given}
    for option in wanted:
        if option not in able:
            raise InvalidInput(f"--{option} is not supported by the method {old.name}; leave it out")
    weights = (model / "weights.safetensors").read_bytes()
    require_output(output, "folder", force=force, needs=COPIES * len(weights))
    if "resume" in able:
        chosen = repr(wanted["known"].tolist()).encode() if known is not None else b""
        wanted["resume"] = progress_file(output, f"{old} {perturbed.hash} {labels} {poisoned}", weights, chosen)
    rounds = old.recovery_rounds(poisoned=True) if poisoned else old.recovery_rounds()
    with progress(f"recovering on {perturbed.name}", rounds) as callback:
        new = old.recover(perturbed, callback=callback, **wanted)
    new = calibrated(new, perturbed)
    with whole_folder(output, force=force) as folder, waiting():
        new.save(folder)
        note_graph(folder, perturbed)
    drop_progress(output)
    scores.report(
        f"{old.name} recovered on {perturbed.name}", _changes(old, new, perturbed), output, perturbed, as_json
    )


def update(
    model: ModelArgument,
    graph: options.Graph,
    output: ModelOutput,
    edges: options.Edges = None,
    epochs: Annotated[int, typer.Option("--epochs", min=0, help="Epochs of further training; 0 for none.")] = 15,
    device: options.Device = "cpu",
    reproducible: options.Reproducible = False,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Bring a model to a later state of its graph: a new model; the old one stays as it is.

    New nodes enter what is stored and deleted ones leave it, labels that arrived since are used, and training goes on
    from the weights for a few epochs. The columns are found by name, as at the training.
    """
    from gvdn.files import drop_progress, progress_file, require_output
    from gvdn.methods.decisions import calibrated

    require_output(output, "folder", force=force)
    if output.resolve() == model.resolve():
        raise InvalidInput(f"the output {output} is the model itself, which an update leaves as it is; choose another")
    old = parts.load_whole(model, device, takes_parts=False)
    loaded = graphs.load(graph, edges, model=old, quiet=as_json)
    weights = (model / "weights.safetensors").read_bytes()
    require_output(output, "folder", force=force, needs=COPIES * len(weights))
    resume = progress_file(output, f"update {old} {loaded.hash} {epochs}", weights)
    with progress(f"updating {old.name} on {loaded.name}", epochs) as callback:
        new = old.update(loaded, epochs=epochs, callback=callback, resume=resume)
    new = calibrated(new, loaded)
    with waiting():
        new.save(output, force=force)
    drop_progress(output)
    found = _arrivals(old, new) | _changes(old, new, loaded)
    scores.report(f"{old.name} updated to {loaded.name}", found, output, loaded, as_json)


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


def _arrivals(old: Any, new: Any) -> dict[str, Any]:
    """How many labels the update had, and how many of them arrived since."""
    import numpy as np

    from gvdn.graph.graph import find_ids

    before, after = (model.labels_ for model in (old, new))
    known = np.concatenate([before.train_ids, before.val_ids]).astype(after.train_ids.dtype)
    return {
        "training_labels": len(after.train_ids),
        "validation_labels": len(after.val_ids),
        "labels_arrived": sum(int((find_ids(known, ids) < 0).sum()) for ids in (after.train_ids, after.val_ids)),
        "epoch": new.outcome_.epoch + 1,
    }


def _changes(old: Method, new: Method, graph: Graph) -> dict[str, Any]:
    from gvdn.metrics import normalised_entropy

    before, after = old.predict_proba(graph), new.predict_proba(graph)
    report = getattr(new, "report_", None)
    chosen = {} if report is None else {"recovery": report.as_json() | {"sentence": str(report)}}
    return (
        chosen
        | new.reliance(graph)
        | {
            "answers_changed": float((before.argmax(axis=1) != after.argmax(axis=1)).mean()),
            "entropy_before": normalised_entropy(before),
            "entropy_after": normalised_entropy(after),
        }
    )
