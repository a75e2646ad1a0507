"""What a model stored of the nodes of a part, as recovery and predictions use it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from gvdn.data.table_files import read_table
from gvdn.errors import InvalidInput
from gvdn.graph.graph import find_ids
from gvdn.methods.gvdn import GVDN
from gvdn.methods.gvdn.memory import gather_rows, lost_weight
from gvdn.nn.encoder import Fallback
from gvdn.parts import prepare
from gvdn.parts.model import TRAIN, Rows
from gvdn.parts.objective import PartsObjective
from gvdn.parts.site import Site


def limited(rows: Rows, table: Path | None) -> Rows:
    """What was stored of the nodes of a table alone; of the others W_z is zero, as that of new nodes."""
    if table is None:
        return rows
    read = read_table(table, text=("id",))
    if "id" not in read.column_names:
        raise InvalidInput(f"{table}: expected a column id, got {', '.join(read.column_names)[:200]}")
    ids = read["id"].drop_null().to_numpy(zero_copy_only=False).astype(str)
    return only(rows, np.isin(rows.known.astype(str), ids))


def only(rows: Rows, kept: np.ndarray) -> Rows:
    """What was stored of some of the known nodes alone; of the others W_z is zero."""
    hidden = find_ids(rows.known[~kept], rows.ids) >= 0
    W_z = np.where(hidden[:, None], np.float32(0), rows.W_z)
    left = {name: getattr(rows, name)[kept] for name in Rows._fields if name not in ("ids", "W_z")}
    return rows._replace(W_z=W_z, **left)


def with_labels(pseudo: torch.Tensor, site: Site, rows: Rows) -> torch.Tensor:
    """The true label in place of the pseudo label, for the nodes that the model was trained on."""
    found = find_ids(rows.known, site.part.ids)
    there = found >= 0
    there[there] = rows.roles[found[there]] == TRAIN
    truth = torch.from_numpy(np.where(there, rows.labels[np.maximum(found, 0)] if len(rows.labels) else 0, 0))
    return torch.where(torch.from_numpy(there).to(pseudo.device), truth.to(pseudo.device), pseudo)


def take_over(site: Site, stored: Rows, shared: dict[str, torch.nn.Parameter], method: GVDN) -> None:
    """The network of a part with the rows of W_z that the model has for its nodes; zeros for new ones."""
    rows = find_ids(stored.ids, site.part.ids)
    site.network = prepare.network_of(site, shared, method, gather_rows(torch.from_numpy(stored.W_z), rows))


def without_matrices(stored: Rows) -> Rows:
    """The same without W_z, H_emb and logits, which are large, once the network and the fallback have them."""
    return stored._replace(W_z=stored.W_z[:0].copy(), H_emb=stored.H_emb[:0].copy(), logits=stored.logits[:0].copy())


def stored_of(site: Site, stored: Rows, method: GVDN) -> Fallback:
    """What was stored of the nodes of a part, and its weight, as `Memory.fallback` has them."""
    rows, device = find_ids(stored.known, site.part.ids), method.torch_device()
    weight = np.zeros(site.nodes)
    if method.evidence_floor > 0 and len(stored.known):
        pairs = ((stored.mass[rows], site.mass), (stored.own[rows], site.norms))
        weight = np.where(rows >= 0, lost_weight(pairs, method.evidence_floor), 0)
    H_emb, logits = (gather_rows(torch.from_numpy(one), rows).to(device) for one in (stored.H_emb, stored.logits))
    return Fallback(torch.from_numpy(weight.astype(np.float32))[:, None].to(device), H_emb, logits)


@torch.no_grad()
def pseudo_labels(objective: PartsObjective, held: dict[int, Fallback], method: GVDN) -> dict[int, torch.Tensor]:
    """As `recovery.pseudo_labels`; the paper's need an exchange."""
    if method.pseudo_labels == "stored":
        return {number: stored.logits.argmax(dim=1) for number, stored in held.items()}
    W = objective.shared["out.W"]
    out = objective.propagate({number: stored.H_emb @ W for number, stored in held.items()})
    return {n: torch.lerp(out[n], held[n].logits, held[n].weight).argmax(dim=1) for n in held}
