"""The attack itself: all victims on one graph (`nettack`), or each victim on its own (`attack_each`)."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, GraphLike, Positions, PositionsLike, Split, as_graph
from gvdn.perturbations.family import Plan, Progress, checked_candidates, choose_victims, perturbation
from gvdn.perturbations.information_sparsity import information_sparsity
from gvdn.perturbations.nettack.checkpoint import EVERY, Checkpoint
from gvdn.perturbations.nettack.greedy import Flips, Rules
from gvdn.perturbations.nettack.linearised import LinearisedGCN
from gvdn.perturbations.nettack.setup import Setup
from gvdn.perturbations.receipt import Pairs, Receipt, no_pairs
from gvdn.seeds import Seed, whole_seed


@perturbation("nettack", aliases=("advAttack",), inputs=("surrogate", "victims", "progress", "resume"))
def nettack(
    graph: Graph,
    candidates: Positions,
    *,
    seed: int,
    surrogate: object = None,
    victims: object = None,
    progress: Progress | None = None,
    resume: Path | None = None,
    victim_fraction: float = 0.1,
    max_degree: int = 10,
    link_flips: int = 2,
    feature_flips: int = 20,
    influencers: int = 0,
    target: int | float | None = None,
    labels: bool = False,
    flip: str = "as-seen",
    degree_test: bool = True,
    cooccurrence: bool = True,
    spare_last_links: bool = True,
    thin_first: bool = False,
) -> Plan:
    """Victims are attacked one after another on one graph with the flips that hurt them most in a linearised GCN.

    For each victim v, `link_flips` links and then `feature_flips` features are flipped, each the one that most raises
    max_{c != c_old} [Â²XW]_vc - [Â²XW]_vc_old, where c_old is the surrogate's class before the attack.
    The flips are chosen as if every link had the weight 1; the links that stay keep the weights they have.

    Args:
        surrogate: anything with the weights W, or two matrices (W1, W2); the receipt records their hash.
        victims: exactly these positions, or ids in text; when left out, `victim_fraction` of the candidates, drawn
            from those with more than 0 and fewer than `max_degree` neighbours.
        influencers: 0 flips the victim's own links and features; n those of the n neighbours with most influence on it.
        target: the class to push victims to; the best wrong one when left out.
        labels: whether c_old is the true label.
        flip: `as-seen` replaces x by 1 - x in the matrix the model sees; `binary` flips words and divides rows anew.
        degree_test, cooccurrence: the two constraints of section 4.1 that keep the attack unnoticeable.
        spare_last_links: whether every node keeps at least one link, as in the published code.
        thin_first: whether the candidates first lose links (information-sparsity, links-only, with the same seed), as
            the protocol does on dense graphs. The receipt's changes are those of the clean graph.
        resume: a checkpoint file that an interrupted attack continues from; delete it once the result is saved.
    """
    rules = Rules(
        link_flips, feature_flips, influencers, target, labels, flip, degree_test, cooccurrence, spare_last_links
    )
    attacked, thinned = _thinned(graph, candidates, seed) if thin_first else (graph, no_pairs())
    chosen = choose_victims(attacked, candidates, victims, seed, victim_fraction, max_degree)
    setup = Setup(attacked, surrogate, chosen, rules)
    search, model, checkpoint = setup.search, setup.model, Checkpoint(resume, setup)
    done = checkpoint.read()
    for flips in done:
        search.repeat(model, flips)
    for victim, goal in list(zip(chosen.tolist(), setup.goals, strict=True))[len(done) :]:
        done.append(search.attack(model, victim, goal))
        if not len(done) % EVERY or len(done) == len(chosen):
            checkpoint.write(done)
        if progress:
            progress(len(done), len(chosen))
    return _plan(setup, model, chosen, done, thinned, victims_given=victims is not None)


def attack_each(graph: GraphLike, where: Split | PositionsLike, *, seed: Seed, **given: Any) -> Iterator[Receipt]:
    """One receipt per victim, each attacked on its own copy of the clean graph; `replay` makes that graph.

    Takes what `nettack` takes, except `resume`: every receipt is complete when it is yielded.
    """
    clean, seed = as_graph(graph), whole_seed(seed)
    settings, inputs = nettack.sort_out(clean, given)
    if inputs.get("resume") is not None:
        raise InvalidInput("expected no resume where each victim has its own graph; save the receipts as they come")
    candidates = checked_candidates(where.test if isinstance(where, Split) else where, clean)
    recorded = settings | {"own_graph": True}
    draw = {name: settings.pop(name) for name in ("victim_fraction", "max_degree")}
    attacked, thinned = _thinned(clean, candidates, seed) if settings.pop("thin_first") else (clean, no_pairs())
    victims = choose_victims(attacked, candidates, inputs.get("victims"), seed, **draw)
    setup = Setup(attacked, inputs.get("surrogate"), victims, Rules(**settings))
    progress, given_by_name = inputs.get("progress"), inputs.get("victims") is not None

    def receipts() -> Iterator[Receipt]:
        for number, (victim, goal) in enumerate(zip(victims.tolist(), setup.goals, strict=True)):
            model = setup.model.copy()
            flips = setup.search.attack(model, victim, goal)
            plan = _plan(setup, model, victims[[number]], [flips], thinned, victims_given=given_by_name)
            if progress:
                progress(number + 1, len(victims))
            yield nettack.receipt(clean, plan, seed, recorded)

    return receipts()


def _thinned(graph: Graph, candidates: Positions, seed: int) -> tuple[Graph, Pairs]:
    """The graph after links-only information sparsity of the candidates, and the edges that it lost."""
    changes = information_sparsity.plan(graph, candidates, seed=seed, variant="links-only").changes
    return changes.apply(graph), changes.removed


def _plan(
    setup: Setup, model: LinearisedGCN, victims: Positions, done: list[Flips], thinned: Pairs, **facts: bool
) -> Plan:
    """What the flips changed; the perturbators are the influencers, and a direct attack has none."""
    ends = [end for one in done for end in one.ends] if setup.rules.influencers else []
    perturbators = np.unique(np.array(ends, dtype=np.int64))
    return Plan(model.changes().after_removing(thinned), victims, perturbators, setup.facts | facts)
