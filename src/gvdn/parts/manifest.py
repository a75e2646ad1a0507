"""The manifest of a partitioned graph: what it is of, what each part holds, and the checksum of every file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gvdn.errors import InvalidInput
from gvdn.graph import Columns
from gvdn.limits import short
from gvdn.schema import Field, Schema, checked, read_json

FORMAT = "gvdn-parts"
VERSION = 1
MANIFEST = "manifest.json"
AGAIN = "copy it again, or partition the graph again"


@dataclass(frozen=True)
class Share:
    """What one part holds: its nodes, their links (each counted from here), those that leave it, and its halo, the
    nodes of other parts that it has links to."""

    nodes: int
    links: int
    cut: int
    halo: int


@dataclass(frozen=True)
class Manifest:
    """A partitioned graph.

    Attributes:
        folder: where its files are.
        identity: a hash of what the partition was made of; the parts of another one are refused.
        shares: what each part holds.
        files: sha256 and bytes of each file, by its path in the folder.
        like: the identity of the earlier partition whose nodes are in the same parts here; empty where there is none.
    """

    folder: Path
    identity: str
    name: str
    partitioner: str
    nodes: int
    edges: int
    features: int
    sparse: bool
    weighted: bool
    class_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    columns: Columns | None
    shares: tuple[Share, ...]
    files: dict[str, tuple[str, int]]
    notes: tuple[str, ...] = ()
    like: str = ""

    @property
    def parts(self) -> int:
        return len(self.shares)

    @property
    def cut(self) -> int:
        """Links between two parts."""
        return sum(share.cut for share in self.shares) // 2

    @property
    def halo(self) -> int:
        """Copies of nodes that are exchanged, of all parts together."""
        return sum(share.halo for share in self.shares)

    @property
    def balance(self) -> float:
        """Nodes of the largest part, divided by the mean."""
        return max(share.nodes for share in self.shares) * self.parts / self.nodes

    def report(self) -> dict[str, Any]:
        """Balance and cut, as JSON has them."""
        return {
            "name": self.name,
            "partitioner": self.partitioner,
            "parts": self.parts,
            "nodes": self.nodes,
            "edges": self.edges,
            "balance": round(self.balance, 4),
            "cut": self.cut,
            "cut_share": round(self.cut / self.edges, 4) if self.edges else 0.0,
            "halo": self.halo,
            "shares": [asdict(share) for share in self.shares],
        }

    def path(self, kind: str, part: int) -> Path:
        return self.folder / file_name(kind, part)

    def save(self) -> None:
        """Write the manifest into the folder."""
        content: dict[str, Any] = {"format": FORMAT, "version": VERSION, **asdict(self)}
        del content["folder"]
        content["columns"] = None if self.columns is None else self.columns.as_json()
        (self.folder / MANIFEST).write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")


_SHARE: Schema = {name: Field(int, low=0) for name in ("nodes", "links", "cut", "halo")}
_SCHEMA: Schema = {
    **dict.fromkeys(("format", "identity", "name", "partitioner", "like"), Field(str)),
    "version": Field(int),
    "nodes": Field(int, low=1),
    "edges": Field(int, low=0),
    "features": Field(int, low=0),
    "sparse": Field(bool),
    "weighted": Field(bool),
    "class_names": Field(list, items=Field(str)),
    "feature_names": Field(list, items=Field(str)),
    "columns": Field(dict, optional=True),
    "shares": Field(list, low=1, items=Field(dict, fields=_SHARE)),
    "files": Field(dict, items=Field(list, low=2, high=2)),
    "notes": Field(list, items=Field(str)),
}


def file_name(kind: str, part: int) -> str:
    """Where the nodes or the links of a part lie, as partitioned Parquet is laid out."""
    return f"{kind}/part={part}/{kind}.parquet"


def is_parts(path: str | Path) -> bool:
    """Whether this is a folder that `gvdn partition` wrote."""
    file = Path(path) / MANIFEST
    if not file.is_file():
        return False
    try:
        content = read_json(file, AGAIN)
    except InvalidInput:
        return False
    return isinstance(content, dict) and content.get("format") == FORMAT


def read_manifest(folder: str | Path) -> Manifest:
    """What the manifest says; the files that it names are not looked at yet."""
    path = Path(folder) / MANIFEST
    try:
        content = read_json(path, AGAIN)
    except FileNotFoundError as problem:
        raise InvalidInput(f"there is no partitioned graph in {folder}; gvdn partition writes one") from problem
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise InvalidInput(f"{path}: expected a partitioned graph of the format {FORMAT}, got something else")
    if content.get("version") != VERSION:
        raise InvalidInput(f"{path}: expected version {VERSION}, got {short(content.get('version'))}; {AGAIN}")
    try:
        whole = checked(content, _SCHEMA, "the manifest")
        shares = tuple(Share(**share) for share in whole["shares"])
        files = {name: (str(said[0]), int(said[1])) for name, said in whole["files"].items()}
        columns = None if whole.get("columns") is None else Columns.from_json(whole["columns"])
    except (ValueError, TypeError) as problem:
        raise InvalidInput(f"{path}: not a whole manifest ({problem}); {AGAIN}") from problem
    wanted = {file_name(kind, part) for kind in ("nodes", "links") for part in range(len(shares))}
    if set(files) != wanted or sum(share.nodes for share in shares) != whole["nodes"]:
        raise InvalidInput(f"{path}: expected the nodes and links of {len(shares)} parts; {AGAIN}")
    plain = ("identity", "name", "partitioner", "nodes", "edges", "features", "sparse", "weighted", "like")
    rest: dict[str, Any] = {name: whole[name] for name in plain}
    rest |= {name: tuple(whole[name]) for name in ("class_names", "feature_names", "notes")}
    return Manifest(Path(folder), **rest, columns=columns, shares=shares, files=files)


def require_files(manifest: Manifest) -> None:
    """Raise, with its name, at the first file that is missing, truncated, damaged or of another partition."""
    for name, (digest, size) in manifest.files.items():
        path = manifest.folder / name
        if not path.is_file():
            raise InvalidInput(f"{path}: the file is missing; {AGAIN}")
        got = path.stat().st_size
        if got < size:
            raise InvalidInput(f"{path}: expected {size:,} bytes, got {got:,}: the file is truncated; {AGAIN}")
        if got != size or sha256(path) != digest:
            why = f"its sha256 is not the one of {MANIFEST}: the file is damaged, or of another partition"
            raise InvalidInput(f"{path}: {why}; {AGAIN}")


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
