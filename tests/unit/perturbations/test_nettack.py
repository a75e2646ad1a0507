import dataclasses
import json

import numpy as np
import pytest
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, normalised_adjacency, random_split
from gvdn.perturbations import (
    LinearSurrogate,
    Surrogate,
    attack_each,
    load_receipt,
    perturb,
    replay,
    save_receipt,
)
from gvdn.perturbations.nettack.checkpoint import EVERY
from gvdn.perturbations.nettack.unnoticeable import TAU, Cooccurrence, DegreeTest

FREE = {"degree_test": False, "cooccurrence": False, "spare_last_links": False}


@pytest.fixture
def web() -> Graph:
    """A hundred and twenty nodes with a few hubs, three words out of thirty each, three classes; text ids."""
    rng = np.random.default_rng(5)
    nodes = 120
    edges = [(node, int(node * rng.random() ** 2)) for node in range(1, nodes) for _ in range(3)]
    words = rng.random((nodes, 30)).argsort(axis=1) < 3
    features = sp.csr_array((words / 3).astype(np.float32))
    ids = np.array([f"n{node}" for node in range(nodes)])
    return Graph.from_edges(np.array(edges), features, labels=rng.integers(0, 3, nodes), ids=ids, name="web")


@pytest.fixture
def surrogate() -> LinearSurrogate:
    return LinearSurrogate(np.random.default_rng(6).normal(size=(30, 3)))


def attack(graph, surrogate, **given):
    return perturb(graph, "nettack", np.arange(graph.num_nodes), seed=0, surrogate=surrogate, **given)


def logits(graph, surrogate):
    A_hat = normalised_adjacency(graph)
    return np.asarray(A_hat @ (A_hat @ (graph.features @ surrogate.W)))


def margins(graph, surrogate, victims, classes):
    rows = logits(graph, surrogate)[victims]
    own = rows[np.arange(len(victims)), classes].copy()
    rows[np.arange(len(victims)), classes] = -np.inf
    return own - rows.max(axis=1)


def test_every_victim_loses_margin_and_the_budget_is_met(web, surrogate):
    done = attack(web, surrogate, victims=[40], feature_flips=5)
    old = logits(web, surrogate)[[40]].argmax(axis=1)
    assert margins(done.graph, surrogate, [40], old) < margins(web, surrogate, [40], old)
    assert len(done.added) + len(done.removed) == 2
    changed = (done.graph.features != web.features).tocoo()
    assert (set(changed.row), changed.nnz) == ({40}, 5)
    assert (done.added == 40).any(axis=1).all()
    assert len(done.perturbators) == 0


def test_victims_are_drawn_in_the_degree_window(web, surrogate):
    done = attack(web, surrogate, victim_fraction=0.2, max_degree=5)
    assert len(done.victims) == 24
    assert web.degrees[done.victims].max() < 5
    assert web.degrees[done.victims].min() > 0


def test_where_the_window_holds_fewer_than_the_share_all_of_it_is_taken(web, surrogate):
    few = attack(web, surrogate, victim_fraction=1.0, max_degree=3)
    assert few.victims.tolist() == np.flatnonzero((web.degrees > 0) & (web.degrees < 3)).tolist()


def test_influencers_leave_the_victims_own_links_and_features_alone(web, surrogate):
    done = attack(web, surrogate, victims=[50, 60], influencers=2, **FREE)
    near = set(web.adjacency[[50, 60]].indices)
    assert set(done.perturbators) <= near
    assert len(done.perturbators) >= 2
    changes = np.concatenate([done.added, done.removed])
    assert np.isin(changes, done.perturbators).any(axis=1).all()
    assert set(done.receipt.changes.feature_rows) <= set(done.perturbators)
    own = logits(web, surrogate)[[50, 60]].argmax(axis=1)
    assert (margins(done.graph, surrogate, [50, 60], own) < margins(web, surrogate, [50, 60], own)).all()


def test_a_target_class_becomes_the_prediction(web, surrogate):
    victims = np.arange(40, 50)
    for target in range(3):
        done = attack(web, surrogate, victims=victims, target=target, **FREE)
        assert (logits(done.graph, surrogate)[victims].argmax(axis=1) == target).all()


def test_labels_push_away_from_the_truth_instead_of_the_prediction(web, surrogate):
    victims = np.arange(40, 60)
    done = attack(web, surrogate, victims=victims, labels=True, **FREE)
    assert (logits(done.graph, surrogate)[victims].argmax(axis=1) != web.labels[victims]).all()


def test_what_must_go_unnoticed_does(web, surrogate):
    done = attack(web, surrogate, victim_fraction=0.3)
    tail = done.graph.degrees[done.graph.degrees >= 2].astype(np.float64)
    test, words = DegreeTest(web.degrees), Cooccurrence(web)
    assert test.ratio(np.array([float(len(tail))]), np.array([np.log(tail).sum()]))[0] < TAU
    assert (done.graph.degrees > 0).all()
    changed = (done.graph.features != web.features).tocoo()
    assert all(words.admits(int(node))[column] for node, column in zip(changed.row, changed.col, strict=True))


@pytest.mark.parametrize("constraint", ["degree_test", "cooccurrence"])
def test_a_constraint_costs_the_attack_something_and_never_helps_a_single_flip(web, surrogate, constraint):
    budget = (
        {"link_flips": 1, "feature_flips": 0} if constraint == "degree_test" else {"link_flips": 0, "feature_flips": 1}
    )
    gains = []
    for victim in range(40, 80):
        old = logits(web, surrogate)[[victim]].argmax(axis=1)
        bound, free = (
            attack(web, surrogate, victims=[victim], **budget, **{constraint: on}).graph for on in (True, False)
        )
        gains.append((margins(bound, surrogate, [victim], old) - margins(free, surrogate, [victim], old)).item())
    assert min(gains) > -1e-6
    assert max(gains) > 1e-3


def test_flipped_as_seen_a_value_becomes_its_complement(web, surrogate):
    done = attack(web, surrogate, victims=[40], link_flips=0)
    before, after = web.dense_features()[40], done.graph.dense_features()[40]
    changed = before != after
    np.testing.assert_array_equal(after[changed], 1 - before[changed])


def test_flipped_words_leave_rows_that_add_up_to_one(web, surrogate):
    done = attack(web, surrogate, victims=[40], flip="binary", feature_flips=6)
    before, after = web.dense_features()[40], done.graph.dense_features()[40]
    assert ((before > 0) != (after > 0)).sum() == 6
    np.testing.assert_allclose(after[after > 0], 1 / (after > 0).sum(), rtol=1e-6)


def test_a_node_without_neighbours_gains_links_and_through_influencers_nothing_happens(isolated):
    graph = dataclasses.replace(isolated, features=isolated.features / 2)
    W = LinearSurrogate(np.random.default_rng(0).normal(size=(4, 2)))
    direct = attack(graph, W, victims=[5], feature_flips=1, **FREE)
    assert (len(direct.added), len(direct.removed)) == (2, 0)
    assert (direct.added == 5).any(axis=1).all()
    through = attack(graph, W, victims=[5], feature_flips=1, influencers=3, **FREE)
    assert through.graph.hash == graph.hash


def test_nobody_loses_the_last_link_unless_it_is_allowed(path):
    W = LinearSurrogate(np.random.default_rng(1).normal(size=(4, 2)))
    spared, bare = (
        attack(path, W, victims=[0], link_flips=5, feature_flips=0, degree_test=False, spare_last_links=spare)
        for spare in (True, False)
    )
    assert (spared.graph.degrees > 0).all()
    assert len(bare.added) + len(bare.removed) == 5
    assert len(bare.removed) == 1


def test_later_victims_are_attacked_on_the_graph_that_earlier_ones_left(web, surrogate):
    together = attack(web, surrogate, victims=[50, 51], **FREE)
    apart = list(attack_each(web, np.arange(120), seed=0, surrogate=surrogate, victims=[50, 51], **FREE))
    first = attack(web, surrogate, victims=[50], **FREE)
    assert replay(web, apart[0]).graph.hash == first.graph.hash
    assert set(map(tuple, first.added.tolist())) <= set(map(tuple, together.added.tolist()))
    assert [receipt.victims.tolist() for receipt in apart] == [[50], [51]]
    assert apart[0].settings["own_graph"] is True


def test_each_victim_of_a_split_gets_its_own_receipt_and_progress(web, surrogate):
    seen = []
    split = random_split(web, seed=0)
    given = {"surrogate": surrogate, "victim_fraction": 0.05, "progress": lambda *count: seen.append(count)}
    receipts = list(attack_each(web, split, seed=0, **given))
    assert (
        np.concatenate([r.victims for r in receipts]).tolist()
        == perturb(web, "nettack", split, seed=0, surrogate=surrogate, victim_fraction=0.05).victims.tolist()
    )
    assert seen == [(number + 1, 4) for number in range(4)]


def test_two_matrices_are_as_good_as_their_product(web):
    rng = np.random.default_rng(2)
    W_1, W_2 = rng.normal(size=(30, 8)), rng.normal(size=(8, 3))
    layers = attack(web, (W_1, W_2), victims=[40])
    product = attack(web, LinearSurrogate(W_1 @ W_2), victims=[40])
    assert layers.graph.hash == product.graph.hash
    assert layers.receipt.settings["surrogate"] == product.receipt.settings["surrogate"]


def test_anything_with_weights_is_a_surrogate(surrogate):
    assert isinstance(surrogate, Surrogate)
    assert not isinstance(np.eye(3), Surrogate)


def test_victims_may_be_named_by_their_ids(web, surrogate):
    assert attack(web, surrogate, victims=["n41", "n40"]).victims.tolist() == [40, 41]


def test_dense_features_give_the_same_flips_as_sparse_ones(web, surrogate):
    dense = dataclasses.replace(web, features=web.dense_features())
    assert (
        attack(dense, surrogate, victim_fraction=0.05).graph.hash
        == attack(web, surrogate, victim_fraction=0.05).graph.hash
    )


def test_the_receipt_replays_and_says_which_surrogate_it_was(web, surrogate, tmp_path):
    done = attack(web, surrogate, victims=[40, 41])
    save_receipt(done.receipt, tmp_path)
    manifest = json.loads((tmp_path / "manifest.json").read_text())
    assert manifest["kind"] == "nettack"
    assert len(manifest["settings"]["surrogate"]) == 64
    assert manifest["settings"]["victims_given"] is True
    assert not {"victims", "progress", "resume"} & set(manifest["settings"])
    assert replay(web, load_receipt(tmp_path)).graph.hash == done.graph.hash
    other = attack(web, LinearSurrogate(surrogate.W + 1), victims=[40, 41])
    assert other.receipt.settings["surrogate"] != manifest["settings"]["surrogate"]


@pytest.fixture
def dense() -> Graph:
    """Eighty nodes with twelve neighbours each on average, so that thinning leaves a few."""
    rng = np.random.default_rng(3)
    edges = rng.integers(0, 80, size=(480, 2))
    words = rng.random((80, 30)).argsort(axis=1) < 3
    return Graph.from_edges(edges, words.astype(np.float32), labels=rng.integers(0, 3, 80), name="dense")


def pairs(edges) -> set[tuple[int, int]]:
    return set(map(tuple, edges.tolist()))


def test_thinned_first_is_what_two_perturbations_in_turn_give(dense, surrogate):
    """Links-only information sparsity of the candidates, then the attack on the graph that it leaves."""
    again = []
    for seed in range(4):
        split = random_split(dense, seed=seed)
        given = {"surrogate": surrogate, "victim_fraction": 0.4, "link_flips": 6, "degree_test": False}
        thinned = perturb(dense, "information-sparsity", split, seed=seed, variant="links-only")
        expected = perturb(thinned.graph, "nettack", split, seed=seed, **given)
        done = perturb(dense, "nettack", split, seed=seed, thin_first=True, **given)
        assert done.graph.hash == expected.graph.hash
        assert done.victims.tolist() == expected.victims.tolist()
        assert done.receipt.settings["thin_first"] is True
        assert done.receipt.clean_hash == dense.hash
        assert replay(dense, done.receipt).graph.hash == expected.graph.hash
        assert pairs(done.added) == pairs(done.graph.edges) - pairs(dense.edges)
        assert pairs(done.removed) == pairs(dense.edges) - pairs(done.graph.edges)
        assert len(done.removed) == len(pairs(done.removed))
        again += pairs(expected.added) & pairs(thinned.removed)
    assert again  # the attack added a link that thinning had removed


def test_each_victim_is_attacked_on_the_thinned_graph_and_its_receipt_replays_on_the_clean_one(dense, surrogate):
    split = random_split(dense, seed=0)
    given = {"surrogate": surrogate, "victim_fraction": 0.1}
    thinned = perturb(dense, "information-sparsity", split, seed=0, variant="links-only").graph
    expected = [replay(thinned, receipt).graph.hash for receipt in attack_each(thinned, split, seed=0, **given)]
    receipts = list(attack_each(dense, split, seed=0, thin_first=True, **given))
    assert [replay(dense, receipt).graph.hash for receipt in receipts] == expected
    assert len(expected) == 6


def test_the_protocol_of_a_graph_thins_it_first(dense, surrogate):
    split = random_split(dense, seed=0)
    settings = {"victim_fraction": 0.2, "thin_first": True}
    graph = dataclasses.replace(dense, protocol={"nettack": settings})
    done = perturb(graph, "nettack", split, seed=0, surrogate=surrogate)
    explicit = perturb(dense, "nettack", split, seed=0, surrogate=surrogate, **settings)
    plain = perturb(graph, "nettack", split, seed=0, surrogate=surrogate, thin_first=False)
    assert done.graph.hash == explicit.graph.hash != plain.graph.hash
    assert len(next(attack_each(graph, split, seed=0, surrogate=surrogate)).changes.removed) > 100


class Killed(Exception):
    pass


def kill_after(number):
    def progress(done, total):
        if done == number:
            raise Killed

    return progress


@pytest.mark.parametrize("influencers", [0, 2])
@pytest.mark.parametrize("killed_after", [EVERY - 1, EVERY, 2 * EVERY + 3])
def test_an_interrupted_run_continues_and_makes_exactly_the_same_flips(
    web, surrogate, tmp_path, killed_after, influencers
):
    given = {"victims": np.arange(50, 80), "feature_flips": 4, "influencers": influencers}
    file = tmp_path / "attack.json"
    whole = attack(web, surrogate, **given)
    with pytest.raises(Killed):
        attack(web, surrogate, **given, resume=file, progress=kill_after(killed_after))
    assert file.exists() == (killed_after >= EVERY)
    counted = []
    again = attack(web, surrogate, **given, resume=file, progress=lambda done, total: counted.append((done, total)))
    assert again.graph.hash == whole.graph.hash
    assert again.perturbators.tolist() == whole.perturbators.tolist()
    assert counted[0] == (killed_after // EVERY * EVERY + 1, 30)
    assert counted[-1] == (30, 30)
    counted.clear()
    once_more = attack(web, surrogate, **given, resume=file, progress=lambda done, total: counted.append((done, total)))
    assert once_more.graph.hash == whole.graph.hash
    assert counted == [], "the file stays, for whoever was killed before the result was on the disk"


def test_the_checkpoint_of_another_attack_is_refused(web, surrogate, tmp_path):
    file = tmp_path / "attack.json"
    with pytest.raises(Killed):
        attack(web, surrogate, victims=np.arange(50, 70), resume=file, progress=kill_after(EVERY))
    with pytest.raises(InvalidInput, match="expected the checkpoint of this attack, got that of another graph"):
        attack(web, surrogate, victims=np.arange(50, 70), resume=file, link_flips=1)
    file.write_text(file.read_text()[:50])
    with pytest.raises(InvalidInput, match=r"not whole JSON \(.*\); delete it to start anew"):
        attack(web, surrogate, victims=np.arange(50, 70), resume=file)


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"surrogate": None}, r"expected a surrogate for nettack, got none; give surrogate=\(W1, W2\)"),
        ({"surrogate": np.eye(3)}, "expected a surrogate for nettack, got ndarray"),
        (
            {"surrogate": LinearSurrogate(np.ones((4, 3)))},
            "expected surrogate weights of 30 features x 3 classes for web",
        ),
        ({"surrogate": LinearSurrogate(np.ones((30, 2)))}, "got 30 x 2; train the surrogate on this graph"),
        ({"surrogate": (np.ones((30, 2)), np.ones((3, 3)))}, "expected two weight matrices to multiply"),
        ({"surrogate": (np.ones(30), np.ones((3, 3)))}, "expected weights as a matrix, got an array of shape"),
        ({"surrogate": ("a", "b")}, "expected weights as a matrix of numbers, got str"),
        ({"surrogate": LinearSurrogate(np.full((30, 3), np.nan))}, "expected finite surrogate weights"),
        ({"victims": [120]}, "expected victims among the 120 nodes of web, got 120"),
        ({"victims": ["n120"]}, "expected victims among the 120 nodes of web, got n120"),
        ({"victims": []}, "expected victims as a list of positions or of ids in text"),
        ({"victims": [0.5]}, "expected victims as a list of positions or of ids in text"),
        ({"target": 3}, "expected a class from 0 to 2 as target, got 3"),
        ({"target": -1}, "expected a class from 0 to 2 as target, got -1"),
        ({"target": 1.5}, "expected a class from 0 to 2 as target, got 1.5"),
        (
            {"link_flips": 120},
            "expected link_flips from 0 to 119, the links that can be flipped for one victim of web, got 120",
        ),
        ({"link_flips": -1}, "expected link_flips from 0 to 119"),
        (
            {"feature_flips": 31},
            "from 0 to 30, the features that can be flipped for .* got 31; give feature_flips=30 or less",
        ),
        ({"influencers": 2, "feature_flips": 61}, "expected feature_flips from 0 to 60"),
        ({"influencers": -1}, r"expected influencers from 0 \(direct\) up, got -1"),
        ({"link_flips": 0, "feature_flips": 0}, "expected at least one flip"),
        ({"max_degree": 1}, "expected a candidate of web with more than 0 and fewer than 1 neighbours, got none"),
        ({"victim_fraction": 1.5}, "expected victim_fraction between 0 and 1"),
        ({"flip": "upside-down"}, "unknown way to flip features 'upside-down'"),
        ({"surogate": None}, "unknown setting 'surogate' of nettack; did you mean 'surrogate'"),
    ],
)
def test_a_mistake_is_one_sentence(web, surrogate, given, sentence):
    given = {"seed": 0, "surrogate": surrogate} | given
    with pytest.raises(InvalidInput, match=sentence):
        perturb(web, "nettack", np.arange(120), **given)
    with pytest.raises(InvalidInput, match=sentence):
        attack_each(web, np.arange(120), **given)


def test_features_outside_of_zero_to_one_are_refused_but_links_are_not(web, surrogate):
    scaled = dataclasses.replace(web, features=web.features * 40)
    with pytest.raises(InvalidInput, match="between 0 and 1 to flip, got .*; give feature_flips=0 to flip links only"):
        attack(scaled, surrogate, feature_flips=1000)  # said before the number: no number would do
    assert len(attack(scaled, surrogate, feature_flips=0).receipt.changes.feature_rows) == 0


def test_features_that_are_no_words_cannot_be_flipped_as_words(web, surrogate):
    halved = dataclasses.replace(web, features=web.features * 0.5)
    with pytest.raises(InvalidInput, match="expected binary features, plain or row-normalised, to flip words, got"):
        attack(halved, surrogate, flip="binary")


def test_an_unlabelled_victim_has_no_label_to_leave(web, surrogate):
    bare = dataclasses.replace(web, labels=np.where(np.arange(120) == 40, -1, web.labels))
    with pytest.raises(InvalidInput, match="expected labelled victims to attack by label, got none on node 40"):
        attack(bare, surrogate, victims=[40], labels=True)


def test_where_each_has_a_graph_of_its_own_there_is_nothing_to_resume(web, surrogate, tmp_path):
    with pytest.raises(InvalidInput, match="expected no resume where each victim has its own graph"):
        attack_each(web, np.arange(120), seed=0, surrogate=surrogate, resume=tmp_path / "file")


@pytest.mark.real
@pytest.mark.parametrize("name", ["cora", "pubmed"])
def test_on_real_graphs_nearly_every_victim_is_misclassified(real, name):
    graph = real(name)
    split = random_split(graph, seed=0)
    A_hat = normalised_adjacency(graph)
    H = sp.csr_array(A_hat @ (A_hat @ graph.features))
    truth = np.eye(graph.num_classes)[graph.labels[split.train]]
    W = np.linalg.lstsq(H[split.train].toarray(), truth - truth.mean(axis=0), rcond=0.03)[0]
    surrogate = LinearSurrogate(W)
    done = perturb(graph, "advAttack", split, seed=0, surrogate=surrogate, victim_fraction=0.01)
    before, after = (logits(one, surrogate)[done.victims].argmax(axis=1) for one in (graph, done.graph))
    assert (before == after).mean() < 0.2
    assert len(done.added) + len(done.removed) <= 2 * len(done.victims)
