"""The protocol and the settings that the GVDN paper prints, against the catalogue and the defaults."""

import pytest

import gvdn
from gvdn.data import DATASETS
from gvdn.methods.contract import METHODS
from gvdn.nn.aggregators import HEADS
from gvdn.perturbations import PERTURBATIONS

GRAPHS = ("cora", "citeseer", "pubmed", "amazon-photo", "coauthor-cs", "flickr")
"""The paper's columns."""

VICTIMS = {
    "random-connections": (0.1, 0.1, 0.1, 0.99, 0.1, 0.1),
    "nettack": (0.1, 0.1, 0.02, 0.05, 0.02, 0.1),
}
"""Share of the test nodes."""

PRINTED = {
    ("dropedge", "hidden"): (200,) * 6,
    ("dropedge", "dropout"): (0.8, 0.8, 0.5, 0.5, 0.5, 0.3),
    ("dropedge", "learning_rate"): (1e-2, 9e-3, 1e-2, 1e-2, 1e-2, 1e-2),
    ("dropedge", "weight_decay"): (5e-3, 1e-3, 1e-3, 1e-2, 1e-3, 1e-3),
    ("dropedge", "batch_norm"): (False, False, False, True, False, False),
    ("grand", "order"): (8, 2, 5, 5, 5, 5),
    ("grand", "draws"): (4, 2, 4, 3, 3, 4),
    ("grand", "consistency"): (1.0, 0.7, 1.0, 0.9, 0.9, 1.0),
    ("grand", "temperature"): (0.5, 0.3, 0.2, 0.4, 0.4, 0.3),
    ("grand", "learning_rate"): (0.01, 0.01, 0.2, 0.2, 0.2, 0.2),
    ("grand", "input_dropout"): (0.5, 0.0, 0.6, 0.6, 0.6, 0.6),
    ("grand", "dropout"): (0.5, 0.2, 0.8, 0.5, 0.5, 0.5),
    ("grand", "batch_norm"): (False, False, True, True, True, True),
    ("rgcn", "hidden"): (64, 64, 128, 1024, 1024, 2014),
    ("mc-dropout", "dropout"): (0.7, 0.3, 0.9, 0.6, 0.8, 0.3),
    ("lindt", "sweeps"): (100, 200, 80, 100, 90, 100),
    ("lindt", "alpha"): (0.1, 0.3, 1.0, 0.7, 0.1, 0.1),
    ("gvdn", "gamma_min"): (0.6, 0.98, 0.99, 0.84, 0.96, 0.96),
}
"""Method and setting -> its value for each graph (appendix, tables of DropEdge and GRAND, and the list of methods)."""

FOR_ALL_GRAPHS = {
    "gcn-jaccard": {"threshold": 0.01, "hidden": 200, "dropout": 0.5, "epochs": 300},
    "gcn-svd": {"rank": 15, "hidden": 200, "dropout": 0.5, "epochs": 300},
    "grand": {"epochs": 200, "hidden": 200, "node_dropout": 0.5, "weight_decay": 5e-4},
    "rgcn": {"gamma": 1, "beta_1": 5e-4, "beta_2": 5e-4, "dropout": 0.6, "learning_rate": 0.01, "epochs": 400},
    "prognn": {"alpha": 5e-4, "beta": 1.5, "gamma": 1.0, "hidden": 200, "dropout": 0.5, "learning_rate": 0.01}
    | {"weight_decay": 5e-4, "epochs": 100},
    "graphss": {"sweeps": 100, "retrain_epochs": 60, "warm_up": 40, "alpha": 1.0},
    "lindt": {"retrain_epochs": 60, "warm_up": 40},
    "gvdn": {"hidden": 200, "epochs": 200, "recovery_epochs": 300, "gamma_max": 0.9999}
    | {"lambda_ce": 1, "lambda_kl": 1, "lambda_df": 1, "lambda_nm": 1},
    "gcn": {"hidden": 200, "dropout": 0.5, "epochs": 200},
}

PUBLISHED_EDGES = (10_556, 9_228, 88_651, 287_326, 327_576, 899_756)
"""Table of the datasets: both directions, with loops and duplicates."""


@pytest.mark.parametrize("kind", VICTIMS)
def test_the_share_of_victims_is_that_of_the_protocol(kind):
    found = tuple(DATASETS[name].perturbations[kind]["victim_fraction"] for name in GRAPHS)
    assert found == VICTIMS[kind]


def test_prbcd_has_the_victims_of_nettack_and_a_graph_without_features_those_of_the_real_one():
    for dataset in DATASETS.values():
        assert dataset.perturbations["prbcd"] == {
            "victim_fraction": dataset.perturbations["nettack"]["victim_fraction"]
        }
    assert DATASETS["flickr-structure"].perturbations == DATASETS["flickr"].perturbations


def test_the_bundled_graphs_have_a_tenth_of_victims_everywhere():
    shares = {"random-connections": 0.1, "nettack": 0.1, "prbcd": 0.1}
    for name in ("debian", "debian-large"):
        found = DATASETS[name].perturbations
        assert {kind: settings["victim_fraction"] for kind, settings in found.items()} == shares


def test_dense_graphs_are_thinned_before_nettack():
    thinned = [name for name, one in DATASETS.items() if one.perturbations["nettack"].get("thin_first")]
    assert thinned == ["amazon-photo", "coauthor-cs", "flickr", "flickr-structure"]


def test_features_are_normalised_by_row_where_the_protocol_says_so_and_counts_are_words_for_nettack():
    assert [name for name in GRAPHS if DATASETS[name].row_normalise] == ["cora", "citeseer", "pubmed"]
    assert {name: one.binary_for for name, one in DATASETS.items() if one.binary_for} == {"coauthor-cs": ("nettack",)}


def test_the_published_numbers_of_edges_are_those_of_the_papers_table():
    assert tuple(DATASETS[name].published_edges for name in GRAPHS) == PUBLISHED_EDGES


def test_random_connections_are_one_perturbator_for_a_hundred_victims():
    settings = PERTURBATIONS["random-connections"].settings
    assert (settings["rate"], settings["constant_features"]) == (0.01, True)


def test_nettack_flips_two_links_and_ten_times_as_many_features_of_victims_with_fewer_than_ten_neighbours():
    settings = PERTURBATIONS["nettack"].settings
    assert (settings["link_flips"], settings["feature_flips"], settings["max_degree"]) == (2, 20, 10)
    assert (settings["influencers"], settings["target"], settings["flip"]) == (0, None, "as-seen")
    assert all(settings[constraint] for constraint in ("degree_test", "cooccurrence"))


def test_information_sparsity_removes_nine_tenths_of_the_links_and_all_features(ring):
    nodes = list(range(ring.num_nodes))
    perturbed = gvdn.perturb(ring, "information-sparsity", nodes, seed=0)
    assert len(perturbed.removed) == round(0.9 * ring.num_edges)
    assert not perturbed.graph.dense_features().any()
    links_only = gvdn.perturb(ring, "information-sparsity", nodes, seed=0, variant="links-only")
    assert len(links_only.removed) == round(0.9 * ring.num_edges)
    assert (links_only.graph.dense_features() == ring.dense_features()).all()


@pytest.mark.parametrize(("method", "setting"), PRINTED)
def test_the_settings_of_a_method_are_those_that_the_paper_prints_for_a_graph(method, setting):
    found = tuple(METHODS[method].preset(name, paper=True).get_params()[setting] for name in GRAPHS)
    assert found == PRINTED[method, setting]


def test_the_graph_with_simulated_features_has_the_settings_of_the_real_one_but_for_the_width_of_rgcn():
    simulated, real = DATASETS["flickr-structure"], DATASETS["flickr"]
    assert dict(simulated.methods) | {"rgcn": {"hidden": 2014}} == dict(real.methods)


@pytest.mark.parametrize("method", FOR_ALL_GRAPHS)
def test_the_settings_of_a_method_for_all_graphs_are_those_that_the_paper_prints(method):
    params = METHODS[method]().get_params()
    assert {name: params[name] for name in FOR_ALL_GRAPHS[method]} == FOR_ALL_GRAPHS[method]


def test_what_the_paper_leaves_out_about_prognn_is_as_in_the_published_code_of_its_authors():
    params = METHODS["prognn"]().get_params()
    assert (params["steps"], params["structure_rate"], params["momentum"]) == (2, 0.01, 0.9)


def test_attention_has_three_heads():
    assert HEADS == 3
