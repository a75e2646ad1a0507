"""The perturbed graph of a cell: the same for every method, also after a grid was killed."""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from gvdn.files import Occupied, tidy, whole_folder
from gvdn.graph import Graph, Positions, Split, read_npz, write_npz
from gvdn.methods import make_method
from gvdn.methods.gvdn import GVDN
from gvdn.methods.trusted import Trusted
from gvdn.methods.whitebox import WhiteBox
from gvdn.perturbations import PERTURBATIONS, perturb
from gvdn.perturbations.family import choose_victims
from gvdn.perturbations.receipt import Pairs, no_pairs, no_positions
from gvdn.study import Cell


class PerturbedGraph(NamedTuple):
    """The graph that methods are asked about, and the nodes that they are scored on.

    Also what the perturbation did: the positions of its perturbators and the pairs of the links that it added. Nodes
    that it added stand behind those of the clean graph.
    """

    graph: Graph
    scored: Positions
    perturbators: Positions
    added: Pairs


ARRAYS = ("scored", "perturbators", "added")


def perturbed_graph(cell: Cell, clean: Graph, split: Split, *, device: str, folder: Path | None) -> PerturbedGraph:
    """Perturb the clean graph as the cell asks; the result depends on nothing else, so all methods get the same one.

    Scored are the victims, or all test nodes where nothing is perturbed or training labels are. What an attack through
    a fitted model made is read from `folder`, or written there: two fits of one model on a GPU differ in their last
    digits, and an attack through such a model in a flip or two.
    """
    if not cell.is_perturbed:
        return PerturbedGraph(clean, split.test, no_positions(), no_pairs())
    if folder is None or not is_attack(cell.perturbation):
        return _perturb(cell, clean, split, device)
    return _made_once(folder / cell.graph_key(), lambda: _perturb(cell, clean, split, device))


def is_attack(perturbation: str) -> bool:
    """Whether a perturbation is computed through a fitted model: one that it is given, or a surrogate of its own."""
    return bool({"surrogate", "model", "train"} & set(PERTURBATIONS[perturbation].inputs))


def _perturb(cell: Cell, clean: Graph, split: Split, device: str) -> PerturbedGraph:
    """A surrogate is a linearised GCN; a model is the method that the setting `target` names, with its settings for the
    dataset. Both are fitted on the clean graph. With `through_trust` the attacker knows the trust model, and aims at
    what the recovery of a GVDN, or another method with trust in front, says of victims of which nothing is stored."""
    settings, member = dict(cell.perturbation_settings), PERTURBATIONS[cell.perturbation]

    def fitted(method: str, **how: bool) -> Any:
        model: Any = make_method(method, cell.preset, tuned=cell.is_tuned, device=device, **how)
        return model.fit(clean, split, seed=cell.seed)

    if "surrogate" in member.inputs:
        settings["surrogate"] = WhiteBox(fitted("gcn", linear=True))
    if "model" in member.inputs:
        target, through_trust = settings.pop("target", "gvdn"), settings.pop("through_trust", False)
        model = fitted(target)
        if through_trust:
            drawn = {name: member.sort_out(clean, settings)[0][name] for name in ("victim_fraction", "max_degree")}
            settings["victims"] = choose_victims(clean, split.test, None, cell.seed, **drawn)
            trusted = model if isinstance(model, GVDN) else Trusted(model, clean)
            settings["model"] = WhiteBox(trusted, unknown=settings["victims"])
        else:
            settings["model"] = WhiteBox(model)
    done = perturb(clean, cell.perturbation, split, seed=cell.seed, **settings)
    scored = split.test if member.candidates_from == "train" else done.victims
    return PerturbedGraph(done.graph, scored, done.perturbators, done.added)


def _made_once(home: Path, make: Callable[[], PerturbedGraph]) -> PerturbedGraph:
    """What is in the folder, made unless it is there; of two processes that make it at once the first one counts."""
    tidy(home)
    if not home.exists():
        made = make()
        with suppress(Occupied), whole_folder(home) as draft:
            write_npz(made.graph, draft / "graph.npz")
            for name in ARRAYS:
                np.save(draft / f"{name}.npy", getattr(made, name))
    return PerturbedGraph(read_npz(home / "graph.npz"), *(np.load(home / f"{name}.npy") for name in ARRAYS))
