import dataclasses

import numpy as np
import pytest
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.perturbations import perturb


def test_new_nodes_link_to_victims_and_nothing_else_changes(ring):
    done = perturb(ring, "node-injection", np.arange(60), seed=0, victim_fraction=0.5, links=3, victims_each=9)
    assert len(done.victims) == 30
    assert done.perturbators.tolist() == list(range(60, 70))  # 90 links, nine to a node
    assert (done.graph.num_nodes, done.graph.num_edges) == (70, ring.num_edges + 90)
    assert len(np.unique(done.added, axis=0)) == 90
    assert np.isin(done.added[:, 0], done.victims).all()
    assert np.bincount(done.added[:, 0], minlength=60)[done.victims].tolist() == [3] * 30
    assert done.graph.degrees[60:].tolist() == [9] * 10
    assert (done.graph.adjacency[:60, :60] != ring.adjacency).nnz == 0
    assert (sp.csr_array(done.graph.features)[:60] != sp.csr_array(ring.features)).nnz == 0
    assert done.graph.labels.tolist() == [*ring.labels.tolist(), *[-1] * 10]
    assert done.graph.class_names == ring.class_names


@pytest.mark.parametrize(("victims", "links", "each"), [(7, 5, 3), (10, 4, 10), (11, 5, 10), (13, 6, 12), (5, 5, 4)])
def test_nobody_is_linked_to_one_new_node_twice(ring, victims, links, each):
    for seed in range(20):
        given = {"victim_fraction": victims / 60, "links": links, "victims_each": each}
        done = perturb(ring, "node-injection", np.arange(60), seed=seed, **given)
        assert len(done.victims) == victims
        assert len(np.unique(done.added, axis=0)) == victims * links
        assert done.graph.degrees[60:-1].tolist() == [each] * (len(done.perturbators) - 1)
        assert done.graph.degrees[-1] == victims * links - each * (len(done.perturbators) - 1)


def test_few_victims_are_linked_to_every_new_node(ring):
    done = perturb(ring, "node-injection", [3, 4], seed=0, victim_fraction=1.0)
    assert len(done.perturbators) == 5
    assert sorted(done.added.tolist()) == [[victim, node] for victim in (3, 4) for node in range(60, 65)]


@pytest.mark.parametrize("dense", [True, False])
def test_rows_of_new_nodes_are_rows_of_the_graph(ring, dense):
    rows = ring.features.toarray() if not isinstance(ring.features, np.ndarray) else ring.features
    graph = dataclasses.replace(ring, features=rows if dense else sp.csr_array(rows))
    done = perturb(graph, "node-injection", np.arange(60), seed=1, victim_fraction=1.0)
    assert isinstance(done.graph.features, np.ndarray) == dense
    copied = {tuple(row) for row in done.graph.dense_features()[60:].tolist()}
    assert copied <= {tuple(row) for row in rows.tolist()}
    assert len(copied) > 5


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (np.arange(60) * 3 - 7, [171, 172, 173, 174, 175]),
        ([f"n{node}" for node in range(60)], [f"injected-{number}" for number in (1, 2, 3, 4, 5)]),
        (["injected-2", "injected-4", "injected-x", *map(str, range(57))], [f"injected-{n}" for n in (1, 3, 5, 6, 7)]),
    ],
)
def test_ids_of_new_nodes_are_new_and_of_the_same_kind(ring, ids, expected):
    done = perturb(dataclasses.replace(ring, ids=np.array(ids)), "node-injection", np.arange(60), seed=0)
    assert done.graph.ids[60:].tolist() == expected


def test_injected_twice_is_injected_twice(ring):
    named = dataclasses.replace(ring, ids=np.array([f"n{node}" for node in range(60)]))
    first = perturb(named, "node-injection", np.arange(60), seed=0)
    second = perturb(first.graph, "node-injection", np.arange(60), seed=1)
    assert second.graph.num_nodes == 70
    assert second.graph.ids[65:].tolist() == [f"injected-{number}" for number in range(6, 11)]


def test_ids_that_leave_no_number_above_or_below_are_refused(ring):
    ids = np.arange(60)
    ids[5], ids[7] = 2**63 - 1, -(2**63)
    with pytest.raises(InvalidInput, match="expected ids up to 9223372036854775802, got 9223372036854775807"):
        perturb(dataclasses.replace(ring, ids=ids), "node-injection", np.arange(60), seed=0)


def test_no_labelled_candidate_is_said():
    graph = Graph.from_edges([[0, 1], [1, 2]], np.eye(3), labels=[0, 1, -1], name="three")
    with pytest.raises(InvalidInput, match="expected a labelled candidate of three as victim, got none"):
        perturb(graph, "node-injection", [2], seed=0)


@pytest.mark.parametrize("given", [{"links": 0}, {"victims_each": 0}])
def test_settings_out_of_range_are_refused(ring, given):
    with pytest.raises(InvalidInput, match="expected links and victims_each of at least 1, got"):
        perturb(ring, "node-injection", np.arange(60), seed=0, **given)


def test_a_weighted_graph_keeps_its_weights_and_new_links_have_the_weight_one(ring):
    heavy = dataclasses.replace(ring, adjacency=ring.adjacency * 2.5)
    done = perturb(heavy, "node-injection", np.arange(60), seed=0)
    assert set(done.graph.adjacency[:60, :60].data.tolist()) == {2.5}
    assert set(done.graph.adjacency[60:].data.tolist()) == {1.0}


def test_it_is_printed_with_the_number_of_new_nodes(ring):
    done = perturb(ring, "node-injection", np.arange(60), seed=3)
    line = "'ring' by node-injection, seed 3: 6 victims, 5 perturbators, nodes +5, edges +30 -0)"
    assert (repr(done), repr(done.receipt)) == (f"Perturbed({line}", f"Receipt({line}")
