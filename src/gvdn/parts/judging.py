"""The trust model on a graph in parts: what it says of the nodes and links of one worker."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
import torch

from gvdn.errors import InvalidInput
from gvdn.methods.base import probabilities
from gvdn.methods.gvdn.choice import JUDGING
from gvdn.parts.around import Around, Blocks, Exchange
from gvdn.parts.baseline import PartBaseline, SharedBaseline, read_baseline, read_shared
from gvdn.parts.changed import PartsChanges, compared
from gvdn.parts.group import Group
from gvdn.parts.manifest import Manifest
from gvdn.parts.model import PartsModel
from gvdn.parts.part import Part, read_part
from gvdn.parts.prepare import parts_of
from gvdn.trust.front import Front
from gvdn.trust.guard import guarded
from gvdn.trust.rows import digests, l1_norms
from gvdn.trust.scene import Scene


@dataclass(frozen=True, eq=False)
class Judged:
    """The parts of one worker with their halos as one graph, and what the trust model says of it.

    Attributes:
        graph: as given; `front.guarded` is what the guard left of it.
        counted: which of the new links are counted here: not those that a part of a smaller number has as well.
    """

    blocks: Blocks
    graph: Around
    front: Front
    here: Exchange

    @property
    def changes(self) -> PartsChanges:
        assert isinstance(self.front.changes, PartsChanges)
        return self.front.changes

    @property
    def counted(self) -> np.ndarray:
        links = self.changes.links
        first, second = self.blocks.home[links].T if len(links) else np.zeros((2, 0), np.int64)
        return self.blocks.is_own[links].all(axis=1) | (first < second)

    def seen(self) -> list[Part]:
        """The parts as the network sees them: links and rows count as far as they are trusted."""
        seen, found = self.front.seen, []
        for part in self.blocks.parts:
            own, halo = self.blocks.own[part.number], self.blocks.halo[part.number]
            links = sp.csr_array(seen.adjacency[own][:, own.start : halo.stop])
            found.append(replace(part, features=seen.features[own].copy(), links=links))
        return found

    def joined(self, way: str, logits: Mapping[int, torch.Tensor]) -> dict[int, np.ndarray]:
        """The network's answers with those of the other witnesses, as this way of recovering has it."""
        network = self.blocks.spread({number: probabilities(one) for number, one in logits.items()})
        found = self.front.answers(network) if way in JUDGING else self.front.with_stored(network)
        return {number: found[one] for number, one in self.blocks.own.items()}


def require_trust(model: PartsModel) -> None:
    """Raise unless a model stores what a diagnosis needs."""
    if not model.trusting:
        raise InvalidInput(
            f"{model.folder} stores nothing of the clean graph to compare with: it was trained with trust=false, or by "
            "an older gvdn; train it again, or recover with --set trust=false"
        )


def read_stored(model: PartsModel, numbers: list[int]) -> tuple[SharedBaseline, dict[int, PartBaseline]]:
    """The trust model, and what is stored of the nodes of these parts."""
    classes = len(model.class_names)
    shared = read_shared(model.folder, model.features, classes, model.parts)
    return shared, {number: read_baseline(model.folder, number, classes, shared.sizes) for number in numbers}


def judge(
    manifest: Manifest,
    shared: SharedBaseline,
    stored: dict[int, PartBaseline],
    group: Group,
    *,
    guard: bool = True,
) -> Judged:
    """As `gvdn.trust.front.front_of`, for the parts of this worker; all workers call it at the same time."""
    owner = parts_of(manifest, group)[1]
    blocks = Blocks([read_part(manifest, number) for number in sorted(stored)], group, owner)
    features = blocks.take_features()
    graph = Around(blocks.adjacency(), features, ids=blocks.names(), class_names=manifest.class_names)
    baseline, changes, new = compared(blocks, stored, shared, owner, graph.edges)
    model, known = shared.lazy.trust(), changes.stored >= 0
    kept = guarded(graph, baseline.max_norm) if guard else graph
    doubted = ~known | (digests(features) != baseline.digests)
    doubted = blocks.told(doubted.astype(np.uint8)).astype(bool)
    own = np.where(known[:, None] & ~doubted[:, None], baseline.own, model.learned.prior)
    asked = np.flatnonzero(doubted & blocks.is_own)
    if asked.size:
        own[asked] = model.learned.student.answers(kept.features[asked], graph.ids[asked])
    offsets = np.concatenate([[0], np.cumsum([share.nodes for share in manifest.shares])])
    here = Exchange(blocks, changes.links, offsets)
    scene = Scene(
        model.learned, kept, known=known, stored=np.where(known[:, None], baseline.answers, model.learned.prior),
        judged=new, own=blocks.told(own), doubted=doubted, norms=l1_norms(features), here=here,
    )  # fmt: skip
    return Judged(blocks, graph, Front(model, baseline, changes, model.judge(scene), kept), here)
