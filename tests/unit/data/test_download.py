"""The cache and its checks; the network itself is stood in for by files in the published format."""

import dataclasses
import shutil
from pathlib import Path

import numpy as np
import pytest

from gvdn.data import DATASETS, Dataset, download
from gvdn.errors import InvalidInput


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("GVDN_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def published(tmp_path):
    folder = tmp_path / "remote"
    folder.mkdir()
    np.savez(
        folder / "ms_academic_cs.npz",
        adj_indices=np.array([1, 0]),
        adj_indptr=np.array([0, 1, 2]),
        attr_data=np.ones(1),
        attr_indices=np.array([0]),
        attr_indptr=np.array([0, 1, 1]),
        attr_shape=np.array([2, 1]),
        labels=np.array([0, 1]),
    )
    return folder


def test_a_download_is_kept_and_found_again_without_the_network(cache, published, monkeypatch):
    dataset = dataclasses.replace(DATASETS["coauthor-cs"], hash=None)
    monkeypatch.setattr(download, "_raw_folder", lambda *_: published)
    first = download.download(dataset)
    shutil.rmtree(published)
    assert [path.name for path in cache.iterdir()] == ["coauthor-cs.npz"]
    assert download.download(dataset).hash == first.hash


def test_a_download_with_other_content_is_refused_and_not_kept(cache, published, monkeypatch):
    monkeypatch.setattr(download, "_raw_folder", lambda *_: published)
    with pytest.raises(
        InvalidInput, match="expected coauthor-cs with content hash 14732ac9717d, got .* from the download"
    ):
        download.download(DATASETS["coauthor-cs"])
    assert not cache.exists()


def test_a_cached_file_that_changed_is_refused(cache, published, monkeypatch):
    monkeypatch.setattr(download, "_raw_folder", lambda *_: published)
    good = download.download(dataclasses.replace(DATASETS["coauthor-cs"], hash=None))
    with pytest.raises(InvalidInput, match="the cached file .* delete it"):
        download.download(DATASETS["coauthor-cs"])
    assert good.num_nodes == 2


@pytest.mark.parametrize("source", ["planetoid", "gnn-benchmark", "graphsaint"])
def test_a_new_dataset_name_never_downloads_flickr(cache, source, monkeypatch):
    """Nor anything else: a dataset is downloaded by the class that the catalogue names, or not at all."""
    import torch_geometric.datasets

    asked = []
    for kind in ("Flickr", "Planetoid", "Amazon", "Coauthor"):
        monkeypatch.setattr(torch_geometric.datasets, kind, lambda *given, kind=kind: asked.append((kind, given)))
    new = Dataset("mine", "my own graph", source, "mine", row_normalise=False)
    with pytest.raises(InvalidInput, match="mine is not on .* cannot be downloaded; put mine.npz, or the published"):
        download.download(new)
    assert asked == []


@pytest.mark.parametrize("name", [name for name, dataset in DATASETS.items() if dataset.pyg])
def test_a_dataset_is_downloaded_by_the_class_that_the_catalogue_names(name, monkeypatch):
    import torch_geometric.datasets

    asked = []

    class Fake:
        raw_dir = "raw"

        def __init__(self, root, *given):
            asked.append((root, *given))

    kind, *arguments = DATASETS[name].pyg
    monkeypatch.setattr(torch_geometric.datasets, kind, Fake)
    assert download._raw_folder(DATASETS[name], "here") == Path("raw")
    assert asked == [("here", *arguments)]


@pytest.mark.parametrize("name", ["cora", "amazon-photo", "flickr"])
def test_without_a_network_the_error_says_where_to_put_which_file(cache, name, monkeypatch):
    def refuse(*_args):
        raise OSError("network is unreachable")

    monkeypatch.setattr(download, "_raw_folder", refuse)
    with pytest.raises(
        InvalidInput, match=f"{name} is not on this machine .* put {name}.npz, or the published .* GVDN_DATA"
    ):
        download.download(DATASETS[name])
    assert not cache.exists()
