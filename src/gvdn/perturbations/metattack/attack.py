"""The greedy search: block by block, the links of the largest meta-gradient are flipped."""

from collections.abc import Callable

import numpy as np
from jaxtyping import Int64

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions
from gvdn.graph.graph import edge_keys
from gvdn.perturbations.family import Plan, Progress, flips_allowed, perturbation
from gvdn.perturbations.flips import Keys, all_keys, drawn_keys, flipped
from gvdn.perturbations.metattack.gradient import MetaGradient, Objective
from gvdn.perturbations.self_training import self_training_labels, training_nodes
from gvdn.seeds import generator

Gradient = Callable[[Keys, Keys], np.ndarray]
"""From the edges and a block of pairs to the derivative of the objective with respect to each pair of the block."""
OBJECTIVES = {"self": 1.0, "train": 0.0, "both": 0.5}
"""The share of the self-training loss in the objective; the rest is the loss on the training nodes."""
STEPS = 12
"""Steps that the budget is spread over by default."""


@perturbation("metattack", inputs=("train", "progress"))
def metattack(
    graph: Graph,
    candidates: Positions,
    *,
    seed: int,
    train: object = None,
    progress: Progress | None = None,
    edge_fraction: float = 0.05,
    objective: str = "self",
    inner_steps: int = 50,
    flips_per_step: int = 0,
    block_size: int = 100_000,
) -> Plan:
    """Links are flipped that most harm whoever trains on the graph, by the gradient through a surrogate's training.

    A poisoning attack. The surrogate softmax(Â² X W) is trained anew at every step, and the links are flipped whose
    flip raises its loss most, to first order and through all steps of that training. The attacker knows the labels of
    the training nodes; for the others, the surrogate's predictions on the clean graph stand in. All candidates are
    victims. No flip leaves a node without a link, no link is flipped twice, and the surrogate sees every link as of
    weight 1.

    The published attack computes the gradient of all pairs; here a random block of pairs is considered at each step,
    of which the half with the largest scores stays for the next. With a block of all pairs it is exact. The weights
    start at zero and not at random, and the test on the distribution of degrees is left out.

    Args:
        train: positions of the training nodes; those of the split when left out.
        edge_fraction: the budget, as a share of the graph's edges.
        objective: `self` raises the loss on the nodes that are not trained on, against the predictions that stand in
            for their labels (Meta-Self); `train` that on the training nodes (Meta-Train); `both` their mean.
        inner_steps: steps of gradient descent in each training of the surrogate.
        flips_per_step: links flipped before the next gradient; 1 is the published attack, and more is faster and less
            exact. 0, the default, spreads the budget over 12 steps, however large it is.
        block_size: number of pairs that one step considers.
    """
    if objective not in OBJECTIVES:
        raise InvalidInput(f"expected {', '.join(OBJECTIVES)} as objective of metattack, got {objective!r}")
    for name, value, least in (("inner_steps", inner_steps, 1), ("flips_per_step", flips_per_step, 0)):
        if value < least:
            raise InvalidInput(f"expected {name} of at least {least}, got {value}")
    budget = flips_allowed(graph, edge_fraction)
    at_once = flips_per_step or -(-budget // STEPS)
    if block_size < 2 * at_once:
        wanted = f"a block_size of at least {2 * at_once}, twice the {at_once} flips of a step"
        raise InvalidInput(f"expected {wanted}, got {block_size}; raise it")
    nodes = training_nodes(graph, train, "metattack")
    loss = _objective(self_training_labels(graph, nodes, inner_steps), nodes, objective)
    gradient = MetaGradient(graph, nodes, loss, inner_steps)
    search = _Search(graph, gradient, block_size, generator(seed, "perturb", "metattack", graph.name))
    steps = -(-budget // at_once)
    for step in range(steps):
        if progress:
            progress(step, steps)
        search.step(min(at_once, budget - step * at_once))
    if progress:
        progress(steps, steps)
    return Plan(flipped(graph, search.edges), candidates, facts={"training_nodes": len(nodes)})


def _objective(labels: Int64[np.ndarray, " n"], train: Positions, name: str) -> Objective:
    """The mean cross entropy on the nodes that are not trained on, on those that are, or the mean of both."""
    others, share = np.setdiff1d(np.arange(len(labels)), train), OBJECTIVES[name]
    parts = [(others, share), (train, 1 - share)]
    chosen = [(nodes, weight / len(nodes)) for nodes, weight in parts if weight and len(nodes)]
    if not chosen:
        raise InvalidInput(
            "expected nodes that are not trained on, got none; give objective=train, or a split with some"
        )
    nodes = np.concatenate([part for part, _ in chosen])
    return Objective(nodes, labels[nodes], np.concatenate([np.full(len(part), weight) for part, weight in chosen]))


class _Search:
    """The edges so far, the pairs that were flipped, and the block of pairs that is considered."""

    def __init__(self, graph: Graph, gradient: Gradient, block_size: int, rng: np.random.Generator) -> None:
        self.nodes, self.gradient, self.size, self.rng = graph.num_nodes, gradient, block_size, rng
        self.edges: Keys = edge_keys(graph.edges, self.nodes)
        self.degrees = graph.degrees.copy()
        self.flipped: Keys = np.empty(0, dtype=np.int64)
        self.block: Keys = np.empty(0, dtype=np.int64)

    def step(self, number: int) -> None:
        """Flip so many pairs of a new block, those of the largest scores; fewer where fewer may be flipped."""
        self.block = np.setdiff1d(self._drawn(self.block), self.flipped)
        linked = np.isin(self.block, self.edges)
        scores = np.where(linked, -1, 1) * self.gradient(self.edges, self.block)
        order = np.argsort(-scores, kind="stable")
        chosen = self._allowed(self.block[order], linked[order], number)
        self.edges = np.setxor1d(self.edges, chosen)
        self.flipped = np.union1d(self.flipped, chosen)
        self.block = np.sort(self.block[order[: self.size // 2]])

    def _drawn(self, kept: Keys) -> Keys:
        """All pairs where the block has room for them, else those that are kept and as many random ones as fill it."""
        if self.nodes * (self.nodes - 1) // 2 <= self.size:
            return all_keys(self.nodes)
        missing = self.size - len(kept)
        u, v = (self.rng.integers(0, self.nodes - less, missing) for less in (0, 1))
        return np.union1d(kept, drawn_keys(u, v, self.nodes))

    def _allowed(self, keys: Keys, linked: np.ndarray, number: int) -> Keys:
        """The first so many pairs whose flip leaves no node without a link."""
        chosen: list[int] = []
        for key, there in zip(keys, linked, strict=True):
            if len(chosen) == number:
                break
            ends = np.array([key // self.nodes, key % self.nodes])
            if there and self.degrees[ends].min() < 2:
                continue
            self.degrees[ends] += -1 if there else 1
            chosen.append(int(key))
        return np.array(chosen, dtype=np.int64)
