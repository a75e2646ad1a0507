import dataclasses
import json

import numpy as np
import pytest
from communities import strangers, with_links, with_row, without_links
from sklearn.metrics import roc_auc_score

from gvdn.graph import random_split
from gvdn.perturbations import perturb
from gvdn.testing.graphs import grown
from gvdn.trust.diagnosis import Advice, diagnose


@pytest.fixture
def asked(trust, baseline, votes, clean):
    return lambda graph: diagnose(trust, baseline, graph, votes(graph), clean.class_names)


def test_nothing_needs_to_be_done_about_the_clean_graph(clean, asked):
    found = asked(clean)
    assert (found.perturbed, found.advice, found.p_value) == (False, Advice.NOTHING, 1.0)
    assert not found.suspicious.any()
    assert (found.counts["nodes"], found.counts["new_links"], found.counts["changed_rows"]) == (240, 0, 0)


def test_a_hub_of_wrong_links_is_found_with_its_victims_and_links(clean, asked):
    victims = strangers(clean, 5, 20)
    found = asked(with_links(clean, [(5, node) for node in victims]))
    assert (found.perturbed, found.advice) == (True, Advice.RECOVER)
    assert found.ranked_nodes[0] == 5
    assert "more evidence than in 59 of 59 graphs with natural churn" in found.because
    reasons = found.reasons.node(5)
    assert f"20 new links in one step ({clean.degrees[5]} before)" in reasons
    assert any("of its 20 new neighbours do not fit its class and features" in one for one in reasons)
    hit = np.isin(np.arange(240), victims)
    others = np.arange(240) != 5
    assert roc_auc_score(hit[others], found.scores[others]) > 0.95
    assert found.suspicious_links.all()
    worst = found.reasons.link(int(found.ranked_links[0]))
    assert any("n005: 20 new links in one step" in one for one in worst)
    assert any(one.startswith("does not fit: classes class") for one in worst)


def test_a_victim_is_told_which_suspicious_node_it_is_linked_to(clean, asked):
    victims = strangers(clean, 5, 20)
    found = asked(with_links(clean, [(5, node) for node in victims]))
    assert "a new link to n005, which is suspicious itself" in found.reasons.node(victims[0])


def test_random_connections_are_found_on_a_graph_of_communities(clean, asked):
    attack = perturb(clean, "random-connections", random_split(clean, seed=0), seed=0, rate=0.1, victim_fraction=0.2)
    found = asked(attack.graph)
    assert found.perturbed
    assert set(found.ranked_nodes[: len(attack.perturbators)]) == set(attack.perturbators)
    assert "times the largest norm seen" in found.reasons.node(int(attack.perturbators[0]))[0]


def test_a_row_of_large_norm_alone_is_enough(clean, asked, baseline):
    found = asked(with_row(clean, 7, np.full(24, 14 * baseline.max_norm / 24)))
    assert found.ranked_nodes[0] == 7
    assert found.suspicious[7]
    assert "feature row 14 times the largest norm seen" in found.reasons.node(7)


def test_lost_links_are_a_reason(clean, asked):
    node = int(clean.degrees.argmax())
    degree = int(clean.degrees[node])
    found = asked(without_links(clean, node, degree - 1))
    assert f"{degree - 1} of its {degree} links lost" in found.reasons.node(node)


def test_a_changed_answer_is_named_before_and_after(clean, asked):
    node = 5
    found = asked(with_links(clean, [(node, other) for other in strangers(clean, node, 30)]))
    changed = np.flatnonzero(found.reasons.answer_changed)
    assert changed.size
    reasons = "; ".join(found.reasons.node(int(changed[0])))
    assert "its answer changed from class" in reasons


def test_new_and_vanished_nodes_are_listed_and_ask_for_an_update(clean, lazy, votes):
    known = lazy.only(clean.ids[10:]).get()
    today = clean.subgraph(np.arange(20, 240)[::-1])
    today = today.subgraph(np.arange(220))
    found = diagnose(lazy.trust(), known, grown(today, 3), votes(grown(today, 3)), clean.class_names)
    assert found.new_nodes.tolist() == ["new"]
    assert found.vanished_nodes.tolist() == clean.ids[10:20].tolist()
    if not found.perturbed:
        assert found.advice is Advice.UPDATE
        assert "vanished nodes" in found.because


def test_a_graph_of_strangers_asks_for_a_new_fit(clean, asked):
    other = dataclasses.replace(clean, ids=np.array([f"x{node}" for node in range(240)]))
    found = asked(other)
    assert found.advice is Advice.FIT_ANEW
    assert found.because.startswith("only 0% of the nodes")


def test_the_summary_is_json_and_names_at_most_what_was_asked(clean, asked):
    found = asked(with_links(clean, [(5, node) for node in strangers(clean, 5, 20)]))
    summary = json.loads(json.dumps(found.summary(3)))
    assert [len(summary[key]) for key in ("nodes_ranked", "links_ranked")] == [3, 3]
    assert summary["nodes_ranked"][0]["id"] == "n005"
    assert summary["false_alarm_rate"] == 0.05
