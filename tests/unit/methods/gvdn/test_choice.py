"""Recovery with trust: the choice, what it says, and how it is kept."""

import numpy as np
import pytest

from gvdn.methods import make_method
from gvdn.methods.files import load_model
from gvdn.methods.gvdn.choice import AS_IT_IS, JUDGING, WAYS, Report, withheld_rows
from gvdn.methods.trusted import Trusted
from gvdn.methods.whitebox import WhiteBox
from gvdn.perturbations import perturb

SMALL = {"hidden": 8, "epochs": 20, "recovery_epochs": 4}


@pytest.fixture
def fitted(ring, split):
    return make_method("gvdn", **SMALL, trust=True).fit(ring, split, seed=0)


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


def test_a_model_that_was_saved_without_trust_can_still_recover_with_it(ring, split, tmp_path):
    """Its diagnosis needs the trust model, so the file has it."""
    model = make_method("gvdn", **SMALL, trust=False).fit(ring, split, seed=0)
    model.save(tmp_path / "model")
    loaded = load_model(tmp_path / "model").set_params(trust=True)
    assert loaded.recover(ring).report_ == model.set_params(trust=True).recover(ring).report_


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
