"""To and from torch-geometric and NetworkX. (SciPy is what a graph is made of: `Graph(adjacency, features)`.)"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from gvdn.errors import InvalidInput
from gvdn.graph.graph import UNLABELLED, Graph, GraphLike

if TYPE_CHECKING:
    import networkx
    from torch_geometric.data import Data


def as_graph(given: GraphLike) -> Graph:
    """A graph as it is, or converted from torch-geometric's `Data` or a NetworkX graph."""
    if isinstance(given, Graph):
        return given
    home = type(given).__module__.partition(".")[0]
    if home == "torch_geometric":
        return from_pyg(given)
    if home == "networkx":
        return from_networkx(given)
    raise InvalidInput(f"expected a Graph, a torch-geometric Data or a NetworkX graph, got {type(given).__name__}")


def from_pyg(data: Data, **rest: Any) -> Graph:
    """Graph of a PyG `Data`; direction, loops, duplicates and edge weights are dropped."""
    if getattr(data, "x", None) is None or getattr(data, "edge_index", None) is None:
        raise InvalidInput(f"expected a PyG Data with x and edge_index, got {data}; set both")
    given: dict[str, Any] = {}
    if getattr(data, "y", None) is not None:
        given["labels"] = data.y.reshape(-1).cpu().numpy().astype(np.int64)
    if getattr(data, "node_id", None) is not None:
        given["ids"] = np.asarray(data.node_id)
    return Graph.from_edges(data.edge_index.t().cpu().numpy(), data.x.to_dense().cpu().numpy(), **(given | rest))


def to_pyg(graph: Graph) -> Data:
    """PyG `Data` with `x`, `edge_index` (both directions), `y` and `node_id`."""
    import torch
    from torch_geometric.data import Data

    both = graph.adjacency.tocoo()
    ids: Any = graph.ids.tolist() if graph.ids.dtype.kind == "U" else torch.from_numpy(graph.ids.copy())
    return Data(
        x=torch.from_numpy(graph.dense_features()),
        edge_index=torch.from_numpy(np.stack([both.row, both.col]).astype(np.int64)),
        y=torch.from_numpy(graph.labels.copy()),
        node_id=ids,
    )


def from_networkx(graph: networkx.Graph, **rest: Any) -> Graph:
    """Graph of a NetworkX one: node attribute `x` holds the feature vector, `label` (optional) the class name."""
    nodes = list(graph.nodes)
    bare = next((node for node in nodes if "x" not in graph.nodes[node]), None)
    if bare is not None or not nodes:
        raise InvalidInput(f"expected a vector in the attribute 'x' of every node, got none on {bare!r}; set it")
    place = {node: position for position, node in enumerate(nodes)}
    named = [graph.nodes[node].get("label") for node in nodes]
    classes = rest.pop("class_names", None) or tuple(sorted({str(label) for label in named if label is not None}))
    number = {label: position for position, label in enumerate(classes)}
    whole = all(isinstance(node, int) for node in nodes)
    return Graph.from_edges(
        np.array([(place[a], place[b]) for a, b in graph.edges], dtype=np.int64).reshape(-1, 2),
        np.array([graph.nodes[node]["x"] for node in nodes], dtype=np.float32),
        labels=np.array([UNLABELLED if label is None else number[str(label)] for label in named]),
        ids=np.array(nodes if whole else [str(node) for node in nodes]),
        class_names=classes,
        **rest,
    )


def to_networkx(graph: Graph) -> networkx.Graph:
    """NetworkX graph over the ids."""
    import networkx

    features = graph.dense_features()
    ids = graph.ids.tolist()
    result = networkx.Graph(name=graph.name)
    for position, node in enumerate(ids):
        label = graph.labels[position]
        named = {} if label == UNLABELLED else {"label": graph.class_names[label]}
        result.add_node(node, x=features[position], **named)
    result.add_edges_from((ids[a], ids[b]) for a, b in graph.edges.tolist())
    return result
