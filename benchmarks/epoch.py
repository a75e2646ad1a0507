"""Seconds per training epoch, validation included: GVDN beside a plain two-layer GCN of torch-geometric.

    python benchmarks/epoch.py --datasets debian          (cora, … with GVDN_DATA set)

Both have 200 hidden units and see the same graph; the epochs are interleaved in one process, so that whatever else the
machine does falls on both alike. The median of the paired ratios is what counts.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch_geometric.nn import GCNConv

import gvdn
from gvdn.graph import Graph, Split


class PygGCN(nn.Module):
    """The usual two-layer GCN, normalisation cached as its documentation advises."""

    def __init__(self, features: int, hidden: int, classes: int) -> None:
        super().__init__()
        self.first = GCNConv(features, hidden, cached=True)
        self.second = GCNConv(hidden, classes, cached=True)

    def forward(self, x: Tensor, edge_index: Tensor) -> Tensor:
        x = F.dropout(x, 0.5, training=self.training)
        x = F.relu(self.first(x, edge_index))
        return self.second(F.dropout(x, 0.5, training=self.training), edge_index)


def pyg_epoch(graph: Graph, split: Split) -> Callable[[], None]:
    torch.manual_seed(0)
    data = graph.to_pyg()
    train, val = torch.from_numpy(split.train.copy()), torch.from_numpy(split.val.copy())
    network = PygGCN(graph.num_features, 200, graph.num_classes)
    optimizer = torch.optim.Adam(network.parameters(), lr=0.01, weight_decay=5e-4, fused=True)

    def epoch() -> None:
        network.train()
        loss = F.cross_entropy(network(data.x, data.edge_index)[train], data.y[train])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        network.eval()
        with torch.no_grad():
            float((network(data.x, data.edge_index)[val].argmax(1) == data.y[val]).float().mean())

    return epoch


def gvdn_epoch(graph: Graph, split: Split, preset: str) -> Callable[[], None]:
    """One epoch of the loop that `fit` runs."""
    model = gvdn.make_method("gvdn", preset, epochs=10_000)
    task, optimizer = model.training(graph, split, seed=0)
    best = -1.0
    count = 0

    def epoch() -> None:
        nonlocal best, count
        terms = task.losses(count)
        best = max(best, task.score() or 0.0)
        optimizer.zero_grad()
        torch.stack(list(terms.values())).sum().backward()
        optimizer.step()
        count += 1

    return epoch


def measure(name: str, rounds: int) -> dict[str, object]:
    graph = gvdn.load_graph(name)
    split = gvdn.random_split(graph, seed=0)
    ours, theirs = gvdn_epoch(graph, split, name), pyg_epoch(graph, split)
    seconds: dict[str, list[float]] = {"gvdn": [], "pyg-gcn": []}
    for round_number in range(rounds + 3):
        for which, epoch in (("gvdn", ours), ("pyg-gcn", theirs)):
            began = time.perf_counter()
            epoch()
            if round_number >= 3:
                seconds[which].append(time.perf_counter() - began)
    ratios = [a / b for a, b in zip(seconds["gvdn"], seconds["pyg-gcn"], strict=True)]
    return {
        "dataset": name,
        "gvdn_ms": round(1e3 * statistics.median(seconds["gvdn"]), 1),
        "pyg_gcn_ms": round(1e3 * statistics.median(seconds["pyg-gcn"]), 1),
        "ratio": round(statistics.median(ratios), 2),
        "rounds": rounds,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "machine": platform.machine(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--datasets", nargs="+", default=["debian"])
    parser.add_argument("--rounds", type=int, default=20)
    options = parser.parse_args()
    for name in options.datasets:
        print(json.dumps(measure(name, options.rounds)), flush=True)


if __name__ == "__main__":
    main()
