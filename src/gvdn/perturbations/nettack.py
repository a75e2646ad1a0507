"""Nettack (the paper's advAttack): a few links and features of chosen nodes are flipped so that a model misreads them.

Zügner, Akbarnejad, Günnemann: Adversarial attacks on neural networks for graph data, KDD 2018.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Positions, Split
from gvdn.perturbations.family import Plan, checked_candidates, perturbation
from gvdn.perturbations.nettack_journal import Journal
from gvdn.perturbations.nettack_setup import Campaign, Rules, choose_victims
from gvdn.perturbations.receipt import Receipt, Setting

Progress = Callable[[int, int], None]


@perturbation("nettack", aimed_at="test", aliases=("advAttack",), inputs=("surrogate", "victims", "progress", "resume"))
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
) -> Plan:
    """Victims are attacked one after another on one graph: the flips that a linearised GCN says hurt them most.

    For each victim v, `link_flips` links and then `feature_flips` features are flipped, each the one that most raises
    max_{c != c_old} [Â²XW]_vc - [Â²XW]_vc_old, where c_old is the surrogate's class on the clean graph.

    Args:
        surrogate: anything with the weights W, or two matrices (W1, W2); the receipt keeps their hash.
        victims: exactly these positions, or ids in text; when left out, so many as `victim_fraction` of the candidates,
            drawn from those with more than 0 and fewer than `max_degree` neighbours.
        influencers: 0 flips the victim's own links and features; n those of the n neighbours it leans on most.
        target: the class to push victims to; the best wrong one when left out.
        labels: whether c_old is the true label.
        flip: `as-seen` makes x 1 - x in the matrix the model sees; `binary` flips words and divides rows anew.
        degree_test, cooccurrence: the paper's two constraints on what goes unnoticed.
        spare_last_links: whether every node keeps at least one link, as in the published code.
        progress: called with the number of victims done, and of all.
        resume: a file that a killed run goes on from; deleted at the end.
    """
    rules = Rules(
        link_flips=link_flips,
        feature_flips=feature_flips,
        influencers=influencers,
        target=target,
        labels=labels,
        flip=flip,
        degree_test=degree_test,
        cooccurrence=cooccurrence,
        spare_last_links=spare_last_links,
    )
    chosen = choose_victims(graph, candidates, victims, seed, victim_fraction, max_degree)
    campaign = Campaign(graph, surrogate, chosen, rules)
    facts = campaign.facts | {"victims_given": victims is not None}
    search, model, journal = campaign.search, campaign.model, Journal(resume, campaign.owner())
    done = journal.read()
    for flips in done:
        search.repeat(model, flips)
    for victim, goal in list(zip(chosen.tolist(), campaign.goals, strict=True))[len(done) :]:
        done.append(search.attack(model, victim, goal))
        journal.write(done)
        if progress:
            progress(len(done), len(chosen))
    journal.close()
    return Plan(model.changes(), chosen, campaign.perturbators(done), facts)


def attack_each(graph: Graph, where: Split | Positions, *, seed: int, **given: Any) -> Iterator[Receipt]:
    """One receipt per victim, each attacked on its own copy of the clean graph; `replay` makes that graph.

    Takes what `nettack` takes, but for `resume`: every receipt is complete when it comes.
    """
    settings, inputs = nettack.sort_out(given)
    if inputs.get("resume") is not None:
        raise InvalidInput("expected no resume where each victim has its own graph; keep the receipts as they come")
    candidates = checked_candidates(where.test if isinstance(where, Split) else where, graph)
    said = settings | {"victims_given": inputs.get("victims") is not None, "own_graph": True}
    draw = {name: settings.pop(name) for name in ("victim_fraction", "max_degree")}
    victims = choose_victims(graph, candidates, inputs.get("victims"), seed, **draw)
    campaign = Campaign(graph, inputs.get("surrogate"), victims, Rules(**settings))
    return _receipts(campaign, seed, said, inputs.get("progress"))


def _receipts(
    campaign: Campaign, seed: int, settings: dict[str, Setting], progress: Progress | None
) -> Iterator[Receipt]:
    victims = campaign.victims
    for number, (victim, goal) in enumerate(zip(victims.tolist(), campaign.goals, strict=True)):
        model = campaign.model.copy()
        flips = campaign.search.attack(model, victim, goal)
        plan = Plan(model.changes(), victims[[number]], campaign.perturbators([flips]), campaign.facts)
        if progress:
            progress(number + 1, len(victims))
        yield nettack.receipt(model.clean, plan, seed, settings)
