"""The cache and its checks; the network itself is stood in for by files in the published format."""

import dataclasses
import hashlib
import io
import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from small_published import arxiv_archive

from gvdn.data import DATASETS, Dataset, download
from gvdn.data.archives import fetch
from gvdn.data.ogb import FILES
from gvdn.errors import InvalidInput
from gvdn.graph import published_split, write_npz


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
    assert sorted(path.name for path in cache.iterdir()) == ["coauthor-cs.json", "coauthor-cs.npz"]
    assert download.download(dataset).hash == first.hash


def test_what_the_catalogue_has_no_hash_of_is_recorded_and_compared_later(cache, published, monkeypatch):
    dataset = dataclasses.replace(DATASETS["coauthor-cs"], hash=None)
    monkeypatch.setattr(download, "_raw_folder", lambda *_: published)
    checksum = hashlib.sha256((published / "ms_academic_cs.npz").read_bytes()).hexdigest()
    first = download.download(dataset)
    record = json.loads((cache / "coauthor-cs.json").read_text())
    assert record == {"name": "coauthor-cs", "content": first.hash, "sha256": {"ms_academic_cs.npz": checksum}}
    write_npz(first.subgraph([1, 0]), cache / "coauthor-cs.npz")
    with pytest.raises(InvalidInput, match=f"content hash {first.hash[:12]}, got .* from the cached file .* delete it"):
        download.download(dataset)
    (cache / "coauthor-cs.json").write_text('{"name": 3}')
    with pytest.raises(InvalidInput, match="coauthor-cs.json: expected .*; delete it and .*coauthor-cs.npz"):
        download.download(dataset)


def test_a_download_with_other_counts_than_the_published_ones_is_refused_and_not_kept(cache, published, monkeypatch):
    dataset = dataclasses.replace(DATASETS["coauthor-cs"], hash=None, counts={"nodes": 2, "classes": 15})
    monkeypatch.setattr(download, "_raw_folder", lambda *_: published)
    with pytest.raises(
        InvalidInput, match="expected coauthor-cs with 15 classes, as published, got 2 from the download"
    ):
        download.download(dataset)
    assert not cache.exists()


# ---- from an address


@pytest.fixture
def arxiv(monkeypatch):
    """An archive in the published format, and the addresses that were asked for."""
    content, asked = arxiv_archive(), []

    def answer(url, timeout):
        asked.append((url, timeout))
        return io.BytesIO(content)

    monkeypatch.setattr("urllib.request.urlopen", answer)
    small = dataclasses.replace(DATASETS["ogbn-arxiv"], counts={"nodes": 5, "features": 2, "classes": 3})
    return small, hashlib.sha256(content).hexdigest(), asked


def test_an_archive_is_downloaded_unpacked_and_kept(cache, arxiv):
    dataset, checksum, asked = arxiv
    graph = download.download(dataclasses.replace(dataset, sha256=checksum))
    assert asked == [(DATASETS["ogbn-arxiv"].url, download.TIMEOUT_S)]
    assert published_split(graph, seed=0).test.tolist() == [3, 4]
    again = download.download(dataset)
    assert len(asked) == 1
    assert again.hash == graph.hash
    assert again.published.times.tolist() == graph.published.times.tolist()
    assert set(json.loads((cache / "ogbn-arxiv.json").read_text())["sha256"]) == {*FILES}


def test_an_archive_with_another_checksum_is_not_opened(cache, arxiv, monkeypatch):
    dataset, checksum, _ = arxiv
    monkeypatch.setattr(download, "unpack", lambda *_: pytest.fail("the archive was opened"))
    with pytest.raises(InvalidInput, match=f"expected https://.* with sha256 000000000000, got {checksum[:12]}; try"):
        download.download(dataclasses.replace(dataset, sha256="0" * 64))
    assert not cache.exists()


def test_the_published_counts_of_the_catalogue_are_compared(cache, arxiv):
    with pytest.raises(InvalidInput, match="expected ogbn-arxiv with 169,343 nodes, as published, got 5"):
        download.download(DATASETS["ogbn-arxiv"])


def test_a_server_that_sends_too_much_is_not_heard_to_the_end(cache, arxiv, monkeypatch):
    monkeypatch.setenv("GVDN_MAX_BYTES", "1000")
    with pytest.raises(
        InvalidInput, match="ogbn-arxiv .* could not be downloaded .OSError.; put ogbn-arxiv.npz, or the"
    ):
        download.download(arxiv[0])


def test_only_safe_addresses_are_asked(tmp_path):
    with pytest.raises(InvalidInput, match="expected an address that begins with https://, got file:///etc/passwd"):
        fetch("file:///etc/passwd", tmp_path / "out", 1)


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
