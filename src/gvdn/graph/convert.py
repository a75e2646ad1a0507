"""To and from torch-geometric and NetworkX. (SciPy is what a graph is made of: `Graph(adjacency, features)`.)"""

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from gvdn.errors import InvalidInput
from gvdn.graph.checks import is_id, numpy_array
from gvdn.graph.graph import UNLABELLED, Features, Graph, GraphLike

if TYPE_CHECKING:
    import networkx
    import torch
    from torch_geometric.data import Data


def as_graph(given: GraphLike) -> Graph:
    """A graph as it is, or converted from torch-geometric's `Data` or a NetworkX graph."""
    if isinstance(given, Graph):
        return given
    if comes_from(given, "torch_geometric"):
        return from_pyg(given)
    if comes_from(given, "networkx"):
        return from_networkx(given)
    got = f"{type(given).__name__}; give one graph, or make it with Graph.from_edges(edges, features)"
    raise InvalidInput(f"expected a Graph, a torch-geometric Data or a NetworkX graph, got {got}")


def comes_from(given: object, package: str) -> bool:
    """Whether an object is of a class of this package, or of one derived from it; the package is not imported."""
    return any(kind.__module__.partition(".")[0] == package for kind in type(given).__mro__)


def from_pyg(data: "Data", **rest: Any) -> Graph:
    kinds = {kind.__name__ for kind in type(data).__mro__}
    if "HeteroData" in kinds:
        raise InvalidInput("expected a PyG Data with one kind of nodes, got HeteroData; give data.to_homogeneous()")
    if "Data" not in kinds:
        raise InvalidInput(f"expected a PyG Data, got {type(data).__name__}; give one graph, such as dataset[0]")
    if getattr(data, "edge_index", None) is None:
        raise InvalidInput(f"expected a PyG Data with edge_index, got {data}; set it")
    given: dict[str, Any] = {}
    if getattr(data, "y", None) is not None:
        labels = numpy_array(data.y)
        if labels.dtype.kind not in "iu":
            raise InvalidInput(f"expected whole numbers in data.y, got {labels.dtype}; cast them with data.y.long()")
        given["labels"] = labels.reshape(-1)
    if getattr(data, "node_id", None) is not None:
        given["ids"] = numpy_array(data.node_id)
    given |= _pyg_weights(data)
    features = _no_features(data) if getattr(data, "x", None) is None else _features(data.x)
    return Graph.from_edges(numpy_array(data.edge_index).T, features, **(given | rest))


def _no_features(data: "Data") -> Features:
    """A row without any entry for each node, whose number is that of the labels, of the ids, or said; never guessed."""
    named = [one for one in (getattr(data, "y", None), getattr(data, "node_id", None)) if one is not None]
    if not named and "num_nodes" not in data:
        raise InvalidInput(f"expected a PyG Data with x, y, node_id or num_nodes, got {data}; set num_nodes")
    return np.zeros((len(named[0]) if named else data.num_nodes, 0), dtype=np.float32)


def _pyg_weights(data: "Data") -> dict[str, Any]:
    """The weights in `edge_weight`, or in an `edge_attr` of one number per link; a wider one is said."""
    for name in ("edge_weight", "edge_attr"):
        found = getattr(data, name, None)
        if found is None:
            continue
        array = numpy_array(found)
        if array.ndim == 2 and array.shape[1] == 1:
            array = array[:, 0]
        if array.ndim == 1:
            return {"weights": array}
        what = f"{name} has {array.shape[1]} numbers for each link and is not used"
        return {"notes": (f"{what}; set edge_weight to weigh the links",)}
    return {}


def _features(x: "torch.Tensor") -> Features:
    """A tensor as features: a sparse tensor becomes a CSR matrix without being made dense."""
    x = x.detach().cpu()
    if x.is_floating_point():
        x = x.float()
    if "strided" in str(x.layout):
        return x.numpy()
    coo = x.to_sparse_coo().coalesce()
    return sp.csr_array((coo.values().numpy(), tuple(coo.indices().numpy())), shape=tuple(x.shape))


def to_pyg(graph: Graph, **columns: Any) -> "Data":
    import torch
    from torch_geometric.data import Data

    both = graph.adjacency.tocoo()
    parts: dict[str, Any] = {
        "x": torch.from_numpy(graph.dense_features()),
        "edge_index": torch.from_numpy(np.stack([both.row, both.col]).astype(np.int64)),
        "y": torch.from_numpy(graph.labels.copy()),
        "node_id": graph.ids.tolist() if graph.ids.dtype.kind == "U" else torch.from_numpy(graph.ids.copy()),
    }
    if graph.is_weighted:
        parts["edge_weight"] = torch.from_numpy(both.data.copy())
    for name, column in columns.items():
        array = numpy_array(column)
        if name in parts:
            raise InvalidInput(f"expected another name than {name}, which the graph sets itself; rename the column")
        if array.dtype.kind not in "biuf" or array.shape[:1] != (graph.num_nodes,):
            wanted = f"numbers with a row for each of the {graph.num_nodes} nodes in {name}"
            raise InvalidInput(f"expected {wanted}, got {array.dtype} of shape {array.shape}; give one row per node")
        parts[name] = torch.from_numpy(array.copy())
    return Data(**parts)


def from_networkx(graph: "networkx.Graph", **rest: Any) -> Graph:
    if graph.is_multigraph():
        kind, do = type(graph).__name__, "give networkx.Graph(graph), which merges parallel edges"
        raise InvalidInput(f"expected at most one edge between two nodes, got a {kind}; {do}")
    nodes = list(graph.nodes)
    odd = next((node for node in nodes if not is_id(node)), None)
    if odd is not None:
        do = "relabel them, for example with networkx.convert_node_labels_to_integers"
        raise InvalidInput(f"expected whole numbers or text as NetworkX nodes, got {odd!r}; {do}")
    bare = [node for node in nodes if "x" not in graph.nodes[node]]
    if not nodes or 0 < len(bare) < len(nodes):
        got = f"none on {bare[0]!r}" if bare else "no node"
        raise InvalidInput(f"expected a vector in the attribute 'x' of every node or of none, got {got}; set it")
    position = {node: number for number, node in enumerate(nodes)}
    named = [graph.nodes[node].get("label") for node in nodes]
    classes = rest.pop("class_names", None) or tuple(sorted({str(label) for label in named if label is not None}))
    number = {label: position for position, label in enumerate(classes)}
    text = any(isinstance(node, str) for node in nodes)
    return Graph.from_edges(
        np.array([(position[a], position[b]) for a, b in graph.edges], dtype=np.int64).reshape(-1, 2),
        np.zeros((len(nodes), 0)) if bare else [graph.nodes[node]["x"] for node in nodes],
        weights=np.array([weight for _, _, weight in graph.edges(data="weight", default=1)]),
        labels=np.array([UNLABELLED if label is None else number[str(label)] for label in named]),
        ids=np.array([str(node) for node in nodes] if text else nodes),
        class_names=classes,
        **rest,
    )


def to_networkx(graph: Graph) -> "networkx.Graph":
    import networkx

    ids, result = graph.ids.tolist(), networkx.Graph(name=graph.name)
    for node, x, label in zip(ids, graph.dense_features(), graph.labels, strict=True):
        named: dict[str, Any] = {} if label == UNLABELLED else {"label": graph.class_names[label]}
        result.add_node(node, **named | ({"x": x} if graph.num_features else {}))
    edges = ((ids[a], ids[b]) for a, b in graph.edges.tolist())
    if graph.is_weighted:
        result.add_weighted_edges_from((a, b, w) for (a, b), w in zip(edges, graph.edge_weights.tolist(), strict=True))
    else:
        result.add_edges_from(edges)
    return result
