"""PRBCD and GRBCD: white-box attacks on links by the gradient of the attacked model.

Geisler et al.: Robustness of graph neural networks at scale, NeurIPS 2021; by torch-geometric's implementation.
"""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any, Protocol, runtime_checkable

import numpy as np

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions
from gvdn.graph.graph import adjacency_from_pairs, edge_keys
from gvdn.perturbations.family import Plan, Progress, choose_victims, perturbation, share
from gvdn.perturbations.receipt import Changes, Pairs, Setting
from gvdn.seeds import borrow


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
    greedy: bool = False,
    epochs: int = 125,
    block_size: int = 100_000,
) -> Plan:
    """Links are flipped along the gradient of the model's own predictions (a white-box attack).

    The attack pushes the victims away from the model's predictions on the clean graph, so it reads no label. There is
    one budget for all victims together (`edge_fraction` of the graph's edges), or, with `flips_per_victim`, one for
    each victim in turn, on the graph as the earlier flips left it.

    Args:
        model: a DifferentiableModel such as `gvdn.WhiteBox(fitted)`; the receipt records its identity.
        victims: exactly these positions, or ids in text; when left out, drawn as nettack draws them.
        greedy: GRBCD, which flips for good at every step, instead of PRBCD, which relaxes and draws at the end.
        block_size: number of possible links that one step considers.
    """
    if not isinstance(model, DifferentiableModel):
        kind = "none" if model is None else type(model).__name__
        raise InvalidInput(f"expected a model to attack through, got {kind}; give one that was trained on this graph")
    if epochs < 2 or block_size < 1:
        raise InvalidInput(f"expected epochs >= 2 and block_size >= 1, got {epochs} and {block_size}")
    chosen = choose_victims(graph, candidates, victims, seed, victim_fraction, max_degree)
    possible = graph.num_nodes * (graph.num_nodes - 1) // 2
    if flips_per_victim:
        groups, budget = chosen[:, None], flips_per_victim
    else:
        groups, budget = chosen[None, :], share(graph.num_edges, edge_fraction, "edge_fraction")
    if not 0 < budget <= possible // 2:
        raise InvalidInput(f"expected a budget of 1 to {possible // 2} flips for {graph.name}, got {budget}")
    edges, steps = graph.edges, len(groups) * (min(epochs, budget) if greedy else epochs)
    with borrow(seed, "perturb", "prbcd", graph.name):
        module = model.module(graph)
        attack = _Attack(module, graph, greedy, epochs, min(block_size, possible))
        with _reported(module, progress, steps):
            for group in groups:
                edges = attack.flip(edges, group, budget)
    before, after = (edge_keys(part, graph.num_nodes) for part in (graph.edges, edges))
    added, removed = edges[~np.isin(after, before)], graph.edges[~np.isin(before, after)]
    facts: dict[str, Setting] = {"model": model.identity, "victims_given": victims is not None}
    return Plan(Changes(added=added, removed=removed), chosen, facts=facts)


@contextmanager
def _reported(module: Any, progress: Progress | None, steps: int) -> Iterator[None]:
    """Call `progress` now, and after each pass of the module that a gradient is taken of: one in every step."""
    import torch

    if progress is None:
        yield
        return
    done = count(1)

    def told(*_: object) -> None:
        if torch.is_grad_enabled():
            progress(next(done), steps)

    progress(0, steps)
    hook = module.register_forward_hook(told)
    try:
        yield
    finally:
        hook.remove()


class _Attack:
    """torch-geometric's attack, set up once for all groups of victims."""

    def __init__(self, module: Any, graph: Graph, greedy: bool, epochs: int, block_size: int) -> None:
        import torch

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # that contrib is experimental
            from torch_geometric.contrib.nn import GRBCDAttack, PRBCDAttack

        self.block = block_size
        kind = GRBCDAttack if greedy else PRBCDAttack
        rounds = {"epochs": epochs} if greedy else {"epochs": epochs, "epochs_resampling": max(1, epochs * 4 // 5)}
        self.attack = kind(module, block_size=self.block, loss="tanh_margin", log=False, **rounds)
        self.device = next(module.parameters()).device
        self.x = torch.zeros(graph.num_nodes, 1, device=self.device)
        edges, weights = self._both_directions(graph.edges)
        with torch.no_grad():
            self.answers = module(self.x, edges, weights).argmax(dim=1)

    def flip(self, edges: Pairs, victims: Positions, budget: int) -> Pairs:
        """The edges after at most `budget` flips against these victims, in lexicographic order."""
        import torch

        if self.block <= budget:
            raise InvalidInput(f"expected block_size above the budget of {budget} flips, got {self.block}; raise it")
        nodes = torch.from_numpy(victims.copy()).to(self.device)
        now, _ = self._both_directions(edges)
        try:
            _, flipped = self.attack.attack(self.x, now, self.answers, budget, idx_attack=nodes)
        except RuntimeError as problem:
            if "random block" not in str(problem):
                raise
            what = f"a block of {self.block} links is too small for {budget} flips"
            raise InvalidInput(f"{what}; raise block_size or lower the budget") from problem
        pairs = np.sort(flipped.cpu().numpy().T.astype(np.int64), axis=1)
        number = len(self.x)
        keys = np.setxor1d(edge_keys(edges, number), edge_keys(pairs, number))
        return np.stack([keys // number, keys % number], axis=1)

    def _both_directions(self, edges: Pairs) -> tuple[Any, Any]:
        import torch

        both = adjacency_from_pairs(edges, len(self.x)).tocoo()
        index = torch.from_numpy(np.stack([both.row, both.col]).astype(np.int64)).to(self.device)
        return index, torch.ones(index.shape[1], device=self.device)
