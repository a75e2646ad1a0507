"""The two attacks: what is attacked, how many flips there are, and the plan that comes out."""

import itertools
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions
from gvdn.graph.graph import edge_keys
from gvdn.perturbations.family import Plan, Progress, choose_victims, perturbation, share
from gvdn.perturbations.flips import flipped
from gvdn.perturbations.prbcd.search import Search
from gvdn.perturbations.receipt import Setting
from gvdn.seeds import torch_generator


@runtime_checkable
class DifferentiableModel(Protocol):
    """A fitted model whose logits can be differentiated with respect to the weights of the edges."""

    def module(self, graph: Graph) -> Any:
        """A torch module (x, edge_index, edge_weight) -> logits of the nodes; x gives their number and the device."""

    @property
    def identity(self) -> str:
        """A name for the model and its weights, which the receipt records."""


@perturbation("prbcd", inputs=("model", "victims", "progress"))
def prbcd(
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
    epochs: int = 125,
    block_size: int = 100_000,
) -> Plan:
    """Links are flipped along the gradient of the model's own predictions (a white-box attack).

    The attack pushes the victims away from the model's predictions on the clean graph, so it reads no label. There is
    one budget for all victims together (`edge_fraction` of the graph's edges), or, with `flips_per_victim`, one for
    each victim in turn, on the graph as the earlier flips left it. The flips are relaxed to weights between 0 and 1,
    which ascend the gradient, and are drawn by these weights at the end.

    Args:
        model: a DifferentiableModel such as `gvdn.WhiteBox(fitted)`; the receipt records its identity.
        victims: exactly these positions, or ids in text; when left out, drawn as nettack draws them.
        block_size: number of possible links that one step considers.
    """
    chosen = choose_victims(graph, candidates, victims, seed, victim_fraction, max_degree)
    budget = Budget(graph, edge_fraction, flips_per_victim, epochs, block_size)
    return _plan("prbcd", graph, model, chosen, budget, seed, progress, victims_given=victims is not None)


@perturbation("grbcd", inputs=("model", "victims", "progress"), protocol="prbcd")
def grbcd(
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
    epochs: int = 125,
    block_size: int = 100_000,
) -> Plan:
    """Like prbcd, but at each step the links of the steepest gradient are flipped for good (greedily).

    The settings, the victims and the loss are those of prbcd. The budget is spread evenly over the epochs, or over as
    many steps as there are flips where these are fewer; each step draws a block of its own.

    Args:
        model: a DifferentiableModel such as `gvdn.WhiteBox(fitted)`; the receipt records its identity.
        victims: exactly these positions, or ids in text; when left out, drawn as nettack draws them.
        block_size: number of possible links that one step considers.
    """
    chosen = choose_victims(graph, candidates, victims, seed, victim_fraction, max_degree)
    budget = Budget(graph, edge_fraction, flips_per_victim, epochs, block_size)
    return _plan("grbcd", graph, model, chosen, budget, seed, progress, victims_given=victims is not None)


@dataclass(frozen=True)
class Budget:
    """How many links may be flipped, for each victim or for all together, in how many steps over which blocks."""

    graph: Graph
    edge_fraction: float
    flips_per_victim: int
    epochs: int
    block_size: int

    @property
    def flips(self) -> int:
        return self.flips_per_victim or share(self.graph.num_edges, self.edge_fraction, "edge_fraction")

    @property
    def size(self) -> int:
        return min(self.block_size, self.graph.num_nodes * (self.graph.num_nodes - 1) // 2)

    def check(self) -> None:
        if self.epochs < 2 or self.block_size < 1:
            raise InvalidInput(f"expected epochs >= 2 and block_size >= 1, got {self.epochs} and {self.block_size}")
        most = self.graph.num_nodes * (self.graph.num_nodes - 1) // 4
        if not 0 < self.flips <= most:
            raise InvalidInput(f"expected a budget of 1 to {most} flips for {self.graph.name}, got {self.flips}")
        if self.size <= self.flips:
            wanted = f"block_size above the budget of {self.flips} flips"
            raise InvalidInput(f"expected {wanted}, got {self.size}; raise it")


def _plan(
    name: str,
    graph: Graph,
    model: object,
    victims: Positions,
    budget: Budget,
    seed: int,
    progress: Progress | None,
    *,
    victims_given: bool,
) -> Plan:
    if not isinstance(model, DifferentiableModel):
        kind = "none" if model is None else type(model).__name__
        raise InvalidInput(
            f"expected a model to attack through, got {kind}; give gvdn.WhiteBox of a method that was fitted on this "
            "graph"
        )
    budget.check()
    groups = victims[:, None] if budget.flips_per_victim else victims[None, :]
    generator = torch_generator(seed, "perturb", name, graph.name)
    search = Search(model.module(graph), graph, budget.epochs, budget.size, generator)
    greedy = name == "grbcd"
    flip, steps = (search.greedy, min(budget.epochs, budget.flips)) if greedy else (search.relaxed, budget.epochs)
    done = itertools.count()

    def step() -> None:
        if progress:
            progress(next(done), steps * len(groups))

    step()
    edges = edge_keys(graph.edges, graph.num_nodes)
    for group in groups:
        edges = flip(edges, group, budget.flips, step)
    facts: dict[str, Setting] = {"model": model.identity, "victims_given": victims_given}
    return Plan(flipped(graph, edges), victims, facts=facts)
