"""What the GVDN paper's appendix prints for the competing methods, and which settings are refused."""

import dataclasses
import json
import math
import subprocess
import sys

import pytest
from small_models import small_method

from gvdn.data.catalogue import DATASETS
from gvdn.errors import InvalidInput
from gvdn.methods.contract import METHODS, make_method
from gvdn.methods.gvdn import GVDN

SIX = ["cora", "citeseer", "pubmed", "amazon-photo", "coauthor-cs", "flickr"]
GAMMA_MIN = [0.6, 0.98, 0.99, 0.84, 0.96, 0.96]
PRINTED = {
    "gcn-jaccard": {"threshold": 0.01, "hidden": 200, "dropout": 0.5, "epochs": 300},
    "gcn-svd": {"rank": 15, "hidden": 200, "dropout": 0.5, "epochs": 300},
    "dropedge": {
        "hidden": 200,
        "epochs": 300,
        "dropout": [0.8, 0.8, 0.5, 0.5, 0.5, 0.3],
        "learning_rate": [1e-2, 9e-3, 1e-2, 1e-2, 1e-2, 1e-2],
        "weight_decay": [5e-3, 1e-3, 1e-3, 1e-2, 1e-3, 1e-3],
        "batch_norm": [False, False, False, True, False, False],
    },
    "grand": {
        "hidden": 200,
        "epochs": 200,
        "node_dropout": 0.5,
        "weight_decay": 5e-4,
        "order": [8, 2, 5, 5, 5, 5],
        "draws": [4, 2, 4, 3, 3, 4],
        "consistency": [1.0, 0.7, 1.0, 0.9, 0.9, 1.0],
        "temperature": [0.5, 0.3, 0.2, 0.4, 0.4, 0.3],
        "learning_rate": [0.01, 0.01, 0.2, 0.2, 0.2, 0.2],
        "input_dropout": [0.5, 0.0, 0.6, 0.6, 0.6, 0.6],
        "dropout": [0.5, 0.2, 0.8, 0.5, 0.5, 0.5],
        "batch_norm": [False, False, True, True, True, True],
    },
    "rgcn": {
        "gamma": 1.0,
        "beta_1": 5e-4,
        "beta_2": 5e-4,
        "dropout": 0.6,
        "learning_rate": 0.01,
        "epochs": 400,
        "hidden": [64, 64, 128, 1024, 1024, 2014],
    },
    "prognn": {
        "alpha": 5e-4,
        "beta": 1.5,
        "gamma": 1.0,
        "hidden": 200,
        "dropout": 0.5,
        "learning_rate": 0.01,
        "weight_decay": 5e-4,
        "epochs": 100,
    },
    "mc-dropout": {"hidden": 200, "epochs": 200, "dropout": [0.7, 0.3, 0.9, 0.6, 0.8, 0.3]},
    "graphss": {"sweeps": 100, "retrain_epochs": 60, "warm_up": 40, "alpha": 1.0},
    "lindt": {
        "sweeps": [100, 200, 80, 100, 90, 100],
        "retrain_epochs": 60,
        "warm_up": 40,
        "alpha": [0.1, 0.3, 1.0, 0.7, 0.1, 0.1],
        "sampler": "random",
    },
}
"""The appendix, 'Hyper-parameters of Competing Methods' and its two tables: one value, or one per dataset."""


@pytest.mark.parametrize("index", range(6), ids=SIX)
@pytest.mark.parametrize("name", PRINTED)
def test_the_settings_for_a_dataset_are_those_that_the_paper_prints(name, index):
    expected = {key: value[index] if isinstance(value, list) else value for key, value in PRINTED[name].items()}
    settings = make_method(name, SIX[index], paper=True).get_params()
    assert {key: settings[key] for key in expected} == expected


CHOSEN = {
    ("dropedge", "weight_decay"),
    ("gcn-svd", "rank"),
    ("mc-dropout", "dropout"),
}
"""Settings of which the catalogue has others than the paper prints, chosen on validation data."""


@pytest.mark.parametrize("dataset", DATASETS)
def test_what_is_not_as_printed_was_chosen_and_stands_beside_what_is_printed(dataset):
    known = DATASETS[dataset]
    for name, printed in known.printed.items():
        assert {(name, setting) for setting in printed} <= CHOSEN
        assert all(known.methods[name][setting] != value for setting, value in printed.items())
        assert METHODS[name].preset(dataset, paper=True).get_params().items() >= printed.items()
        assert METHODS[name].preset(dataset).get_params().items() >= known.methods[name].items()


@pytest.mark.parametrize("dataset", DATASETS)
def test_the_catalogue_names_methods_and_settings_that_exist(dataset):
    for name, settings in DATASETS[dataset].methods.items():
        assert METHODS[name].preset(dataset).get_params().items() >= settings.items()


@pytest.mark.parametrize("index", range(6), ids=SIX)
def test_gvdn_as_the_paper_prints_it(index):
    expected = GVDN(
        gamma_min=GAMMA_MIN[index],
        learning_rate=1e-3,
        recovery_learning_rate=1e-3,
        dropout=0.0,
        weight_decay=0.0,
        trust=False,
        guard=False,
        evidence_floor=0.0,
        pseudo_labels="second-layer",
    )
    assert GVDN.preset(SIX[index], paper=True) == expected
    assert (expected.epochs, expected.recovery_epochs, expected.hidden) == (200, 300, 200)
    assert GVDN.preset(SIX[index]).gamma_min == GAMMA_MIN[index]


def test_an_unknown_dataset_lists_the_known_ones():
    with pytest.raises(InvalidInput, match="unknown dataset 'kora'; did you mean 'cora'.* known: debian"):
        GVDN.preset("kora")


@pytest.mark.parametrize("name", METHODS)
def test_flickr_without_its_features_has_the_settings_of_flickr(name):
    changes = {"hidden": 128} if name == "rgcn" else {}  # 2014 units do not fit into 8 GB
    assert make_method(name, "flickr-structure") == make_method(name, "flickr", **changes)


@pytest.mark.parametrize("name", METHODS)
def test_any_other_graph_has_the_default_settings(name):
    assert make_method(name, "my-graph") == METHODS[name]()
    assert make_method(name, "cora", hidden=7).hidden == 7
    assert make_method(name).get_params() == METHODS[name]().get_params()


# ---- what is refused


@pytest.mark.parametrize("name", METHODS)
def test_a_setting_that_a_method_does_not_have_is_named_with_the_nearest_one(name):
    with pytest.raises(InvalidInput, match=f"unknown setting 'epoch' of {name}; did you mean 'epochs'"):
        make_method(name, "cora", epoch=3)


REFUSED = [
    *((name, {"hidden": 0}, "expected hidden of at least 1, got 0") for name in METHODS),
    *((name, {"epochs": 0}, "expected epochs of at least 1, got 0") for name in METHODS),
    *((name, {"dropout": 1.0}, "expected dropout in .0, 1., got 1.0") for name in METHODS),
    *((name, {"learning_rate": 0.0}, "expected a positive learning_rate, got 0.0") for name in METHODS),
    *((name, {"learning_rate": math.inf}, "expected a positive learning_rate, got inf") for name in METHODS),
    *((name, {"weight_decay": -0.1}, "expected weight_decay of at least 0, got -0.1") for name in METHODS),
    ("gcn-jaccard", {"similarity": "euclid"}, "unknown similarity 'euclid'; known: jaccard, cosine"),
    ("gcn-svd", {"rank": 0}, "expected rank of at least 1, got 0"),
    ("dropedge", {"edge_dropout": 1.0}, "expected edge_dropout in .0, 1., got 1.0"),
    ("dropedge", {"edge_dropout": -0.1}, "expected edge_dropout in .0, 1., got -0.1"),
    ("grand", {"order": -1}, "expected order of at least 0, got -1"),
    ("grand", {"draws": 0}, "expected draws of at least 1, got 0"),
    ("grand", {"temperature": 0.0}, "expected a positive temperature, got 0.0"),
    ("grand", {"node_dropout": 1.0}, "expected node_dropout in .0, 1., got 1.0"),
    ("grand", {"input_dropout": -1.0}, "expected input_dropout in .0, 1., got -1.0"),
    ("grand", {"consistency": -1.0}, "consistency .*got -1.0"),
    ("rgcn", {"gamma": -1.0}, "gamma .*got -1.0"),
    ("rgcn", {"beta_1": -1.0}, "beta_1 .*got -1.0"),
    ("prognn", {"steps": 0}, "expected steps of at least 1, got 0"),
    ("prognn", {"rank": 0}, "expected rank of at least 1, got 0"),
    ("prognn", {"alpha": -1.0}, "expected alpha of at least 0, got -1.0"),
    ("prognn", {"neighbours": -1}, "expected neighbours of at least 0, got -1"),
    ("prognn", {"momentum": -0.5}, "expected momentum of at least 0, got -0.5"),
    ("prognn", {"structure_rate": -0.1}, "structure_rate.* got -0.1"),
    ("gpr-gae", {"link_steps": 0}, "expected link_steps of at least 1, got 0"),
    ("gpr-gae", {"filters": 0}, "expected filters of at least 1, got 0"),
    ("gpr-gae", {"width": 0}, "expected width of at least 1, got 0"),
    ("gpr-gae", {"pair_width": 10_001}, "expected pair_width of at most 10,000, got 10001"),
    ("gpr-gae", {"left_out": 1.0}, "expected left_out in .0, 1., got 1.0"),
    ("gpr-gae", {"heaviest": 0.5}, "expected heaviest of at least 1, got 0.5"),
    ("gpr-gae", {"heaviest": math.inf}, "expected a positive heaviest, got inf"),
    ("gpr-gae", {"non_links": 0.0}, "expected a positive non_links, got 0.0"),
    ("gpr-gae", {"symmetry": -0.1}, "expected symmetry of at least 0, got -0.1"),
    ("gpr-gae", {"passes": -1}, "expected passes of at least 0, got -1"),
    ("gpr-gae", {"link_rate": 0.0}, "expected a positive link_rate, got 0.0"),
    ("gpr-gae", {"link_decay": -1.0}, "expected link_decay of at least 0, got -1.0"),
    ("gnnguard", {"threshold": 1.5}, "expected threshold in .0, 1., got 1.5"),
    ("gnnguard", {"threshold": -0.1}, "expected threshold in .0, 1., got -0.1"),
    ("airgnn", {"residual_weight": 1.0}, "expected residual_weight in .0, 1., got 1.0"),
    ("airgnn", {"order": -1}, "expected order of at least 0, got -1"),
    ("elastic-gnn", {"lambda_1": -1.0}, "expected lambda_1 of at least 0, got -1.0"),
    ("elastic-gnn", {"lambda_2": math.inf}, "expected lambda_2 of at least 0, got inf"),
    ("elastic-gnn", {"order": 10_001}, "expected order of at most 10,000, got 10001"),
    ("soft-median-gdc", {"temperature": 0.0}, "expected a positive temperature, got 0.0"),
    ("soft-median-gdc", {"alpha": 0.0}, "expected a positive alpha, got 0.0"),
    ("soft-median-gdc", {"alpha": 1.5}, "expected alpha in .0, 1., got 1.5"),
    ("soft-median-gdc", {"neighbours": 0}, "expected neighbours of at least 1, got 0"),
    ("adversarial-training", {"edge_fraction": 1.5}, "expected edge_fraction in .0, 1., got 1.5"),
    ("adversarial-training", {"attack_steps": 0}, "expected attack_steps of at least 1, got 0"),
    ("adversarial-training", {"block_size": 0}, "expected block_size of at least 1, got 0"),
    ("adversarial-training", {"warm_up": -1}, "expected warm_up of at least 0, got -1"),
    ("gtrans", {"recovery_epochs": 0}, "expected recovery_epochs of at least 1, got 0"),
    ("gtrans", {"feature_rate": 0.0}, "expected a positive feature_rate, got 0.0"),
    ("gtrans", {"link_rate": -0.1}, "expected a positive link_rate, got -0.1"),
    ("gtrans", {"edge_dropout": 1.0}, "expected edge_dropout in .0, 1., got 1.0"),
    ("gtrans", {"block_size": -1}, "expected block_size of at least 0, got -1"),
    ("mc-dropout", {"samples": 0}, "expected samples of at least 1, got 0"),
    *((name, {"sweeps": 0}, "expected sweeps of at least 1, got 0") for name in ("graphss", "lindt")),
    *((name, {"retrain_every": 0}, "expected retrain_every of at least 1, got 0") for name in ("graphss", "lindt")),
    *((name, {"warm_up": 100}, "expected warm_up in .0, sweeps., got 100 of 100") for name in ("graphss", "lindt")),
    *((name, {"alpha": 0.0}, "expected a positive alpha, got 0.0") for name in ("graphss", "lindt")),
    ("lindt", {"sampler": "minor"}, "unknown sampler 'minor'.* known: none, random, major, degree"),
    ("gcn", {"aggregator": "gcnn"}, "unknown aggregator 'gcnn'; did you mean 'gcn'"),
    ("gcn", {"noise_weight": 1.5}, "noise_weight.* got 1.5"),
]


@pytest.mark.parametrize(("name", "setting", "sentence"), REFUSED, ids=str)
def test_a_setting_out_of_range_is_refused(name, setting, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        METHODS[name](**setting)


KINDS = [
    *((name, {"epochs": "5"}, f"expected a whole number for epochs of {name}, got '5'") for name in METHODS),
    *((name, {"hidden": 2.5}, f"expected a whole number for hidden of {name}, got 2.5") for name in METHODS),
    *((name, {"dropout": True}, f"expected a number for dropout of {name}, got True") for name in METHODS),
    *((name, {"device": 1}, f"expected a word for device of {name}, got 1") for name in METHODS),
    ("gvdn", {"guard": 1}, "expected true or false for guard of gvdn, got 1"),
    ("gvdn", {"noise_weight": "0.5"}, "expected a number for noise_weight of gvdn, got '0.5'"),
    ("gvdn", {"samples": None}, "expected a whole number for samples of gvdn, got None"),
]


def without_type_checks(script: str) -> str:
    """What a script prints in a process of its own: these tests check annotations, and a user's Python does not."""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_setting_of_another_kind_is_refused_by_the_constructor():
    script = f"""
import json
from gvdn import METHODS, InvalidInput

def refusal(name, setting):
    try:
        METHODS[name](**setting)
    except InvalidInput as problem:
        return str(problem)

print(json.dumps([refusal(name, setting) for name, setting, _ in {KINDS!r}]))
"""
    assert json.loads(without_type_checks(script)) == [sentence for _, _, sentence in KINDS]


@pytest.mark.parametrize(("name", "setting", "sentence"), KINDS, ids=str)
def test_a_setting_of_another_kind_is_refused_later(name, setting, sentence):
    with pytest.raises(InvalidInput) as refused:
        METHODS[name]().set_params(**setting)
    assert str(refused.value) == sentence


def test_a_whole_number_is_taken_for_a_fraction_and_a_seed_is_a_whole_number():
    script = """
import gvdn
model = gvdn.GVDN(hidden=4, epochs=2, dropout=0, noise_weight=1)
assert type(model.dropout) is int, "the constructor stores what it is given, as scikit-learn asks"
graph = gvdn.load_graph("debian")
split = gvdn.random_split(graph, seed=0)
model.fit(graph, split, seed=0)
try:
    model.fit(graph, split, seed=1.5)
except gvdn.InvalidInput as problem:
    print(problem)
"""
    assert without_type_checks(script) == "expected a whole number as seed, got 1.5; give an int\n"


@pytest.mark.parametrize("name", METHODS)
def test_a_setting_that_is_nan_is_refused(name):
    cls, taken = METHODS[name], []
    for field in dataclasses.fields(cls):
        if isinstance(field.default, float):
            try:
                cls(**{field.name: math.nan})
            except InvalidInput:
                continue
            taken.append(field.name)
    assert taken == []


@pytest.mark.parametrize("name", METHODS)
def test_a_device_that_is_not_there_is_named(name, ring, split):
    with pytest.raises(InvalidInput, match="expected a device such as cpu, cuda or cuda:1, got 'abacus'"):
        small_method(name, device="abacus").fit(ring, split, seed=0)


@pytest.mark.parametrize(
    ("name", "shape", "value"),
    [
        ("dropedge", "batch_norm", True),
        ("grand", "batch_norm", True),
        ("gcn", "aggregator", "sage"),
        ("adversarial-training", "order", 4),
    ],
)
def test_what_else_is_the_shape_of_a_network_cannot_be_changed(name, shape, value, ring, split):
    model = small_method(name).fit(ring, split, seed=0)
    with pytest.raises(InvalidInput, match=f"{shape} is the shape of the fitted network and cannot be changed"):
        model.set_params(**{shape: value})
