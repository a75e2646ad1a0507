"""From parts on the disk to what a training on them needs: who owns what, networks, labels, totals."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from torch import nn

from gvdn.data.table_files import read_table
from gvdn.errors import InvalidInput
from gvdn.graph.graph import find_ids
from gvdn.methods.gvdn import GVDN
from gvdn.nn.encoder import Encoder
from gvdn.parts.exchange import Routes, owners
from gvdn.parts.group import Group
from gvdn.parts.manifest import Manifest
from gvdn.parts.model import NONE, TEST, TRAIN, VAL
from gvdn.parts.part import Part, read_part
from gvdn.parts.site import Site, sites_of
from gvdn.seeds import generator, torch_generator
from gvdn.training.selection import balanced_by_counts

AGGREGATORS = ("gcn", "sgc", "sage")


@dataclass(frozen=True)
class Shares:
    """Which labelled nodes are trained on, which choose the epoch, which are tested: by a table, or at random."""

    train: float = 0.1
    val: float = 0.2
    test: float | None = None
    table: Path | None = None


def require_settings(method: GVDN) -> None:
    """Raise at a setting that is not there on parts."""
    if method.aggregator not in AGGREGATORS:
        got = f"{method.aggregator!r}, whose weights of links would need rows of width h from other parts"
        raise InvalidInput(f"expected one of {', '.join(AGGREGATORS)} as aggregator on parts, got {got}")


def parts_of(manifest: Manifest, group: Group) -> tuple[list[int], list[int]]:
    """The numbers of the parts of this worker, and the worker of every part."""
    if group.size > manifest.parts:
        got = f"{group.size} workers for {manifest.parts}"
        raise InvalidInput(f"expected at most as many workers as parts, got {got}; partition into more")
    owner = owners([share.nodes + share.links for share in manifest.shares], group.size)
    return [number for number, worker in enumerate(owner) if worker == group.rank], owner


def sites(
    manifest: Manifest,
    method: GVDN,
    group: Group,
    *,
    max_norm: float | None = None,
    parts: list[Part] | None = None,
) -> tuple[list[Site], Routes]:
    """The parts of this worker, read, unless they are given, and propagated."""
    (numbers, owner), device = parts_of(manifest, group), method.torch_device()
    mine = [read_part(manifest, number) for number in numbers] if parts is None else parts
    pa.default_memory_pool().release_unused()  # what reading the tables took
    routes = Routes.between(group, owner, mine, device)
    _require_both_ways(routes, manifest)
    return sites_of(mine, routes, method.aggregator, device, max_norm), routes


def _require_both_ways(routes: Routes, manifest: Manifest) -> None:
    """Raise unless every part has as many border nodes to another as the halo of that one has of it."""
    counts = np.zeros((2, manifest.parts, manifest.parts), dtype=np.int64)
    for (part, other), rows in routes.send.items():
        counts[0, part, other] = len(rows)
    for (part, other), number in routes.receive.items():
        counts[1, other, part] = number
    found = whole_counts(routes.group, [counts])
    wrong = np.argwhere(found[0] != found[1])
    if len(wrong):
        one, other = wrong[0].tolist()
        raise InvalidInput(
            f"{manifest.folder}: the links of part {one} to part {other} are not those back; partition again"
        )


def shared_weights(method: GVDN, features: int, classes: int, seed: int) -> dict[str, nn.Parameter]:
    """heads.W and out.W as an unpartitioned GVDN of the same seed has them before its first epoch."""
    drawn = torch_generator(seed, "init", method.purpose())
    network = Encoder(features, method.hidden, classes, 1, method.aggregator, generator=drawn)
    return as_shared(network.heads.W.detach().numpy(), network.out.W.detach().numpy(), method)


def as_shared(heads: np.ndarray, out: np.ndarray, method: GVDN) -> dict[str, nn.Parameter]:
    device = method.torch_device()
    return {
        "heads.W": nn.Parameter(torch.from_numpy(heads.copy()).to(device)),
        "out.W": nn.Parameter(torch.from_numpy(out.copy()).to(device)),
    }


def network_of(site: Site, shared: dict[str, nn.Parameter], method: GVDN, W_z: torch.Tensor) -> Encoder:
    """The network of a part: the shared weights themselves, and rows of W_z of its own."""
    features, classes = shared["heads.W"].shape[0], shared["out.W"].shape[1]
    with torch.device("meta"):
        network = Encoder(features, method.hidden, classes, max(site.nodes, 1), method.aggregator)
    # Parameters of their own, for gradients of their own, over the memory of the shared ones.
    network.heads.W, network.out.W = (nn.Parameter(shared[name].data) for name in ("heads.W", "out.W"))
    if method.noise_weight is not None:
        W_z = torch.full_like(W_z, method.noise_weight)
    network.W_z = nn.Parameter(W_z.to(method.torch_device()), requires_grad=method.noise_weight is None)
    return network


def drawn_rows(site: Site, method: GVDN, seed: int) -> torch.Tensor:
    """He's initialisation of a part's rows of W_z, by the part's own generator."""
    W_z = torch.empty(site.nodes, method.hidden)
    drawn = torch_generator(seed, "init", method.purpose(), f"part {site.number}")
    return nn.init.kaiming_normal_(W_z, generator=drawn)


def roles_of(part: Part, shares: Shares, seed: int) -> np.ndarray:
    """What each node of a part is in the training: by the table, or drawn by the part's own generator."""
    roles = np.full(part.nodes, NONE, dtype=np.uint8)
    if shares.table is not None:
        return _from_table(part, shares.table, roles)
    labelled = np.flatnonzero(part.labels >= 0)
    labelled = labelled[np.argsort(part.ids[labelled], kind="stable")]
    first = round(len(labelled) * shares.train)
    second = min(first + round(len(labelled) * shares.val), len(labelled))
    last = len(labelled) if shares.test is None else min(second + round(len(labelled) * shares.test), len(labelled))
    mixed = generator(seed, "split", f"part {part.number}").permutation(labelled)
    roles[mixed[:first]], roles[mixed[first:second]], roles[mixed[second:last]] = TRAIN, VAL, TEST
    return roles


def _from_table(part: Part, table: Path, roles: np.ndarray) -> np.ndarray:
    read = read_table(table, text=("id", "part"))
    if not {"id", "part"} <= set(read.column_names):
        raise InvalidInput(f"{table}: expected the columns id and part, got {', '.join(read.column_names)[:200]}")
    ids, words = (read[name].to_numpy(zero_copy_only=False).astype(str) for name in ("id", "part"))
    found = find_ids(part.ids.astype(str), ids)
    for word, role in (("train", TRAIN), ("val", VAL), ("test", TEST)):
        rows = found[(words == word) & (found >= 0)]
        roles[rows[part.labels[rows] >= 0]] = role
    return roles


def whole_counts(group: Group, counts: list[np.ndarray]) -> np.ndarray:
    """The sums of whole numbers of all parts, of all workers."""
    return group.total(torch.from_numpy(np.sum(counts, axis=0, dtype=np.int64))).numpy()


def labelled(site: Site, chosen: np.ndarray, method: GVDN) -> tuple[torch.Tensor, torch.Tensor]:
    nodes, device = np.flatnonzero(chosen), method.torch_device()
    return torch.from_numpy(nodes).to(device), torch.from_numpy(site.part.labels[nodes]).to(device)


def label_counts(labels: np.ndarray, roles: np.ndarray, classes: int) -> np.ndarray:
    """Training and validation nodes of each class."""
    return np.stack([np.bincount(labels[roles == role], minlength=classes) for role in (TRAIN, VAL)])


def require_trainable(counts: np.ndarray, manifest: Manifest) -> None:
    if (counts[0] > 0).sum() < 2:
        got = f"{int(counts[0].sum())} nodes of {int((counts[0] > 0).sum())}; give more training nodes"
        raise InvalidInput(f"expected training nodes of at least two classes in {manifest.folder}, got {got}")


def balanced(counts: np.ndarray, method: GVDN) -> torch.Tensor | None:
    """The weights of the classes, by the training nodes of all parts."""
    if method.class_weight != "balanced":
        return None
    return balanced_by_counts(torch.from_numpy(counts)).to(method.torch_device())
