"""PRBCD and GRBCD: white-box attacks on links by the gradient of the attacked model.

Geisler et al.: Robustness of graph neural networks at scale, NeurIPS 2021. Of all pairs of nodes, a random block is
considered at a time, so that nothing grows with their number.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int64

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions
from gvdn.graph.graph import edge_keys
from gvdn.perturbations.family import Plan, Progress, choose_victims, perturbation, share
from gvdn.perturbations.receipt import Changes, Setting
from gvdn.seeds import torch_generator

Keys = Int64[np.ndarray, "_"]
"""Pairs of nodes as `edge_keys` numbers them, in ascending order."""
RATE = 1000.0
"""The step of the ascent for a budget of one flip per node; the loss is a mean over victims, so gradients are small."""
TINY = 1e-7
"""The weight of a new candidate; not 0, where its gradient would be projected away."""
DRAWS = 20
BISECTIONS = 60


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
    size = min(block_size, possible)
    if size <= budget:
        raise InvalidInput(f"expected block_size above the budget of {budget} flips, got {size}; raise it")
    attack = _Attack(model.module(graph), graph, epochs, size, torch_generator(seed, "perturb", "prbcd", graph.name))
    flip, steps = (attack.greedy, min(epochs, budget)) if greedy else (attack.relaxed, epochs)
    done = itertools.count()

    def step() -> None:
        if progress:
            progress(next(done), steps * len(groups))

    step()
    before = after = edge_keys(graph.edges, graph.num_nodes)
    for group in groups:
        after = flip(after, group, budget, step)
    added, removed = (
        np.stack([keys // graph.num_nodes, keys % graph.num_nodes], axis=1)
        for keys in (np.setdiff1d(after, before), np.setdiff1d(before, after))
    )
    facts: dict[str, Setting] = {"model": model.identity, "victims_given": victims is not None}
    return Plan(Changes(added=added, removed=removed), chosen, facts=facts)


class _Attack:
    """A block of candidate pairs, each with a weight between 0 (as it is) and 1 (flipped), over the current edges."""

    def __init__(self, module: Any, graph: Graph, epochs: int, block_size: int, generator: Any) -> None:
        import torch

        self.module, self.epochs, self.size, self.generator = module, epochs, block_size, generator
        self.nodes, self.device = graph.num_nodes, next(module.parameters()).device
        self.x = torch.zeros(graph.num_nodes, 1, device=self.device)
        with torch.no_grad():
            none = np.empty(0, dtype=np.int64)
            self.clean = self._logits(edge_keys(graph.edges, self.nodes), none)(self.x.new_zeros(0))

    def relaxed(self, edges: Keys, victims: Positions, budget: int, step: Callable[[], None]) -> Keys:
        """PRBCD: projected gradient ascent on the weights; the edges after the best of several draws of flips.

        For the first four fifths of the epochs, candidates whose weight is next to nothing are exchanged for new ones;
        then the best block so far is taken up again and its weights alone change.
        """
        import torch

        loss_of = self._loss(victims)
        block, best = self._draw(none := np.empty(0, dtype=np.int64)), (-math.inf, none, self.x.new_zeros(0))
        weights, last = self.x.new_full((len(block),), TINY), max(1, self.epochs * 4 // 5)
        logits = self._logits(edges, block)
        for epoch in range(self.epochs):
            weights.requires_grad_()
            loss = loss_of(logits(weights))
            (gradient,) = torch.autograd.grad(loss, weights)
            weights = weights.detach()
            if loss.item() > best[0]:
                best = (loss.item(), block, weights)
            if epoch == last:
                _, block, weights = best
                logits = self._logits(edges, block)
            else:
                rate = RATE * budget / self.nodes / math.sqrt(max(0, epoch - last) + 1)
                weights = project(weights + rate * gradient, budget)
            if epoch < last - 1:
                block, weights = self._exchange(block, weights)
                logits = self._logits(edges, block)
            step()
        _, block, weights = best
        logits, found, flips = self._logits(edges, block), -math.inf, none
        for chosen in self._drawn(weights, budget):
            with torch.no_grad():
                loss = float(loss_of(logits(chosen.float())))
            if loss > found:
                found, flips = loss, block[chosen.cpu().numpy()]
        return np.setxor1d(edges, flips)

    def greedy(self, edges: Keys, victims: Positions, budget: int, step: Callable[[], None]) -> Keys:
        """GRBCD: at each step, the candidates of the steepest gradient are flipped for good."""
        import torch

        loss_of, flipped = self._loss(victims), np.empty(0, dtype=np.int64)
        epochs = min(self.epochs, budget)
        for epoch in range(epochs):
            number = budget * (epoch + 1) // epochs - budget * epoch // epochs
            block = np.setdiff1d(self._draw(flipped), flipped)
            weights = self.x.new_zeros(len(block)).requires_grad_()
            loss = loss_of(self._logits(np.setxor1d(edges, flipped), block)(weights))
            (gradient,) = torch.autograd.grad(loss, weights)
            flipped = np.union1d(flipped, block[gradient.topk(min(number, len(block))).indices.cpu().numpy()])
            step()
        return np.setxor1d(edges, flipped)

    def _logits(self, edges: Keys, block: Keys) -> Callable[[Any], Any]:
        """From the weights of the candidates to the logits on the graph in which they are flipped that far."""
        import torch

        every = np.union1d(edges, block)
        pairs = np.stack([every // self.nodes, every % self.nodes])
        index = torch.from_numpy(np.concatenate([pairs, pairs[::-1]], axis=1)).to(self.device)
        there = torch.from_numpy(np.isin(every, edges)).to(self.device).float()
        where = torch.from_numpy(np.searchsorted(every, block)).to(self.device)
        sign = 1 - 2 * there[where]

        def logits(weights: Any) -> Any:
            entries = there.index_add(0, where, sign * weights)
            return self.module(self.x, index, torch.cat([entries, entries]))

        return logits

    def _loss(self, victims: Positions) -> Callable[[Any], Any]:
        """The mean over the victims of tanh((best other logit - logit of the clean prediction) / scale).

        The scale is the median of these differences on the clean graph, at least 1: without it the tanh of a model
        that is very certain has no gradient.
        """
        import torch

        nodes = torch.from_numpy(victims.copy()).to(self.device)
        own = self.clean[nodes].argmax(dim=1, keepdim=True)

        def behind(logits: Any) -> Any:
            theirs = logits[nodes]
            return theirs.scatter(1, own, -math.inf).amax(dim=1) - theirs.gather(1, own)[:, 0]

        scale = behind(self.clean).abs().median().clamp(min=1.0)
        return lambda logits: torch.tanh(behind(logits) / scale).mean()

    def _draw(self, taken: Keys) -> Keys:
        """As many pairs, uniformly at random, as fill a block that already has some; in ascending order, each once."""
        import torch

        number, shape = self.nodes, (max(self.size - len(taken), 0),)
        u = torch.randint(number, shape, generator=self.generator).numpy()
        v = torch.randint(number - 1, shape, generator=self.generator).numpy()
        v = v + (v >= u)
        return np.union1d(taken, np.minimum(u, v) * number + np.maximum(u, v))

    def _exchange(self, block: Keys, weights: Any) -> tuple[Keys, Any]:
        """The candidates of the largest weights, at most half of them, and new ones."""
        import torch

        order = weights.argsort(descending=True, stable=True)[: len(block) // 2]
        order = order[weights[order] > TINY].sort().values
        held = block[order.cpu().numpy()]
        new = self._draw(held)
        grown = weights.new_full((len(new),), TINY)
        grown[torch.from_numpy(np.searchsorted(new, held)).to(self.device)] = weights[order]
        return new, grown

    def _drawn(self, weights: Any, budget: int) -> Iterator[Any]:
        """Masks of flips within the budget: the largest weights, and draws by weight."""
        import torch

        mask = torch.zeros_like(weights, dtype=torch.bool)
        yield mask.index_fill(0, weights.topk(min(budget, len(weights))).indices, True)
        chance = weights.cpu()
        for _ in range(DRAWS):
            drawn = torch.bernoulli(chance, generator=self.generator).bool()
            if 0 < int(drawn.sum()) <= budget:
                yield drawn.to(self.device)


def project(weights: Any, budget: int) -> Any:
    """The nearest weights between 0 and 1 whose sum is at most the budget: clamp(weights - shift), by bisection."""
    if float(weights.clamp(0, 1).sum()) <= budget:
        return weights.clamp(0, 1)
    low, high = float(weights.min()) - 1, float(weights.max())
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        if float((weights - middle).clamp(0, 1).sum()) > budget:
            low = middle
        else:
            high = middle
    return (weights - high).clamp(0, 1)
