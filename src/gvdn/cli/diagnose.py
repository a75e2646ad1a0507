"""`gvdn diagnose`: is this graph perturbed, where, and what should be done."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gvdn.cli import graphs, options, parts
from gvdn.cli.console import print_json, print_table, say
from gvdn.cli.model import ModelArgument
from gvdn.errors import InvalidInput

if TYPE_CHECKING:
    from gvdn.methods import Method
    from gvdn.trust.diagnosis import Diagnosis

WAYS = {
    "nothing": "nothing needs to be done",
    "update": "update the model: gvdn update {model} {graph} -o MODEL2",
    "recover": "recover: gvdn recover {model} {graph} -o HEALED",
    "fit anew": "fit a new model: gvdn train {graph} -o MODEL2",
}
HEALED = "nothing more: the model was recovered on this graph, and gvdn predict {model} {graph} answers with it"
PARTS_WAYS = WAYS | {"update": "train a new model on this graph: gvdn train {graph} -o MODEL2"}
"""What can be done on parts."""


def diagnose(
    model: ModelArgument,
    graph: options.Graph,
    edges: options.Edges = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="A folder for the tables of all nodes and new links (Parquet), or a file for that of the nodes "
            "(.parquet or .csv).",
        ),
    ] = None,
    page: Annotated[Path | None, typer.Option("--page", help="An HTML page to write.")] = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Suspicious nodes and links to show.")] = 10,
    engine: parts.EngineOption = "local",
    workers: parts.WorkersOption = 1,
    address: parts.AddressOption = None,
    device: options.Device = "cpu",
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Compare a graph with what the model stored of the clean one: is it perturbed, where, and what should be done.

    The thresholds were calibrated on natural churn of the clean graph, with 5 % of false alarms. Of a graph in parts,
    the output is a folder with a table of nodes and one of new links for each part.
    """

    from gvdn.methods.recovered_on import was_recovered_on

    where = parts.Where(engine, workers, address)
    if where.require_parts(graph):
        parts.refuse({"edges": edges, "page": page})
        _of_parts(model, graph, output, where, top, device, force, as_json)
        return
    _refuse(output, page, force)
    loaded = parts.load_whole(model, device)
    _require_diagnosis(loaded)
    found: Diagnosis = loaded.diagnose(graphs.load(graph, edges, model=loaded, quiet=as_json))
    healed = was_recovered_on(model, found.graph)
    summary = _summary(found, top, healed)
    written = _write(found, output, page, force, healed)
    if as_json:
        print_json(summary | {"written": [str(path) for path in written]})
        return
    way = HEALED if healed and summary["advice"] == "nothing" else WAYS[summary["advice"]]
    _print(summary, list(found.counts), way.format(model=model, graph=graph))
    for path in written:
        say(f"written: {path}")


def _of_parts(
    model: Path, graph: str, output: Path | None, where: parts.Where, top: int, device: str, force: bool, as_json: bool
) -> None:
    from gvdn.trust.diagnosis import COUNTS

    found = parts.diagnose_parts(model, graph, output, where, device=device, force=force)
    for name in ("nodes_ranked", "links_ranked", "new_ids", "vanished_ids"):
        found[name] = found[name][:top]
    written = [] if output is None else [str(output)]
    if as_json:
        print_json(found | {"written": written})
        return
    _print(found, list(COUNTS), PARTS_WAYS[found["advice"]].format(model=model, graph=graph))
    for path in written:
        say(f"written: {path}")


def _print(summary: dict[str, Any], counted: list[str], way: str) -> None:
    verdict = "perturbed" if summary["perturbed"] else "not perturbed"
    say(
        f"{summary['graph']} is {verdict}, with {summary['false_alarm_rate']:.0%} of false alarms under natural churn: "
        f"{summary['because']}\n"
    )
    counts = [[name.replace("_", " "), f"{number:,}"] for name in counted for number in [summary[name]]]
    print_table("compared with the clean graph", ["", "number"], counts)
    nodes = [[str(one["id"]), f"{one['score']:,.1f}", "; ".join(one["why"])] for one in summary["nodes_ranked"]]
    if nodes:
        print_table("suspicious nodes", ["id", "score", "why"], nodes, text=(2,))
    links = [
        [str(one["source"]), str(one["target"]), f"{one['score']:,.1f}", one["why"][0]]
        for one in summary["links_ranked"]
    ]
    if links:
        print_table("suspicious new links", ["source", "target", "score", "why"], links, text=(1, 3))
    for name, ids in (("new", summary["new_ids"]), ("vanished", summary["vanished_ids"])):
        number = summary[f"{name}_nodes"]
        if ids:
            say(f"{name} nodes: {', '.join(map(str, ids))}{' …' if number > len(ids) else ''} ({number:,})")
    say(f"what to do: {way}")


def _summary(found: Diagnosis, most: int, healed: bool) -> dict[str, Any]:
    """The diagnosis as JSON, which does not advise to recover a model that was recovered on this very graph."""
    summary = found.summary(most)
    if healed and summary["advice"] == "recover":
        summary |= {"advice": "nothing", "because": f"{summary['because']}; the model was recovered on this graph"}
    return summary | {"recovered_on_it": healed}


def _write(found: Diagnosis, output: Path | None, page: Path | None, force: bool, healed: bool) -> list[Path]:
    from gvdn.data.table_files import write_table
    from gvdn.files import whole_folder
    from gvdn.reports.diagnosis import write_diagnosis
    from gvdn.trust.tables import link_table, node_table

    written = []
    if output is not None and _is_table(output):
        write_table(node_table(found), output)
        written.append(output)
    elif output is not None:
        with whole_folder(output, force=force) as folder:
            write_table(node_table(found), folder / "nodes.parquet")
            write_table(link_table(found), folder / "links.parquet")
            (folder / "diagnosis.json").write_text(json.dumps(_summary(found, 20, healed), indent=2) + "\n")
        written.append(output)
    if page is not None:
        write_diagnosis(page, _summary(found, 50, healed), found.scores, found.baseline.calibration.node)
        written.append(page)
    return written


def _refuse(output: Path | None, page: Path | None, force: bool) -> None:
    """Raise before the work where an output could not be written."""
    from gvdn.files import require_output

    if output is not None:
        require_output(output, "file" if _is_table(output) else "folder", force=force)
    if page is not None:
        require_output(page, "file", force=force)


def _is_table(path: Path) -> bool:
    from gvdn.data.table_files import ENDINGS

    return path.name.endswith(ENDINGS)


def _require_diagnosis(model: Method) -> None:
    from gvdn.methods import METHODS

    if not model.capabilities.diagnoses:
        able = ", ".join(name for name in METHODS if METHODS[name].capabilities.diagnoses)
        raise InvalidInput(
            f"the method {model.name} stores nothing of the clean graph to compare with; train one of these: {able}"
        )
