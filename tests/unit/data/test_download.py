"""The cache and its checks; the network itself is stood in for by files in the published format."""

import dataclasses
import shutil

import numpy as np
import pytest

from gvdn.data import DATASETS, download
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
