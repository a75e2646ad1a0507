"""The search for flips: a random block of pairs at a time, so that nothing grows with the number of all pairs."""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions
from gvdn.graph.graph import edge_keys
from gvdn.perturbations.flips import Keys, drawn_keys

RATE = 1000.0
"""The step of the ascent for a budget of one flip per node; the loss is a mean over victims, so gradients are small."""
TINY = 1e-7
"""The weight of a new candidate; not 0, where its gradient would be projected away."""
DRAWS = 20
BISECTIONS = 60


class Search:
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
            gradient = _ascent(loss, weights)
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
        loss_of, flipped = self._loss(victims), np.empty(0, dtype=np.int64)
        epochs = min(self.epochs, budget)
        for epoch in range(epochs):
            number = budget * (epoch + 1) // epochs - budget * epoch // epochs
            block = np.setdiff1d(self._draw(flipped), flipped)
            weights = self.x.new_zeros(len(block)).requires_grad_()
            loss = loss_of(self._logits(np.setxor1d(edges, flipped), block)(weights))
            gradient = _ascent(loss, weights)
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

        nodes, shape = self.nodes, (max(self.size - len(taken), 0),)
        u = torch.randint(nodes, shape, generator=self.generator).numpy()
        v = torch.randint(nodes - 1, shape, generator=self.generator).numpy()
        return np.union1d(taken, drawn_keys(u, v, nodes))

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


def _ascent(loss: Any, weights: Any) -> Any:
    """The gradient of the loss with respect to the weights; InvalidInput where it is NaN or infinite."""
    import torch

    (gradient,) = torch.autograd.grad(loss, weights)
    if not bool(loss.isfinite() & gradient.isfinite().all()):
        raise InvalidInput(
            "the gradient of the attacked model into links became NaN or infinite; attack another model, such as a "
            "gcn, whose flips transfer"
        )
    return gradient


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
