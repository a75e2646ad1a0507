"""PRBCD in rounds: between them the defender reacts to the flips so far, and the next ones are aimed at that."""

import itertools
from typing import Protocol, runtime_checkable

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions
from gvdn.graph.graph import edge_keys
from gvdn.perturbations.family import Plan, Progress, choose_victims, perturbation
from gvdn.perturbations.flips import flipped
from gvdn.perturbations.prbcd.attack import Budget, DifferentiableModel
from gvdn.perturbations.prbcd.search import Search
from gvdn.perturbations.receipt import Setting
from gvdn.seeds import torch_generator


@runtime_checkable
class DefendedModel(DifferentiableModel, Protocol):
    """A model whose defence can be played through by an attacker who has it."""

    def after(self, graph: Graph) -> DifferentiableModel:
        """The model as it is once the defender has reacted to a graph."""


@perturbation("adaptive-prbcd", inputs=("model", "victims", "progress"), protocol="prbcd")
def adaptive_prbcd(
    graph: Graph,
    candidates: Positions,
    *,
    seed: int,
    model: object = None,
    victims: object = None,
    progress: Progress | None = None,
    victim_fraction: float = 0.1,
    max_degree: int = 1_000_000,
    edge_fraction: float = 0.05,
    flips_per_victim: int = 0,
    rounds: int = 4,
    epochs: int = 125,
    block_size: int = 100_000,
) -> Plan:
    """Like prbcd, in rounds: the model recovers between them, so the attack is also aimed at its recovery.

    An attacker who knows the whole defence can play it through (Tramer et al.: On adaptive attacks to adversarial
    example defenses, NeurIPS 2020; Mujkanovic et al.: Are defenses for graph neural networks robust?, NeurIPS 2022).
    Recovery is a training, through which no gradient is taken. In its place the budget is spent in equal parts: after
    each part but the last the model recovers on the graph so far, and the next flips follow the gradient of the
    recovered model. With a `WhiteBox` that names unknown nodes this is the gradient through trust, which judges the
    graph so far, as if recovery had chosen trust. The victims are always pushed away from the predictions on the clean
    graph.

    Args:
        model: a DefendedModel such as `gvdn.WhiteBox(fitted, unknown=victims)`; the receipt records its identity.
        victims: exactly these positions, or ids in text; when left out, drawn as nettack draws them.
        flips_per_victim: given, the budget is so many flips times the number of victims, for all of them together.
        rounds: the defender reacts rounds - 1 times; with 1, and without flips_per_victim, the attack is prbcd.
        epochs: steps of each round.
        block_size: number of possible links that one step considers.
    """
    chosen = choose_victims(graph, candidates, victims, seed, victim_fraction, max_degree)
    budget = Budget(graph, edge_fraction, flips_per_victim * len(chosen), epochs, block_size)
    if not isinstance(model, DefendedModel):
        kind = "none" if model is None else type(model).__name__
        raise InvalidInput(
            f"expected a model to attack through that has module, identity and after, got {kind}; give gvdn.WhiteBox "
            "of a method that was fitted on this graph"
        )
    budget.check()
    if not 1 <= rounds <= budget.flips:
        raise InvalidInput(f"expected 1 to {budget.flips} rounds, one for each flip at the most, got {rounds}")
    generator = torch_generator(seed, "perturb", "prbcd", graph.name)  # so that one round is prbcd
    done = itertools.count()

    def step() -> None:
        if progress:
            progress(next(done), rounds * epochs)

    step()
    edges, now, clean = edge_keys(graph.edges, graph.num_nodes), graph, None
    for number in range(rounds):
        defended = model.after(now) if number else model
        search = Search(defended.module(now), now, epochs, budget.size, generator)
        search.clean = clean = search.clean if clean is None else clean
        flips = budget.flips * (number + 1) // rounds - budget.flips * number // rounds
        edges = search.relaxed(edges, chosen, flips, step)
        now = flipped(graph, edges).apply(graph)
    facts: dict[str, Setting] = {"model": model.identity, "victims_given": victims is not None}
    return Plan(flipped(graph, edges), chosen, facts=facts)
