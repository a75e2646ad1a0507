"""Downloads of published files through torch-geometric, into a cache and checked by their content hash."""

import contextlib
import io
import os
import socket
import tempfile
from pathlib import Path

from gvdn.data.catalogue import Dataset
from gvdn.data.published import published_files, read_published
from gvdn.errors import InvalidInput
from gvdn.graph import Graph, read_npz, write_npz

TIMEOUT_S = 30


def download(dataset: Dataset) -> Graph:
    """The graph from the cache, or downloaded into it; a file with another content hash is refused."""
    if not dataset.pyg:
        raise InvalidInput(f"{dataset.name} is not on this machine and cannot be downloaded; {_by_hand(dataset)}")
    cached = cache_folder() / f"{dataset.name}.npz"
    if cached.exists():
        return _verified(read_npz(cached), dataset, f"the cached file {cached}; delete it")
    with tempfile.TemporaryDirectory(prefix="gvdn-") as scratch:
        raw = _fetch(dataset, Path(scratch))
        graph = _verified(read_published(dataset, raw), dataset, "the download; try again later")
    write_npz(graph, cached)
    return graph


def cache_folder() -> Path:
    """$GVDN_CACHE, else the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.environ.get("GVDN_CACHE") or Path(home).expanduser() / "gvdn")


def _fetch(dataset: Dataset, scratch: Path) -> Path:
    """The folder with the raw files that torch-geometric downloaded."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT_S)
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            return _raw_folder(dataset, str(scratch))
    except Exception as problem:  # any network, zip or server error has the same solution
        what = f"{dataset.name} is not on this machine and could not be downloaded ({type(problem).__name__})"
        raise InvalidInput(f"{what}; {_by_hand(dataset)}") from problem
    finally:
        socket.setdefaulttimeout(before)


def _by_hand(dataset: Dataset) -> str:
    names = ", ".join(published_files(dataset))
    return f"put {dataset.name}.npz, or the published {names}, into a folder and set GVDN_DATA to it"


def _raw_folder(dataset: Dataset, root: str) -> Path:
    """The folder of the raw files. torch-geometric fetches them and does no more: it would unpickle them."""
    from torch_geometric import datasets

    kind, *arguments = dataset.pyg
    fetched_only = type(kind, (getattr(datasets, kind),), {"_process": _nothing, "load": _nothing})
    return Path(fetched_only(root, *arguments).raw_dir)


def _nothing(*_: object) -> None:
    pass


def _verified(graph: Graph, dataset: Dataset, what: str) -> Graph:
    if dataset.hash is not None and graph.hash != dataset.hash:
        wanted = f"{dataset.name} with content hash {dataset.hash[:12]}"
        raise InvalidInput(f"expected {wanted}, got {graph.hash[:12]} from {what}")
    return graph
