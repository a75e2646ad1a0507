"""`gvdn predict`, `embed`, `threshold`: what a model says of the nodes of a graph, and how it decides."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gvdn.cli import graphs, options, parts, scores
from gvdn.cli.console import print_json, print_table, say
from gvdn.cli.model import ModelArgument, ModelOutput
from gvdn.errors import InvalidInput

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from gvdn.graph import Graph

TableOutput = Annotated[Path, typer.Option("--output", "-o", help="The file to write, .parquet or .csv.")]
SamplesOption = Annotated[int, typer.Option("--samples", help="Draws to average; adds their mutual information.")]
AbstainOption = Annotated[
    float | None,
    typer.Option(
        "--abstain",
        metavar="COVERAGE",
        help="Add the set of classes that holds the true one with this probability, and whether it is more than one.",
    ),
]


def predict(
    model: ModelArgument,
    graph: options.Graph,
    output: TableOutput,
    edges: options.Edges = None,
    samples: SamplesOption = 0,
    abstain: AbstainOption = None,
    curve: Annotated[
        Path | None,
        typer.Option("--curve", help="An SVG to write: the errors that are left when the least certain are left out."),
    ] = None,
    engine: parts.EngineOption = "local",
    workers: parts.WorkersOption = 1,
    address: parts.AddressOption = None,
    device: options.Device = "cpu",
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Write a table: id, class, the probability of each class, entropy; of GVDN also suspicious and why.

    Where the graph has labels that the model was not trained or chosen on, their scores are printed. Of a graph in
    parts, the output is a folder with a Parquet file for each part.
    """
    from gvdn.files import require_output

    where = parts.Where(engine, workers, address)
    if where.require_parts(graph):
        parts.refuse({"edges": edges, "abstain": abstain, "curve": curve})
        parts.answer_parts(
            model, graph, output, where, embeddings=False, samples=samples, device=device, force=force, as_json=as_json
        )
        return

    if curve is not None:
        require_output(curve, "file", force=force)
    loaded, read, table, probs = _answers(
        model, graph, output, edges, samples, device, force, as_json, abstain=abstain, scored=curve is not None
    )
    found = _judged(loaded, read, probs)
    if curve is not None:
        found["risk_coverage_area"] = _write_curve(loaded, read, probs, curve)
    if abstain is not None:
        found["abstained"] = float(table["abstain"].to_numpy().mean())
    if as_json:
        print_json(found | {"output": str(output), "rows": table.num_rows, "notes": list(read.notes)})
        return
    if "scores" in found:
        scores.print_scores(f"{read.name}: labels that the model was not given", found["scores"])
    for sentence in found["warnings"]:
        say(f"warning: {sentence}")
    if abstain is not None:
        say(f"{found['abstained']:.1%} of the nodes are left undecided at a coverage of {abstain:.0%}")
    say(f"written: {output} ({table.num_rows:,} rows, {table.num_columns:,} columns)")
    if curve is not None:
        say(f"written: {curve}")


def embed(
    model: ModelArgument,
    graph: options.Graph,
    output: TableOutput,
    edges: options.Edges = None,
    samples: SamplesOption = 0,
    engine: parts.EngineOption = "local",
    workers: parts.WorkersOption = 1,
    address: parts.AddressOption = None,
    device: options.Device = "cpu",
    force: options.Force = False,
) -> None:
    """Write a table: id, class, the probability of each class, entropy, and the embedding (h0, h1, …).

    Of a graph in parts, the output is a folder with a Parquet file for each part.
    """
    where = parts.Where(engine, workers, address)
    if where.require_parts(graph):
        parts.refuse({"edges": edges})
        parts.answer_parts(
            model, graph, output, where, embeddings=True, samples=samples, device=device, force=force, as_json=False
        )
        return
    _, _, table, _ = _answers(model, graph, output, edges, samples, device, force, False, embeddings=True)
    say(f"written: {output} ({table.num_rows:,} rows, {table.num_columns:,} columns)")


def threshold(
    model: ModelArgument,
    output: ModelOutput,
    goal: Annotated[
        str, typer.Option("--goal", help="f1, balanced-accuracy, recall=SHARE or precision=SHARE; for two classes.")
    ] = "f1",
    positive: Annotated[
        str | None, typer.Option("--positive", help="The class to find; the rarer if not given.")
    ] = None,
    costs: Annotated[
        Path | None,
        typer.Option("--costs", help="A table of costs instead: a column true, and one for each class that is named."),
    ] = None,
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Choose how the model decides, on its validation nodes: a new model; the old one stays as it is.

    A threshold on the probability of one of two classes, or the costs of every kind of error for any number of them.
    """
    from gvdn.files import require_output
    from gvdn.methods.decisions import validation, with_threshold
    from gvdn.metrics import classification

    require_output(output, "folder", force=force)
    if output.resolve() == model.resolve():
        raise InvalidInput(f"the output {output} is the model itself, which stays as it is; choose another")
    old = parts.load_whole(model, takes_parts=False)
    chosen: float | None = None
    if costs is not None:
        new = _with_costs(old, costs)
    else:
        new, chosen = with_threshold(old, goal, positive)
    probs, labels = validation(old)
    before, after = (classification(probs, labels, old.class_names_, one.decide(probs)) for one in (old, new))
    new.save(output, force=force)
    if as_json:
        print_json({"threshold": chosen, "before": before.as_json(), "after": after.as_json(), "output": str(output)})
        return
    if chosen is not None:
        say(f"threshold: {chosen:.4f} for {goal}")
    rows = [
        [words.removeprefix("test "), f"{getattr(before, key):.2%}", f"{getattr(after, key):.2%}"]
        for key, words in scores.SHARES.items()
        if key not in ("roc_auc", "average_precision", "majority_rate")
    ]
    for one, other in zip(before.classes, after.classes, strict=True):
        for key in ("recall", "precision"):
            both = [getattr(side, key) for side in (one, other)]
            rows.append([f"{key} of {one.name}", *("–" if share is None else f"{share:.2%}" for share in both)])
    print_table("on the validation nodes", ["", "before", "after"], rows)
    say(f"written: {output}")


def _answers(
    model: Path,
    graph: str,
    output: Path,
    edges: Path | None,
    samples: int,
    device: str,
    force: bool,
    quiet: bool,
    *,
    embeddings: bool = False,
    abstain: float | None = None,
    scored: bool = False,
) -> tuple[Any, Graph, pa.Table, np.ndarray]:
    import numpy as np

    from gvdn.data.table_files import require_ending, write_table
    from gvdn.files import require_output
    from gvdn.methods.answers import answer_table

    require_ending(output)
    require_output(output, "file", force=force)
    loaded = parts.load_whole(model, device)
    read = graphs.load(graph, edges, model=loaded, quiet=quiet)
    if scored and not len(_not_given(loaded, read)):
        raise InvalidInput(f"{read.name} has no label that the model was not given; give more labels, or no --curve")
    table = answer_table(loaded, read, samples, embeddings=embeddings, coverage=abstain)
    write_table(table, output)
    return loaded, read, table, np.column_stack([table[f"p_{name}"].to_numpy() for name in loaded.class_names_])


def _judged(model: Any, graph: Graph, probs: np.ndarray) -> dict[str, Any]:
    """The scores on labelled nodes that the model was neither trained nor chosen on, where there are any."""
    from gvdn.methods.advice import one_class

    said = one_class(model, probs)
    found: dict[str, Any] = {"warnings": [] if said is None else [said]}
    nodes = _not_given(model, graph)
    if len(nodes):
        found["scores"] = scores.of_nodes(model, probs, graph, nodes).as_json()
    return found


def _not_given(model: Any, graph: Graph) -> np.ndarray:
    """The labelled nodes that the model was neither trained nor chosen on."""
    import numpy as np

    from gvdn.graph.graph import find_ids

    used = np.concatenate([model.labels_.train_ids, model.labels_.val_ids])
    return np.flatnonzero((graph.labels >= 0) & (find_ids(used, graph.ids) < 0))


def _write_curve(model: Any, graph: Graph, probs: np.ndarray, path: Path) -> float:
    """Draw the risk at every coverage; returns the area under it."""
    from gvdn.files import whole_file
    from gvdn.methods.checks import labels_by_name
    from gvdn.metrics import risk_coverage
    from gvdn.reports.figures import curves

    nodes = _not_given(model, graph)
    found = risk_coverage(probs[nodes], labels_by_name(graph, model.class_names_)[nodes])
    every = slice(None, None, max(1, len(nodes) // 200))
    xs, ys = ((100 * part[every]).tolist() for part in (found.coverage, found.risk))
    svg = curves(
        {graph.name: {model.name: (xs, ys, [0.0] * len(xs))}},
        xlabel="nodes that are answered, %",
        ylabels=["errors among them, %"],
        title="Risk and coverage",
    )
    with whole_file(path) as draft:
        draft.write_text(svg, encoding="utf-8")
    return found.area


def _with_costs(model: Any, path: Path) -> Any:
    """The model that decides by the costs of a table."""
    import numpy as np

    from gvdn.data.table_files import read_table
    from gvdn.methods.decisions import decided
    from gvdn.metrics import Decision

    table = read_table(path, text=("true",))
    names = list(model.class_names_)
    if set(table.column_names) != {"true", *names}:
        got = ", ".join(table.column_names)
        raise InvalidInput(f"{path}: expected the columns true, {', '.join(names)}, got {got}")
    rows = [str(name) for name in table["true"].to_pylist()]
    if sorted(rows) != sorted(names):
        raise InvalidInput(f"{path}: expected one row for each of {', '.join(names)} under true, got {', '.join(rows)}")
    try:
        costs = np.array([table[name].to_pylist() for name in names], dtype=np.float64).T
    except (TypeError, ValueError) as problem:
        raise InvalidInput(
            f"{path}: expected a number in every cell ({problem}); write 0 where it is right"
        ) from problem
    return decided(model, Decision(costs[[rows.index(name) for name in names]]))
