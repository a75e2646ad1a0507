"""Every file of the catalogue: what it says exists."""

import pytest

from gvdn.data import DATASETS
from gvdn.methods.contract import METHODS
from gvdn.perturbations import PERTURBATIONS
from gvdn.settings import checked_settings


def test_nine_datasets_are_in_the_catalogue_and_the_bundled_ones_come_first():
    names = ["debian", "debian-large", "amazon-photo", "citeseer", "coauthor-cs", "cora", "flickr", "flickr-structure", "pubmed"]
    assert list(DATASETS) == names


@pytest.mark.parametrize("name", list(DATASETS))
def test_the_settings_of_a_dataset_are_settings_of_their_perturbations(name):
    dataset = DATASETS[name]
    assert {"random-connections", "nettack", "prbcd"} <= set(dataset.perturbations)
    for kind, settings in dataset.perturbations.items():
        assert PERTURBATIONS.canonical(kind) == kind
        assert checked_settings(kind, settings, PERTURBATIONS[kind].settings) == settings
    assert set(dataset.binary_for) <= set(PERTURBATIONS)


@pytest.mark.parametrize("name", list(DATASETS))
def test_the_settings_of_a_dataset_are_settings_of_their_methods(name):
    for method, settings in DATASETS[name].methods.items():
        params = METHODS[method].preset(name).get_params()
        assert {key: params.get(key) for key in settings} == settings


@pytest.mark.parametrize("name", [name for name, dataset in DATASETS.items() if dataset.pyg])
def test_the_class_that_downloads_a_dataset_exists(name):
    from torch_geometric import datasets

    assert hasattr(datasets, DATASETS[name].pyg[0])


def test_only_bundled_datasets_are_not_downloaded():
    assert [name for name, one in DATASETS.items() if not one.pyg] == ["debian", "debian-large"]
    assert [name for name, one in DATASETS.items() if one.source == "bundled"] == ["debian", "debian-large"]
