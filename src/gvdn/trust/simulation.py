"""Perturbations of the clean graph that the trust model is fitted on: nodes arrive, some links and some rows lie."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from jaxtyping import Bool, Float, Int64, Shaped

from gvdn.graph import Features, Graph, Positions
from gvdn.graph.edges import are_among
from gvdn.graph.graph import adjacency_from_pairs, edge_keys, not_linked, unused_ids
from gvdn.trust.rows import Pairs, Probs
from gvdn.trust.student import Student

Answers = Callable[[Graph], Probs]

NEW, LINKS = 0.1, 3_000
"""The share of the nodes that arrive, and how many links they bring at most."""
ENOUGH = 100
"""Where that share is fewer nodes than this, up to a quarter of all arrive."""
FRESH, FRESH_LINKS = 0.05, 1_000
"""The share of the links between the other nodes that count as new ones, and how many at most."""
REGIMES = (
    (0.0, 0.0), (0.0, 0.3), (0.0, 0.6), (0.0, 1.0), (0.1, 0.4), (0.3, 0.8), (0.6, 0.1), (0.8, 0.5), (1.0, 0.9),
    (1.0, 0.2), (1.0, 0.6), (0.5, 0.9),
)  # fmt: skip
"""Of each episode, the shares of the arriving nodes whose row lies, and of those with hostile links."""
BYSTANDERS = 0.02
"""The share of the other nodes that get hostile links, of that of the arriving ones."""
CHOSEN, PROPOSALS = 0.6, 2
"""The share of targets whose hostile links are the most harmful of several proposals."""
RUNNER_UP = 0.6
"""The share of nodes that are pushed to the second most probable class; the others to a random one."""
FEW, SHARE, MOST = 8, 0.75, 40
"""Hostile links of a target: up to a few, or up to such a share of its links, but no more than the most."""
CANDIDATES = 20
"""A harmful link goes to the one of so many nodes that pulls most: sure of its class, with few links."""
POPULAR = 0.25
"""The share of targets that are linked to nodes with as many links as the ends of genuine links have."""
FLIPS = (6, 25)
SOURCES = (8, 30, 100, 300)
"""The entries that may appear in a lying row are those of so many random rows, the same rows for many that lie."""


@dataclass(frozen=True, eq=False)
class Episode:
    """A perturbed graph of which everything is known.

    Attributes:
        new: the nodes that arrive; nothing is stored of them.
        stored: the answers on the graph before they arrived; the prior for them.
        judged: which edges are in question.
        hostile: which edges were added.
        lies: whose rows were changed.
    """

    graph: Graph
    new: Bool[np.ndarray, " n"]
    stored: Probs
    judged: Int64[np.ndarray, " j"]
    hostile: Bool[np.ndarray, " m"]
    lies: Bool[np.ndarray, " n"]


def simulate(
    graph: Graph, answers: Answers, clean: Probs, own: Probs, student: Student, free: Positions,
    regime: tuple[float, float], rng: np.random.Generator, *, spare: Shaped[np.ndarray, " s"] | None = None,
    complete: Bool[np.ndarray, " n"] | None = None,
) -> Episode:  # fmt: skip
    """One episode on the clean graph.

    Args:
        answers: the model's class probabilities on a graph.
        clean, own: its answers on the clean graph, and the student's.
        free: the nodes that the model was not trained on, of which some arrive.
        regime: one of the `REGIMES`.
        spare: ids that the model does not know, at least one per node; those that the graph lacks when left out.
        complete: the nodes whose links are all as the model knows them (`Sample`); all of them when left out.
    """
    n, edges, prior = graph.num_nodes, graph.edges, clean.mean(axis=0)
    new = _arriving(graph, free, rng)
    rest = np.flatnonzero(~new)
    between = ~new[edges].any(axis=1)
    between = np.flatnonzero(between if complete is None else between & complete[edges].any(axis=1))
    fresh = between[rng.random(len(between)) < min(FRESH, FRESH_LINKS / max(len(between), 1))]
    before = dataclasses.replace(graph, adjacency=_links(graph, np.delete(np.arange(len(edges)), fresh)))
    stored = np.tile(prior, (n, 1))
    stored[rest] = answers(before.subgraph(rest))
    if complete is not None:
        stored[~new & ~complete] = clean[~new & ~complete]
    classes = clean.argmax(axis=1)
    goal = _goals(clean + own, classes, rng)
    liars, hit = regime
    lies = new & (rng.random(n) < liars) & (goal != classes)
    targets = np.flatnonzero(rng.random(n) < hit * np.where(new, 1, BYSTANDERS))
    spare = unused_ids(graph.ids, n, "arrived") if spare is None else spare
    arrived = dataclasses.replace(graph, ids=_fresh_ids(graph, new, spare))
    hostile = _hostile(arrived, answers, clean, classes, goal, targets, lies, rng)
    features = _with_lies(graph, student, clean, classes, goal, np.flatnonzero(lies), rng)
    adjacency = sp.csr_array(graph.adjacency + adjacency_from_pairs(hostile, n))
    perturbed = dataclasses.replace(arrived, adjacency=adjacency, features=features)
    keys = edge_keys(perturbed.edges, n)
    added, recent = are_among(keys, edge_keys(hostile, n)), are_among(keys, edge_keys(edges[fresh], n))
    judged = np.flatnonzero(added | recent | new[perturbed.edges].any(axis=1))
    return Episode(perturbed, new, stored, judged, added, lies)


def _arriving(graph: Graph, free: Positions, rng: np.random.Generator) -> Bool[np.ndarray, " n"]:
    """Some of the free nodes: half of them at random, half of those with few links, on which attacks succeed.

    Each node waits for an exponential time, whose mean is 1 in the first half and the squared degree in the second, and
    the first ones arrive. Each half has its part of the nodes and of the links. At least one node was there before.
    """
    new, n = np.zeros(graph.num_nodes, dtype=bool), graph.num_nodes
    number = max(NEW * n, min(ENOUGH, n / 4))
    for mean in (np.ones(len(free)), np.maximum(graph.degrees[free], 1.0) ** 2):
        waiting = ~new[free]
        order = free[waiting][np.argsort(rng.exponential(mean[waiting]))]
        within = np.cumsum(graph.degrees[order]) <= LINKS / 2
        within[:1] = True
        new[order[within][: max(1, round(number / 2))]] = True
    new[rng.integers(n)] &= not new.all()
    return new


def _fresh_ids(graph: Graph, new: Bool[np.ndarray, " n"], spare: Shaped[np.ndarray, " s"]) -> np.ndarray:
    """Other ids for the arriving nodes, so that nothing that a model stores by id is used for them."""
    fresh = spare[: int(new.sum())]
    ids = graph.ids.astype(np.promote_types(graph.ids.dtype, fresh.dtype))
    ids[new] = fresh
    return ids


def _goals(probs: Probs, classes: Positions, rng: np.random.Generator) -> Positions:
    """The class that each node is pushed to: the second most probable one, or any."""
    others = probs.copy()
    others[np.arange(len(classes)), classes] = -1
    return np.where(
        rng.random(len(classes)) < RUNNER_UP, others.argmax(axis=1), rng.integers(probs.shape[1], size=len(classes))
    )


def _hostile(
    graph: Graph, answers: Answers, clean: Probs, classes: Positions, goal: Positions, targets: Positions,
    lies: Bool[np.ndarray, " n"], rng: np.random.Generator,
) -> Pairs:  # fmt: skip
    """The hostile links: to nodes of other classes at random, to one class, or the most harmful of several proposals.

    Some targets are linked to nodes with as many links as the ends of genuine links have. Targets whose links
    are chosen get more of them, and some of those whose row lies are linked to other nodes whose row lies.
    """
    n, degrees = graph.num_nodes, graph.degrees[targets]
    chosen = np.zeros(n, dtype=bool)
    chosen[targets] = rng.random(len(targets)) < CHOSEN
    few, share = rng.integers(1, FEW + 1, len(targets)), rng.uniform(0, SHARE, len(targets))
    share = np.where(chosen[targets], np.maximum(share, rng.uniform(0, SHARE, len(targets))), share)
    many = np.ceil(degrees * share / (1 - share)).astype(np.int64)
    is_few = rng.random(len(targets)) < np.where(chosen[targets], 0.2, 0.4)
    number = np.minimum(np.where(is_few, few, np.maximum(many, 1)), MOST)
    together = lies & (rng.random(n) < 0.7)
    among = together & (rng.random(n) < 0.5)
    strength = clean / np.sqrt(graph.degrees + 1.0)[:, None]
    members = [np.flatnonzero(classes == k) for k in range(clean.shape[1])]
    popular = rng.random(n) < POPULAR
    ends_of_links = graph.edges.ravel() if graph.num_edges else np.arange(n)
    popular_members = [ends_of_links[classes[ends_of_links] == k] for k in range(clean.shape[1])]

    def proposal(aim: Positions) -> Pairs:
        ends = np.repeat(targets, number)
        others = np.where(popular[ends], rng.choice(ends_of_links, len(ends)), rng.integers(0, n, len(ends)))
        aimed = chosen[ends] | together[ends]
        for k, of_class in enumerate(members):
            here = np.flatnonzero(aimed & (aim[ends] == k))
            if not (here.size and of_class.size):
                continue
            drawn = of_class[rng.integers(len(of_class), size=(len(here), CANDIDATES))]
            if popular_members[k].size:
                liked = popular_members[k][rng.integers(len(popular_members[k]), size=drawn.shape)]
                drawn = np.where(popular[ends[here], None], liked, drawn)
            liars = np.flatnonzero(lies & (goal == k))
            if liars.size:
                drawn[among[ends[here]]] = rng.choice(liars, (int(among[ends[here]].sum()), CANDIDATES))
            pick = np.where(chosen[ends[here]] & ~popular[ends[here]], strength[drawn, k].argmax(axis=1), 0)
            others[here] = drawn[np.arange(len(here)), pick]
        return np.stack([ends, others], axis=1)[classes[ends] != classes[others]]

    tried, worst, best = [], np.full(n, np.inf), np.zeros(n, dtype=np.int64)
    for count in range(PROPOSALS):
        aim = goal if count % 2 == 0 else np.where(together, goal, rng.integers(clean.shape[1], size=n))
        tried.append(proposal(aim))
        links = adjacency_from_pairs(not_linked(graph, tried[-1]), n)
        then = answers(dataclasses.replace(graph, adjacency=sp.csr_array(graph.adjacency + links)))
        left = then[np.arange(n), classes]
        better = (left < worst) & (chosen | (count == 0))
        worst[better], best[better] = left[better], count
    pairs = np.concatenate([one[best[one[:, 0]] == count] for count, one in enumerate(tried)])
    return not_linked(graph, pairs)


def _with_lies(
    graph: Graph, student: Student, clean: Probs, classes: Positions, goal: Positions, liars: Positions,
    rng: np.random.Generator,
) -> Features:  # fmt: skip
    """The features in which some rows lie: of a node of another class, or with entries flipped towards it.

    Entries are flipped as an attacker of the student would: those that speak for the node's class vanish, some that
    speak for the other class appear. Half of these rows keep their norm.
    """
    X, n = graph.features, graph.num_nodes
    pulls = [weights["W_1"] @ weights["W_2"] for weights in student.weights]
    half = student.half_of(graph.ids)
    allowed = [np.asarray((X[rng.integers(n, size=size)] != 0).sum(axis=0)).ravel() > 0 for size in SOURCES]
    values, members = [], [np.flatnonzero(classes == k) for k in range(clean.shape[1])]
    for node in liars.tolist():
        kind, target = int(rng.integers(3)), goal[node]
        donors = members[target]
        if kind == 0 and donors.size:
            values.append(_dense(X, int(rng.choice(donors))))
            continue
        pull = pulls[1 - max(half[node], 0)]
        used = allowed[rng.integers(len(allowed))]
        values.append(
            _flipped(_dense(X, node), pull[:, target] - pull[:, classes[node]], used, rng, keep_norm=kind == 1)
        )
    if not values:
        return X
    made = np.stack(values).astype(np.float32)
    if isinstance(X, np.ndarray):
        changed = X.copy()
        changed[liars] = made
        return changed
    count = np.arange(len(liars))
    place = sp.csr_array((np.ones(len(liars), np.float32), (liars, count)), shape=(n, len(liars)))
    kept = sp.diags_array((~np.isin(np.arange(n), liars)).astype(np.float32))
    return sp.csr_array(kept @ X + place @ sp.csr_array(made))


def _dense(X: Features, row: int) -> Float[np.ndarray, " d"]:
    return np.array(X[row], dtype=np.float64) if isinstance(X, np.ndarray) else X[[row]].toarray().ravel().astype(float)


def _flipped(
    x: Float[np.ndarray, " d"], pull: Float[np.ndarray, " d"], used: Bool[np.ndarray, " d"], rng: np.random.Generator,
    *, keep_norm: bool,
) -> Float[np.ndarray, " d"]:  # fmt: skip
    """The row after the flips that most raise its mean pull; entries that others use may appear, any may vanish."""
    there, norm = np.flatnonzero(x), np.abs(x).sum()
    value = np.abs(x[there]).mean() if there.size else 1.0
    allowed = np.flatnonzero((x == 0) & used)
    flips = int(rng.integers(*FLIPS))
    gains = allowed[np.argsort(-pull[allowed])[:flips]].tolist()
    losses = there[np.argsort(pull[there])].tolist()
    total, count, changed = float(pull[there].sum()), len(there), x.copy()
    largest = 1.0 if np.abs(x).max(initial=0) <= 1 else 5 * float(np.abs(x).max())
    for _ in range(flips):
        more = (total + pull[gains[0]]) / (count + 1) if gains else -np.inf
        less = (total - pull[losses[0]]) / (count - 1) if len(losses) > 1 else -np.inf
        if max(more, less) <= total / max(count, 1):
            break
        if more >= less:
            entry, step = gains.pop(0), 1
            changed[entry] = value if keep_norm else largest
        else:
            entry, step = losses.pop(0), -1
            changed[entry] = 0
        total, count = total + step * pull[entry], count + step
    left = np.abs(changed).sum()
    return changed * (norm / left) if keep_norm and norm > 0 and left > 0 else changed


def _links(graph: Graph, kept: Positions) -> sp.csr_array:
    """The adjacency of these edges alone."""
    return adjacency_from_pairs(graph.edges[kept], graph.num_nodes, graph.edge_weights[kept])
