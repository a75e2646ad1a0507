"""Numbers of a small graph against slow versions of the formulas."""

import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp
from slow_scenes import (
    NUMBERS,
    neighbours,
    of_links,
    of_rows,
    probability,
    slow_cosine,
    slow_message,
    slow_total,
    slow_vote,
)

from gvdn.graph import Graph
from gvdn.trust.rows import directions, projected
from gvdn.trust.scene import BY_ROW, OF_ROW, OTHERS, STRUCTURE, Learned, Scene
from gvdn.trust.student import HIDDEN, Student

N, K, D = 14, 3, 6


def some_probs(rng: np.random.Generator, n: int = N) -> np.ndarray:
    return rng.dirichlet(np.ones(K), n)


@pytest.fixture(scope="module")
def graph() -> Graph:
    rng = np.random.default_rng(0)
    pairs = np.array([(u, v) for u in range(N - 1) for v in range(u + 1, N - 1) if rng.random() < 0.35])
    features = (rng.random((N, D)) * (rng.random((N, D)) < 0.6)).astype(np.float32)
    features[:, 0] += 0.1
    return Graph.from_edges(pairs, features)  # the last node has no link


@pytest.fixture(scope="module")
def learned(graph) -> Learned:
    rng = np.random.default_rng(1)
    shapes = {"W_1": (D, HIDDEN), "b_1": HIDDEN, "W_2": (HIDDEN, K), "b_2": K}
    weights = {name: rng.normal(size=shape).astype(np.float32) for name, shape in shapes.items()}
    student = Student((weights, weights), graph.ids, np.arange(N) % 2, 1.0, 1.0)
    basis = directions(graph.features, rng)
    table = rng.random((K, K)) + 2 * np.eye(K)
    centre = projected(graph.features, basis).mean(axis=0).astype(np.float64)
    return Learned(student, (table + table.T) / 2, np.array([0.5, 0.3, 0.2]), basis, centre, np.array([1.0, 3.0]))


@pytest.fixture(scope="module")
def parts(graph) -> dict:
    """Every third link is in question, and of every fourth node nothing is stored."""
    rng = np.random.default_rng(2)
    known = np.arange(N) % 4 != 0
    stored = np.where(known[:, None], some_probs(rng), [0.5, 0.3, 0.2])
    judged = np.arange(0, graph.num_edges, 3)
    return {"known": known, "stored": stored, "own": some_probs(rng), "judged": judged, "doubted": ~known}


@pytest.fixture(scope="module")
def scene(learned, graph, parts) -> Scene:
    return Scene(learned, graph, **parts)


@pytest.fixture(scope="module")
def genuine(parts) -> np.ndarray:
    return np.random.default_rng(3).uniform(0.05, 0.95, len(parts["judged"]))


# ---- votes


@pytest.mark.parametrize("by_row", [False, True])
def test_messages_and_totals_are_those_of_each_account_of_hostile_links(scene, parts, genuine, by_row):
    accounts = list(scene.messages(genuine, by_row=by_row))
    assert len(accounts) == 3, "hostile links go anywhere, or to one of two classes"
    for number, (total, said) in enumerate(accounts):
        for row, (end, other) in enumerate(zip(scene.ends.tolist(), scene.others.tolist(), strict=True)):
            named = np.argsort(-slow_total(scene, parts, genuine, end, by_row=by_row))
            aim = int(named[number - 1]) if number else None
            g = np.tile(genuine, 2)[row]
            assert np.allclose(said[row], slow_message(scene, g, other, aim))
            expected = slow_total(scene, parts, genuine, end, aim=aim, by_row=by_row)
            assert np.allclose(total[end], expected, atol=1e-6)
            assert aim is None or total[end, aim] == -np.inf


def test_a_link_that_is_surely_hostile_says_nothing_if_hostile_links_go_anywhere(scene):
    (_, said), *aimed = scene.messages(np.zeros(len(scene.judged)))
    assert not said.any()
    for _, told in aimed:
        assert np.ptp(told, axis=1) == pytest.approx(0), "it tells no class of its end from another"


def test_a_vote_is_what_is_stored_and_what_all_links_say(scene, parts, genuine):
    found = np.exp(scene.votes(genuine))
    assert np.allclose(found.sum(axis=1), 1)
    heard = sorted({*scene.ends.tolist(), *np.flatnonzero(scene.doubted).tolist()})
    assert len(heard) > N / 2
    for node in heard:
        assert np.allclose(found[node], slow_vote(scene, parts, genuine, node), atol=1e-6)


def test_votes_and_rows_hear_a_row_as_far_as_it_is_honest(scene, parts, genuine):
    honest = np.where(scene.doubted, np.linspace(0.1, 0.9, N), 1.0)
    heard = scene.hearing(honest)
    votes, before = np.exp(heard.votes(genuine)), np.exp(scene.votes(genuine))
    for node in sorted({*scene.ends.tolist(), *np.flatnonzero(scene.doubted).tolist()}):
        assert np.allclose(votes[node], slow_vote(scene, parts, genuine, node, honest=honest), atol=1e-6)
    assert not np.allclose(votes, before, atol=1e-3)
    cosines = of_links(heard.link_numbers(genuine, by_row=True), "row against its others")
    for row, (end, other) in enumerate(zip(scene.ends.tolist(), scene.others.tolist(), strict=True)):
        assert cosines[row] == pytest.approx(slow_cosine(scene, parts, genuine, other, end, honest), abs=1e-4)


def test_of_a_node_without_links_the_first_account_gives_the_prior(learned, graph, parts, genuine):
    unknown = np.ones(N, dtype=bool)
    unknown[N - 1] = False
    alone = Scene(learned, graph, **parts | {"known": unknown, "doubted": ~unknown})
    assert graph.degrees[N - 1] == 0
    first, _ = next(iter(alone.messages(genuine)))
    assert np.allclose(np.exp(first[N - 1]), learned.prior)
    without_aims = learned.prior * [1 + 1 / 6, 1 + 1 / 6, 1 + 2 / 6]
    assert np.allclose(np.exp(alone.votes(genuine))[N - 1], without_aims / without_aims.sum())


# ---- what a link is judged by


def test_both_ends_of_every_link_in_question_are_asked(scene, genuine):
    links = scene.graph.edges[scene.judged]
    assert np.array_equal(scene.ends.reshape(2, -1).T, links)
    assert np.array_equal(scene.others.reshape(2, -1).T, links[:, ::-1])
    assert scene.link_numbers(genuine, by_row=False).shape == (2, len(links), len(STRUCTURE))
    assert scene.link_numbers(genuine, by_row=True).shape == (2, len(links), len(NUMBERS))


@pytest.mark.parametrize("by_row", [False, True])
def test_a_link_is_not_a_witness_of_itself(scene, genuine, by_row):
    before = scene.link_numbers(genuine, by_row=by_row)
    for link in (0, 4, len(genuine) - 1):
        other = genuine.copy()
        other[link] = 1 - other[link]
        after = scene.link_numbers(other, by_row=by_row)
        assert np.allclose(after[:, link], before[:, link], atol=1e-4)
        assert not np.allclose(after, before, atol=1e-4)


@pytest.mark.parametrize("by_row", [False, True])
def test_class_and_entropy_of_the_others_are_those_of_the_slow_vote(scene, parts, genuine, by_row):
    found = scene.link_numbers(genuine, by_row=by_row)
    against, spread = (of_links(found, name) for name in ("class against the others", "entropy of the others"))
    for row, (end, other) in enumerate(zip(scene.ends.tolist(), scene.others.tolist(), strict=True)):
        rest = slow_vote(scene, parts, genuine, end, without=other, by_row=by_row)
        assert against[row] == pytest.approx(np.log(rest @ np.exp(slow_message(scene, 1.0, other))), abs=1e-5)
        assert spread[row] == pytest.approx(-sum(p * np.log(p) for p in rest), abs=1e-4)


def test_the_share_of_the_others_is_the_mean_of_their_probabilities(scene, parts, genuine):
    share = of_links(scene.link_numbers(genuine, by_row=False), "share of the others")
    checked = 0
    for row, (end, other) in enumerate(zip(scene.ends.tolist(), scene.others.tolist(), strict=True)):
        rest = [one for one in neighbours(scene.graph, end) if one != other]
        if rest:
            mean = np.mean([probability(scene.graph, parts, genuine, end, one) for one in rest])
            assert share[row] == pytest.approx(mean)
            checked += 1
    assert checked > 5


def test_rows_are_compared_with_the_weighed_sum_of_the_rows_of_the_others(scene, parts, genuine):
    without, with_rows = (scene.link_numbers(genuine, by_row=by_row) for by_row in (False, True))
    its, own = of_links(without, "row against the others"), of_links(with_rows, "row against its others")
    for row, (end, other) in enumerate(zip(scene.ends.tolist(), scene.others.tolist(), strict=True)):
        assert its[row] == pytest.approx(slow_cosine(scene, parts, genuine, end, other), abs=1e-4)
        assert own[row] == pytest.approx(slow_cosine(scene, parts, genuine, other, end), abs=1e-4)


def test_the_row_of_the_end_is_compared_with_row_class_and_vote(scene, parts, genuine):
    found = scene.link_numbers(genuine, by_row=True)
    agreement = found[:, :, len(STRUCTURE) + BY_ROW.index("row against the others")].ravel()
    rows, fit, both = (of_links(found, name) for name in ("rows", "row and class", "both"))
    X, prior = scene.graph.dense_features().astype(np.float64), scene.learned.prior
    for row, (end, other) in enumerate(zip(scene.ends.tolist(), scene.others.tolist(), strict=True)):
        cosine = X[end] @ X[other] / np.linalg.norm(X[end]) / np.linalg.norm(X[other])
        by_class = np.log(scene.own[end] @ np.exp(slow_message(scene, 1.0, other)))
        rest = slow_vote(scene, parts, genuine, end, without=other, by_row=True)
        assert rows[row] == pytest.approx(np.sqrt(cosine), abs=1e-5)
        assert fit[row] == pytest.approx(by_class, abs=1e-5)
        assert both[row] == pytest.approx(np.sqrt(cosine) * by_class, abs=1e-5)
        assert agreement[row] == pytest.approx(np.log((scene.own[end] * rest / prior).sum()), abs=1e-5)


def test_links_with_a_new_end_say_so(scene, genuine):
    found = scene.link_numbers(genuine, by_row=False)
    assert np.array_equal(of_links(found, "new") == 1, ~scene.known[scene.ends])
    assert np.array_equal(of_links(found, "it is new") == 1, ~scene.known[scene.others])


@pytest.mark.parametrize("by_row", [False, True])
def test_the_first_round_does_not_hear_the_other_neighbours(learned, graph, parts, by_row):
    """What is stored of a third node changes: it is not heard in the first round, and it is in the second."""
    links = graph.edges[parts["judged"]]
    link = next(row for row, (u, _) in enumerate(links.tolist()) if graph.degrees[u] > 2)
    u, v = links[link].tolist()
    third = next(one for one in neighbours(graph, u) if one != v and parts["known"][one])
    changed = parts["stored"].copy()
    changed[third] = np.roll(changed[third], 1)
    scenes = [Scene(learned, graph, **parts | {"stored": stored}) for stored in (parts["stored"], changed)]
    first, after = (one.link_numbers(None, by_row=by_row)[:, link] for one in scenes)
    assert np.allclose(first, after)
    at = np.full(len(links), 0.7)
    first, after = (one.link_numbers(at, by_row=by_row)[:, link] for one in scenes)
    assert not np.allclose(first, after)


def test_numbers_without_the_row_do_not_read_it(learned, graph, parts, genuine):
    """A new node's own row and what the student says of it change: what its links look like from its end does not."""
    node = next(int(one) for one in np.flatnonzero(~parts["known"]) if (graph.edges[parts["judged"]] == one).any())
    features, own = graph.dense_features(), parts["own"].copy()
    features[node] = features[node][::-1]
    own[node] = np.roll(own[node], 1)
    other = dataclasses.replace(graph, features=features)
    scenes = Scene(learned, graph, **parts), Scene(learned, other, **parts | {"own": own})
    mine = scenes[0].ends.reshape(2, -1) == node
    assert mine.any()
    for by_row in (False, True):
        first, after = (one.link_numbers(genuine, by_row=by_row)[mine] for one in scenes)
        assert np.allclose(first, after, atol=1e-5) is not by_row


def test_others_are_numbers_that_exist():
    assert set(OTHERS.tolist()) <= set(range(len(NUMBERS)))


# ---- what a row is judged by


def test_a_row_is_asked_whether_it_agrees_with_the_votes_of_the_last_and_of_the_first_round(scene, parts, genuine):
    apart = genuine[::-1].copy()
    found = scene.row_numbers(genuine, genuine, apart)
    assert found.shape == (1, int(scene.doubted.sum()), len(OF_ROW))
    for name, probs in (("agrees with the neighbours", genuine), ("agrees with the neighbours one by one", apart)):
        agrees = of_rows(found, name)
        for row, node in enumerate(np.flatnonzero(scene.doubted).tolist()):
            vote = slow_vote(scene, parts, probs, node)
            expected = np.log(sum(scene.own[node, k] * vote[k] / scene.learned.prior[k] for k in range(K)))
            assert agrees[row] == pytest.approx(expected, abs=1e-5)


def test_a_row_is_judged_by_settled_links_too(learned, graph, parts):
    """No link is in question: the rows are compared with the same neighbours."""
    parts = parts | {"judged": np.zeros(0, np.int64)}
    scene, none = Scene(learned, graph, **parts), np.zeros(0)
    agrees = of_rows(scene.row_numbers(none, none, none), "agrees with the neighbours")
    for row, node in enumerate(np.flatnonzero(scene.doubted).tolist()):
        vote = slow_vote(scene, parts, none, node)
        assert agrees[row] == pytest.approx(np.log((scene.own[node] * vote / learned.prior).sum()), abs=1e-5)


def test_a_row_is_compared_with_every_neighbour(scene, parts, genuine):
    found = scene.row_numbers(genuine, genuine, genuine)
    X = scene.graph.dense_features().astype(np.float64)
    for row, node in enumerate(np.flatnonzero(scene.doubted).tolist()):
        others = neighbours(scene.graph, node)
        roots = [np.sqrt(X[node] @ X[one] / np.linalg.norm(X[node]) / np.linalg.norm(X[one])) for one in others]
        weights = [probability(scene.graph, parts, genuine, node, one) for one in others]
        most, mean, share = (
            of_rows(found, name)[row] for name in ("resembles one", "resembles them", "links without it")
        )
        assert most == pytest.approx(max(roots, default=0), abs=1e-5)
        assert mean == pytest.approx(np.average(roots, weights=weights) if others else 0, abs=1e-5)
        assert share == pytest.approx(np.mean(weights) if others else 0, abs=1e-5)


def test_the_norm_is_that_of_the_row_as_it_was_given(learned, graph, parts, genuine):
    norms = np.full(N, 2.0)
    first = int(np.flatnonzero(parts["doubted"])[0])
    norms[first] = 30.0
    found = Scene(learned, graph, **parts, norms=norms).row_numbers(genuine, genuine, genuine)
    above = of_rows(found, "norm above the largest")
    assert above[0] == pytest.approx(np.log(10))
    assert not above[1:].any()


# ---- graphs without something


@pytest.mark.parametrize("sparse", [False, True])
def test_dense_and_sparse_features_give_the_same_numbers(learned, graph, parts, genuine, scene, sparse):
    features = sp.csr_array(graph.features) if sparse else graph.dense_features()
    other = Scene(learned, dataclasses.replace(graph, features=features), **parts)
    for by_row in (False, True):
        assert np.allclose(*(one.link_numbers(genuine, by_row=by_row) for one in (scene, other)), atol=1e-4)
    assert np.allclose(*(one.row_numbers(genuine, genuine, genuine) for one in (scene, other)), atol=1e-4)


def test_a_graph_without_links_has_votes_and_rows_but_no_link_numbers(learned, graph, parts):
    bare = dataclasses.replace(graph, adjacency=sp.csr_array((N, N), dtype=np.float32))
    none = np.zeros(0)
    found = Scene(learned, bare, **parts | {"judged": np.zeros(0, np.int64)})
    first, _ = next(iter(found.messages(none)))
    assert np.allclose(np.exp(first), parts["stored"])
    votes = np.exp(found.votes(none))
    assert np.allclose(votes, [slow_vote(found, parts | {"judged": found.judged}, none, node) for node in range(N)])
    assert found.link_numbers(None, by_row=True).shape == (2, 0, len(NUMBERS))
    assert np.isfinite(found.row_numbers(none, none, none)).all()


def test_rows_of_zeros_give_finite_numbers(learned, graph, parts, genuine):
    empty = dataclasses.replace(graph, features=np.zeros((N, D), np.float32))
    found = Scene(learned, empty, **parts)
    assert np.isfinite(found.link_numbers(genuine, by_row=True)).all()
    assert np.isfinite(found.row_numbers(genuine, genuine, genuine)).all()
