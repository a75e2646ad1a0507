"""Prints, as JSON, hashes of a fixed set of small fits, recoveries and perturbations on a CPU; of some, a few numbers.

Run as a script, in a process of its own, by `test_same_bits.py`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from small_models import SMALL, rewired, small, small_method

import gvdn
from gvdn.graph import Graph, Split, random_split
from gvdn.methods.whitebox import WhiteBox

PERTURBED = {
    "random-connections": {},
    "information-sparsity, literal": {"variant": "literal"},
    "information-sparsity, links-only": {"variant": "links-only"},
    "label-noise": {},
    "wrong-links": {},
    "wrong-links, mixed": {"mixed": True},
    "node-injection": {},
    "natural-churn": {"share": 0.05},
    "dice": {},
    "dice, all": {"labels": "all"},
    "metattack": {"block_size": 300},
}
ROOTED = ("grand, normalised: fit", "gtrans: recover")
"""Runs that take square roots of a tensor, whose last digit depends on the processor: MKL begins them with its
approximation. Of these the numbers of every tenth node are printed."""
GVDNS = {
    "paper": {"guard": False, "evidence_floor": 0.0, "pseudo_labels": "second-layer", "dropout": 0.0},
    "no diffusion": {"diffusion": False, "sampler": "none"},
    "major": {"sampler": "major"},
    "degree": {"sampler": "degree"},
    "sage": {"aggregator": "sage"},
    "sgc": {"aggregator": "sgc"},
    "gat": {"aggregator": "gat"},
    "samples": {"samples": 3},
    "held weight": {"noise_weight": 0.5},
}


def toy() -> tuple[Graph, Split]:
    """Sixty nodes in a ring with chords, three classes, sparse binary features, text ids."""
    nodes = 60
    rng = np.random.default_rng(0)
    labels = np.arange(nodes) * 3 // nodes
    words = (rng.random((nodes, 12)) < np.where(np.arange(12) // 4 == labels[:, None], 0.6, 0.1)).astype(np.float32)
    edges = np.array([(node, (node + step) % nodes) for node in range(nodes) for step in (1, 2)])
    ids = np.array([f"n{node:02d}" for node in range(nodes)])
    graph = Graph.from_edges(edges, words, labels=labels, ids=ids, class_names=("a", "b", "c"), name="toy")
    return graph, random_split(graph, seed=0, train=0.2, stratified=True)


def bits() -> Iterator[tuple[str, str | list[float]]]:
    graph, split = toy()
    hurt = rewired(graph)
    yield "split", _hash(split.train, split.val, split.test)
    for word in SMALL:
        model = small_method(word, **({"trust": False} if word == "gvdn" else {})).fit(graph, split, seed=1)
        yield _said(f"{word}: fit", model.predict_proba(graph), model.predict_proba(hurt))
        if not model.opaque():
            yield f"{word}: prbcd", _through(model, graph, split)
        if hasattr(model, "recover"):
            healed = model.recover(hurt)
            yield _said(f"{word}: recover", healed.predict_proba(hurt), healed.predict_proba(graph))
    for name, changes in GVDNS.items():
        model = small(**{"trust": False} | changes).fit(graph, split, seed=2)
        healed = model.recover(hurt)
        yield f"gvdn, {name}", _hash(model.predict_proba(hurt), healed.predict_proba(hurt), healed.embed(hurt))
    model = small(trust=False).fit(graph, split, seed=3)
    some = model.recover(hurt, known=graph.ids[::2])
    yield "gvdn, known", _hash(some.predict_proba(hurt), some.embed(hurt))
    yield "gvdn, labels", _hash(model.recover(hurt, labels=True).predict_proba(hurt))
    yield "gvdn, uncertainty", _hash(*vars(some.uncertainty(hurt, 4)).values())
    for name, settings in PERTURBED.items():
        yield name, gvdn.perturb(graph, name.split(",")[0], split, seed=4, **settings).graph.hash
    surrogate = WhiteBox(small_method("gcn", linear=True).fit(graph, split, seed=5))
    flips = {"link_flips": 2, "feature_flips": 3}
    attack = gvdn.perturb(graph, "nettack", split, seed=6, surrogate=surrogate, victim_fraction=0.2, **flips)
    yield "nettack", attack.graph.hash
    for name, target in (("gcn", surrogate), ("gvdn", WhiteBox(model))):
        attack = gvdn.perturb(graph, "prbcd", split, seed=7, model=target, epochs=5, edge_fraction=0.1)
        yield f"prbcd through {name}", attack.graph.hash
    attack = gvdn.perturb(graph, "grbcd", split, seed=7, model=surrogate, epochs=5, edge_fraction=0.1)
    yield "grbcd through gcn", attack.graph.hash
    unknown = split.test[::3]
    trusted = gvdn.Trusted(small_method("gcn").fit(graph, split, seed=8), graph)
    yield "prbcd through gcn with trust", _through(trusted, graph, split, unknown)
    trusting = small_method("gvdn").fit(graph, split, seed=8)
    yield "prbcd through gvdn with trust", _through(trusting, graph, split, unknown)
    bundled = gvdn.load_graph("debian")
    yield "debian", bundled.hash
    parts = random_split(bundled, seed=0)
    yield "debian, split", _hash(parts.train, parts.val, parts.test)
    yield "debian, random-connections", gvdn.perturb(bundled, "random-connections", parts, seed=0).graph.hash
    fitted = gvdn.GVDN.preset("debian", epochs=3, hidden=16).fit(bundled, parts, seed=0)
    yield "debian, gvdn", _hash(fitted.predict_proba(bundled))


def _through(model: Any, graph: Graph, split: Split, unknown: np.ndarray | None = None) -> str:
    target = WhiteBox(model, unknown=unknown)
    victims = split.test if unknown is None else unknown
    return gvdn.perturb(
        graph, "prbcd", split, seed=7, model=target, victims=victims, epochs=5, edge_fraction=0.1
    ).graph.hash


def _said(name: str, *arrays: np.ndarray) -> tuple[str, str | list[float]]:
    if name not in ROOTED:
        return name, _hash(*arrays)
    return name, [round(float(number), 8) for array in arrays for number in array[::10].flat]


def _hash(*arrays: np.ndarray) -> str:
    return hashlib.sha256(b"".join(np.ascontiguousarray(array).tobytes() for array in arrays)).hexdigest()[:16]


if __name__ == "__main__":
    torch.set_num_threads(1)
    print(json.dumps(dict(bits()), indent=1))  # noqa: T201
