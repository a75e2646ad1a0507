"""Downloads of published files into a cache, checked by their checksums and by the content hash of the graph.

Through torch-geometric where it has a class for them, else from the address in the catalogue.
"""

import contextlib
import io
import os
import socket
import tempfile
from pathlib import Path

from gvdn.data.archives import fetch, sha256_of, unpack
from gvdn.data.catalogue import Dataset
from gvdn.data.ogb import CLASSES
from gvdn.data.published import archive_of, published_files, read_published
from gvdn.data.table_files import write_json
from gvdn.errors import InvalidInput
from gvdn.files import require_output
from gvdn.graph import Graph, read_npz, write_npz
from gvdn.schema import Field, checked, read_json

TIMEOUT_S = 30


def download(dataset: Dataset) -> Graph:
    """The graph from the cache, or downloaded into it; a file with another content hash is refused.

    Beside the cached graph stands what was downloaded: the sha256 of each file and the content hash of the graph. Where
    the catalogue has no hash, a cached graph is compared with that.
    """
    if not dataset.can_be_downloaded:
        raise InvalidInput(f"{dataset.name} is not on this machine and cannot be downloaded; {_by_hand(dataset)}")
    cached = cache_folder() / f"{dataset.name}.npz"
    if cached.exists():
        return _verified(read_npz(cached), dataset, f"the cached file {cached}; delete it", _recorded(cached))
    require_output(cached, "file")
    with tempfile.TemporaryDirectory(prefix="gvdn-") as scratch:
        raw = _fetch(dataset, Path(scratch))
        graph = _verified(read_published(dataset, raw), dataset, "the download; try again later")
        _require_counts(graph, dataset)
        files = {name: sha256_of(raw / name) for name in published_files(dataset) if (raw / name).is_file()}
    write_json({"name": dataset.name, "content": graph.hash, "sha256": files}, record_of(cached))
    write_npz(graph, cached)
    return graph


def record_of(cached: Path) -> Path:
    """The file that says what a cached graph was made of."""
    return cached.with_suffix(".json")


def _recorded(cached: Path) -> str | None:
    """The content hash that was recorded with the download; None where an older version kept no record."""
    if not record_of(cached).exists():
        return None
    known = {"name": Field(str), "content": Field(str), "sha256": Field(dict, items=Field(str))}
    do = f"delete it and {cached}"
    try:
        return str(checked(read_json(record_of(cached), do), known, "the record")["content"])
    except InvalidInput as problem:
        raise InvalidInput(f"{record_of(cached)}: {problem}; {do}") from problem


def cache_folder() -> Path:
    """$GVDN_CACHE, else the user's cache folder."""
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    return Path(os.environ.get("GVDN_CACHE") or Path(home).expanduser() / "gvdn")


def _fetch(dataset: Dataset, scratch: Path) -> Path:
    """The folder with the raw files."""
    before = socket.getdefaulttimeout()
    socket.setdefaulttimeout(TIMEOUT_S)
    try:
        with contextlib.redirect_stderr(io.StringIO()):
            return _raw_folder(dataset, str(scratch))
    except _OtherFile:
        raise
    except Exception as problem:  # any network, zip or server error has the same solution
        what = f"{dataset.name} is not on this machine and could not be downloaded ({type(problem).__name__})"
        raise InvalidInput(f"{what}; {_by_hand(dataset)}") from problem
    finally:
        socket.setdefaulttimeout(before)


def _by_hand(dataset: Dataset) -> str:
    names = ", ".join(published_files(dataset))
    names = f"{archive_of(dataset)}" if dataset.url else names
    return f"put {dataset.name}.npz, or the published {names}, into a folder and set GVDN_DATA to it"


def _raw_folder(dataset: Dataset, root: str) -> Path:
    """The folder of the raw files. torch-geometric fetches them and does no more: it would unpickle them."""
    if dataset.url:
        return _from_address(dataset, Path(root))
    from torch_geometric import datasets

    kind, *arguments = dataset.pyg
    fetched_only = type(kind, (getattr(datasets, kind),), {"_process": _nothing, "load": _nothing})
    return Path(fetched_only(root, *arguments).raw_dir)


class _OtherFile(InvalidInput):
    """The server has another file than the catalogue."""


def _from_address(dataset: Dataset, root: Path) -> Path:
    """The folder of the files of an archive, which is compared with its checksum before it is opened."""
    archive, folder = root / archive_of(dataset), root / dataset.stem
    fetch(dataset.url, archive, TIMEOUT_S)
    found = sha256_of(archive)
    if dataset.sha256 not in (None, found):
        wanted = f"{dataset.url} with sha256 {str(dataset.sha256)[:12]}"
        raise _OtherFile(f"expected {wanted}, got {found[:12]}; try again later, or {_by_hand(dataset)}")
    unpack(archive, dataset.stem, published_files(dataset), (CLASSES,), folder)
    return folder


def _nothing(*_: object) -> None:
    pass


def _verified(graph: Graph, dataset: Dataset, what: str, recorded: str | None = None) -> Graph:
    expected = dataset.hash or recorded
    if expected is not None and graph.hash != expected:
        wanted = f"{dataset.name} with content hash {expected[:12]}"
        raise InvalidInput(f"expected {wanted}, got {graph.hash[:12]} from {what}")
    return graph


def _require_counts(graph: Graph, dataset: Dataset) -> None:
    """Raise where a download has other counts than the published ones."""
    found = {"nodes": graph.num_nodes, "features": graph.num_features, "classes": graph.num_classes}
    for name, number in dataset.counts.items():
        if found[name] != number:
            wanted = f"{dataset.name} with {number:,} {name}, as published"
            raise InvalidInput(f"expected {wanted}, got {found[name]:,} from the download; try again later")
