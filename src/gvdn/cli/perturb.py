"""`gvdn perturb` and `gvdn replay`: a graph in, a perturbed graph with its receipt out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from gvdn.cli import graphs, options, parts
from gvdn.cli.console import count, counting, decimal, print_json, print_table, say
from gvdn.errors import InvalidInput

if TYPE_CHECKING:
    from gvdn.graph import Graph, Positions
    from gvdn.perturbations import Perturbation, Perturbed

OutputOption = Annotated[Path, typer.Option("--output", "-o", help="The folder to write: the graph and the receipt.")]


def perturb(
    graph: options.Graph,
    kind: Annotated[str, typer.Option("--kind", help="Which perturbation: gvdn perturbations lists them.")],
    output: OutputOption,
    setting: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="KEY=VALUE", help="A setting of the kind, e.g. --set rate=0.05; may be repeated."
        ),
    ] = None,
    model: Annotated[
        Path | None, typer.Option("--model", help="The model that is attacked: a folder of gvdn train.")
    ] = None,
    victims: Annotated[
        Path | None,
        typer.Option("--victims", help="With --model: a table with a column id; exactly these nodes are attacked."),
    ] = None,
    edges: options.Edges = None,
    column: graphs.Column = None,
    relation: graphs.Relation = None,
    split: options.Split = None,
    seed: options.Seed = 0,
    device: options.Device = "cpu",
    format: graphs.Format = "npz",
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Perturb a graph and write it with a receipt that replays to the identical graph.

    gvdn perturbations lists the kinds and their settings. A setting that is not given is that of the catalogue for a
    named graph, else the default. nettack, prbcd, grbcd and adaptive-prbcd attack a fitted model (--model); metattack
    and dice train a surrogate of their own on the labels of the training nodes.

    A nettack that is stopped half way goes on where it was with the same command.
    """
    from gvdn.files import drop_progress, progress_file, require_output
    from gvdn.perturbations import PERTURBATIONS
    from gvdn.perturbations import perturb as run

    require_output(output, "folder", force=force)
    graphs.require_format(format)
    settings = options.parse_settings(setting or [])
    member = PERTURBATIONS[kind]
    _require_settings(member, settings)
    attacked = _attacked(member, model, victims, device)
    how: dict[str, Any] = {"column": column, "relation": relation, "perturbation": member.name}
    clean = graphs.load(graph, edges, model=attacked, quiet=as_json, **how)
    named = None if victims is None else _located(victims, clean)
    chosen = graphs.split_of(clean, split, seed=seed, quiet=as_json)
    inputs = _attacker(member, attacked, named)
    if "resume" in member.inputs:
        victims_of = b"".join(part.tobytes() for part in (chosen.test, inputs.get("victims", chosen.test)))
        surrogate = inputs["surrogate"].identity.encode()
        inputs["resume"] = progress_file(output, f"{settings} {clean.hash} {seed}", victims_of, surrogate)
    with counting(f"{member.name} on {clean.name}") as move:
        if "progress" in member.inputs:
            inputs["progress"] = move
        perturbed = run(clean, kind, chosen, seed=seed, **settings, **inputs)
    _write(perturbed, output, force, format, chosen)
    drop_progress(output)
    _report(clean, perturbed, output, as_json)


def replay(
    graph: options.Graph,
    receipt: Annotated[Path, typer.Argument(help="A folder that gvdn perturb wrote.")],
    output: OutputOption,
    edges: options.Edges = None,
    column: graphs.Column = None,
    relation: graphs.Relation = None,
    format: graphs.Format = "npz",
    force: options.Force = False,
    as_json: options.Json = False,
) -> None:
    """Make the identical perturbed graph again from the clean one; another graph than the receipt's is refused."""
    from gvdn.files import require_output
    from gvdn.perturbations import load_receipt
    from gvdn.perturbations import replay as run

    require_output(output, "folder", force=force)
    graphs.require_format(format)
    found = load_receipt(receipt)
    how: dict[str, Any] = {"column": column, "relation": relation, "perturbation": found.kind}
    clean = graphs.load(graph, edges, quiet=as_json, **how)
    perturbed = run(clean, found)
    _write(perturbed, output, force, format)
    _report(clean, perturbed, output, as_json)


def _require_settings(member: Perturbation, settings: dict[str, Any]) -> None:
    """Raise, before a model or a graph is read, at a setting that the perturbation does not have or take."""
    from gvdn.perturbations.ranges import require_ranges
    from gvdn.settings import checked_settings

    for name in member.inputs:
        if name in settings:
            raise InvalidInput(f"{name} is no setting of {member.name}; give it by an option of its own (--help)")
    require_ranges(member.name, checked_settings(member.name, settings, member.settings))


def _attacked(member: Perturbation, model: Path | None, victims: Path | None, device: str) -> Any:
    """The model that an attack is made through; None for the other perturbations, which take none."""
    if not {"surrogate", "model"} & set(member.inputs):
        for option, value in (("--model", model), ("--victims", victims)):
            if value is not None:
                raise InvalidInput(f"{option} is not supported by {member.name}; leave it out")
        return None
    if model is None:
        raise InvalidInput(f"{member.name} attacks a model; give --model MODEL, a folder of gvdn train --method gcn")
    if victims is not None:
        from gvdn.data import require_ids

        require_ids(victims)
    return parts.load_whole(model, device, takes_parts=False)


def _located(victims: Path, graph: Graph) -> Positions:
    """The positions of the victims that a table names; raises where one is no node of the graph."""
    from gvdn.data import read_ids

    ids = read_ids(victims, like=graph)
    positions = graph.locate(ids)
    if (positions < 0).any():
        raise InvalidInput(f"{victims}: {graph.name} has no node {ids[positions < 0][0]}; give ids of its nodes")
    return positions


def _attacker(member: Perturbation, model: Any, victims: Positions | None) -> dict[str, Any]:
    """What an attack is given besides its settings; the others take nothing."""
    if model is None:
        return {}
    from gvdn.methods.whitebox import WhiteBox

    inputs: dict[str, Any] = {"surrogate" if "surrogate" in member.inputs else "model": WhiteBox(model)}
    return inputs if victims is None else inputs | {"victims": victims}


def _print_changes(clean: Graph, perturbed: Perturbed) -> None:
    """What a perturbation did to the numbers that a model depends on."""
    from gvdn.graph import edge_homophily

    after, victims, receipt = perturbed.graph, perturbed.victims, perturbed.receipt

    def degree(graph: Graph) -> str:
        return decimal(float(graph.degrees[victims].mean()) if len(victims) else None)

    rows = [
        ["nodes", count(clean.num_nodes), count(after.num_nodes)],
        ["edges", count(clean.num_edges), count(after.num_edges)],
        ["… added / removed", "", f"+{len(perturbed.added):,} / -{len(perturbed.removed):,}"],
        ["victims", "", count(len(victims))],
        ["perturbators", "", count(len(perturbed.perturbators))],
        ["neighbours of a victim (mean)", degree(clean), degree(after)],
        ["edge homophily", decimal(edge_homophily(clean), 4), decimal(edge_homophily(after), 4)],
        ["isolated nodes", count(int((clean.degrees == 0).sum())), count(int((after.degrees == 0).sum()))],
        ["feature rows changed", "", count(len(receipt.changes.feature_rows))],
        ["labels changed", "", count(len(receipt.changes.label_rows))],
    ]
    print_table(f"{receipt.kind} on {clean.name}, seed {receipt.seed}", ["", "clean", "perturbed"], rows)


def _write(perturbed: Perturbed, output: Path, force: bool, format: str, split: Any = None) -> None:
    from gvdn.files import whole_folder
    from gvdn.perturbations import save_receipt

    with whole_folder(output, force=force) as folder:
        graphs.write(perturbed.graph, folder, format)
        save_receipt(perturbed.receipt, folder)
        if split is not None:
            split.save(folder / "split.csv", perturbed.graph)


def _report(clean: Graph, perturbed: Perturbed, output: Path, as_json: bool) -> None:
    if as_json:
        about = {"perturbed_hash": perturbed.graph.hash, "output": str(output), "notes": list(clean.notes)}
        print_json(perturbed.receipt.summary() | about)
        return
    _print_changes(clean, perturbed)
    say(f"written: {output}")
