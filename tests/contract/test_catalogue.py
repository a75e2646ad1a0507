"""Every file of the catalogue: what it says exists."""

import pytest

from gvdn.data import DATASETS
from gvdn.methods.contract import METHODS
from gvdn.perturbations import PERTURBATIONS
from gvdn.settings import checked_settings

WITH_PACKAGE = ["debian", "debian-large", "growing", "heterophilous"]
PLATONOV = ["amazon-ratings", "minesweeper", "questions", "roman-empire", "tolokers"]


def test_seventeen_datasets_are_in_the_catalogue_and_those_with_the_package_come_first():
    paper = ["amazon-photo", "citeseer", "coauthor-cs", "cora", "flickr", "flickr-structure", "pubmed"]
    assert list(DATASETS) == [*WITH_PACKAGE, *sorted([*paper, *PLATONOV, "ogbn-arxiv"])]


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


def test_only_what_comes_with_the_package_is_not_downloaded():
    assert [name for name, one in DATASETS.items() if not one.can_be_downloaded] == WITH_PACKAGE
    assert [name for name, one in DATASETS.items() if one.is_with_package] == WITH_PACKAGE
    assert [name for name, one in DATASETS.items() if one.source == "generated"] == ["growing", "heterophilous"]


def test_a_download_is_checked_by_its_content_or_by_published_counts():
    unchecked = [name for name, one in DATASETS.items() if one.can_be_downloaded and not (one.hash or one.counts)]
    assert unchecked == ["flickr"]
    assert [name for name, one in DATASETS.items() if one.counts] == sorted([*PLATONOV, "ogbn-arxiv"])


def test_what_is_not_downloaded_by_torch_geometric_has_an_address():
    assert {name: one.url for name, one in DATASETS.items() if one.url} == {
        "ogbn-arxiv": "https://snap.stanford.edu/ogb/data/nodeproppred/arxiv.zip"
    }
