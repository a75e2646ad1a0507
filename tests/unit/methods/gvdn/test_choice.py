"""Recovery with trust: the choice, what it says, and how it is kept."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from small_models import scaled

from gvdn.methods import make_method
from gvdn.methods.files import load_model
from gvdn.methods.gvdn.choice import (
    ALGORITHM_3,
    AS_IT_IS,
    JUDGING,
    TRUST,
    TRUST_ALONE,
    WAYS,
    Report,
    choose,
    withheld_rows,
)
from gvdn.methods.trusted import Trusted
from gvdn.methods.whitebox import WhiteBox
from gvdn.perturbations import perturb
from gvdn.trust.front import Front, front_of

SMALL = {"hidden": 8, "epochs": 20, "recovery_epochs": 4}


@pytest.fixture
def fitted(ring, split):
    return make_method("gvdn", **SMALL).fit(ring, split, seed=0)


def test_an_unchanged_graph_keeps_the_answers(fitted, ring):
    healed = fitted.recover(ring)
    assert np.array_equal(healed.predict(ring), fitted.predict(ring))
    assert healed.report_.chosen in WAYS
    assert set(healed.report_.estimates) == set(WAYS)
    assert healed.report_.withheld == 6


def test_a_saved_recovery_has_its_way_and_its_report(fitted, ring, split, tmp_path):
    attack = perturb(ring, "wrong-links", split, seed=0, victim_fraction=0.3, links=2)
    healed = fitted.recover(attack.graph, known=np.delete(ring.ids, attack.victims))
    healed.save(tmp_path / "model")
    again = load_model(tmp_path / "model")
    assert (again.way_, again.report_) == (healed.way_, healed.report_)
    np.testing.assert_allclose(again.predict_proba(attack.graph), healed.predict_proba(attack.graph), atol=1e-6)


def test_stored_victims_have_at_least_their_stored_answers(fitted, ring, split):
    attack = perturb(ring, "wrong-links", split, seed=0, victim_fraction=0.5, links=4)
    healed = fitted.recover(attack.graph)
    doubtful = np.flatnonzero(healed.front(attack.graph).doubt >= 1)
    assert doubtful.size
    assert np.array_equal(healed.predict(attack.graph)[doubtful], fitted.predict(ring)[doubtful])


def test_a_recovery_without_a_choice_has_no_report(fitted, ring):
    healed = fitted.recover(ring)
    again = healed.set_params(trust=False).recover(ring)
    assert healed.report_ is not None
    assert again.report_ is None


def test_a_model_that_judged_goes_on_to_judge(fitted, ring, monkeypatch):
    told = Report(TRUST, dict.fromkeys(WAYS, 0.5), 6, 6)
    monkeypatch.setattr("gvdn.methods.gvdn.recovering.choose", lambda *_: told)
    healed = fitted.recover(ring)
    expected = healed.predict_proba(ring)
    assert np.array_equal(healed.set_params(trust=False).predict_proba(ring), expected)


def test_a_model_that_was_saved_without_trust_can_still_recover_with_it(ring, split, tmp_path):
    """Its diagnosis needs the trust model, so the file has it."""
    model = make_method("gvdn", **SMALL, trust=False).fit(ring, split, seed=0)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model").set_params(trust=True)
    assert loaded.recover(ring).report_ == model.set_params(trust=True).recover(ring).report_


@pytest.fixture(params=[TRUST_ALONE, AS_IT_IS])
def untrained(request, monkeypatch) -> str:
    """A way that does not train, which is chosen whatever the answers are."""
    told = Report(request.param, dict.fromkeys(WAYS, 0.5), 6, 6)
    monkeypatch.setattr("gvdn.methods.gvdn.recovering.choose", lambda *_: told)
    return request.param


def test_without_training_nothing_of_a_withheld_node_is_used(fitted, ring, untrained):
    hidden, known = ring.ids[::5], np.delete(ring.ids, np.s_[::5])
    expected = fitted.recover(ring, known=known)
    assert expected.way_ == untrained
    assert set(expected.ids_) == set(known)
    assert torch.equal(expected.W_z(ring)[0], fitted.blank_row())
    assert torch.equal(expected.W_z(ring)[1], fitted.W_z(ring)[1])
    assert len(fitted.network_.W_z) == len(fitted.ids_) == 60
    trust = fitted.baseline_.trust()
    with torch.no_grad():
        fitted.network_.W_z[torch.from_numpy(np.isin(fitted.ids_, hidden))] = 30.0
    assert fitted.baseline_.trust() is trust
    assert np.array_equal(fitted.recover(ring, known=known).predict_proba(ring), expected.predict_proba(ring))


@pytest.mark.parametrize("way", WAYS)
def test_what_is_stored_of_absent_nodes_is_kept(fitted, ring, way, monkeypatch):
    told = Report(way, dict.fromkeys(WAYS, 0.5), 4, 4)
    monkeypatch.setattr("gvdn.methods.gvdn.recovering.choose", lambda *_: told)
    healed = fitted.recover(ring.subgraph(np.arange(20, 60)))
    assert healed.way_ == way
    for ids in (healed.ids_, healed.memory_.ids, healed.baseline_.stored().ids):
        assert sorted(ids) == sorted(ring.ids)
    assert torch.equal(healed.W_z(ring)[:20], fitted.W_z(ring)[:20])


def test_without_training_the_control_group_is_withheld_from_the_choice_alone(fitted, ring, monkeypatch):
    asked, known = [], ring.ids[5:]

    def chosen(front, nodes, stored, answers):
        asked.append((nodes, answers))
        return Report(AS_IT_IS, dict.fromkeys(WAYS, 0.5), len(nodes), 5)

    monkeypatch.setattr("gvdn.methods.gvdn.recovering.choose", chosen)
    healed = fitted.recover(ring, known=known)
    assert set(healed.ids_) == set(known)
    (control, answers), probs = asked[0], healed.predict_proba(ring)
    assert not np.allclose(answers[AS_IT_IS][control], probs[control])


@pytest.mark.parametrize("way", WAYS)
def test_the_memory_counts_only_where_it_is_used(fitted, ring, way, monkeypatch):
    """A short row is no reason for doubt here; its node uses the memory by every way but the one that does nothing."""
    short = scaled(ring, 30, 0.1)
    told = Report(way, dict.fromkeys(WAYS, 0.5), 6, 6)
    monkeypatch.setattr("gvdn.methods.gvdn.recovering.choose", lambda *_: told)
    monkeypatch.setattr(Front, "doubt", np.zeros(60))
    healed = fitted.recover(short)
    used = healed.fallback(healed.seen(short)) is not None
    assert used == (way != AS_IT_IS)
    assert (healed.reliance(short)["nodes_using_it"] > 0) == used
    assert ("stored answer" in healed.why(short)[30]) == used


@pytest.mark.parametrize("samples", [0, 2])
def test_a_graph_is_judged_once(fitted, ring, samples, monkeypatch):
    calls = []

    def counted(*parts, **options):
        calls.append(parts)
        return front_of(*parts, **options)

    monkeypatch.setattr("gvdn.methods.gvdn.recovering.front_of", counted)
    told = Report(TRUST, dict.fromkeys(WAYS, 0.5), 6, 6)
    monkeypatch.setattr("gvdn.methods.gvdn.recovering.choose", lambda *_: told)
    healed = fitted.set_params(samples=samples).recover(ring)
    assert len(calls) == 1
    for ask in (healed.predict_proba, healed.uncertainty, healed.embed, healed.why, healed.reliance):
        calls.clear()
        ask(ring)
        assert len(calls) == 1


def test_the_epochs_of_the_second_training_are_counted_on(fitted, ring):
    calls = []
    fitted.recover(ring, callback=lambda number, losses: calls.append(number))
    assert calls == list(range(1, 9))
    assert fitted.recovery_rounds() == 8


def test_trust_is_on_and_the_paper_has_none():
    assert make_method("gvdn").trust
    assert not make_method("gvdn", "cora", paper=True).trust


def test_a_tenth_is_withheld():
    rows = withheld_rows(np.arange(50), np.random.default_rng(0))
    assert len(rows) == len(set(rows.tolist())) == 5


def test_the_report_is_a_sentence():
    told = str(Report(AS_IT_IS, dict.fromkeys(WAYS, 0.5), 10, 3))
    assert told.startswith("chose as it is: it should bring back 50.0% of the answers of 3 nodes in question")


def test_trust_stands_in_front_of_any_method(ring, split):
    model = make_method("gcn", hidden=8, epochs=20).fit(ring, split, seed=0)
    trusted = Trusted(model, ring)
    assert np.array_equal(trusted.predict_proba(ring).argmax(axis=1), model.predict(ring))
    for said in (trusted.student_alone, trusted.links_alone, trusted.weighed_alone, trusted.guarded_alone):
        np.testing.assert_allclose(said(ring).sum(axis=1), 1, atol=1e-6)


def test_an_attack_can_be_aimed_through_trust(fitted, ring, split):
    victims = split.test[:4]
    box = WhiteBox(fitted, unknown=victims)
    made = perturb(
        ring, "prbcd", split, seed=0, model=box, victims=victims, epochs=4, edge_fraction=0.1, block_size=200
    )
    assert made.receipt.settings["model"].startswith("gvdn through trust")
    assert len(made.added) + len(made.removed)


def test_judging_ways_come_first():
    assert WAYS[: len(JUDGING)] == JUDGING


class Even(Front):
    """A graph in which no node is more suspicious than another."""

    judgement = SimpleNamespace(suspicion=np.zeros(200))
    model = SimpleNamespace(brought_back=np.full((4, 3), 0.8))
    in_question, doubt = np.arange(100, 200), np.zeros(200)

    def __init__(self) -> None:
        pass


@pytest.mark.parametrize(("better", "chosen"), [(1, AS_IT_IS), (12, ALGORITHM_3)])
def test_a_graph_that_is_not_perturbed_is_left_alone_unless_another_way_is_clearly_better(better, chosen):
    """100 withheld nodes of 200, of which the model as it is brings 80 back and Algorithm 3 a few more."""
    answers = {way: np.tile([1.0, 0.0], (200, 1)) for way in WAYS}
    stored = np.repeat([0, 1], [80, 20])
    answers[ALGORITHM_3][80 : 80 + better] = [0.0, 1.0]
    report = choose(Even(), np.arange(100), stored, answers)
    assert report.estimates[ALGORITHM_3] > report.estimates[AS_IT_IS]
    assert report.chosen == chosen
