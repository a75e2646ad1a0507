"""What a model says about every node of a graph, as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.metrics import entropy

if TYPE_CHECKING:
    from gvdn.methods.fitted import Fitted


def answer_table(fitted: Fitted, graph: Graph, samples: int = 0, *, embeddings: bool = False) -> pa.Table:
    """id, class, p_<class> for each class, entropy (0 to 1); with draws, mutual information; the embedding if asked.

    Entropy and mutual information are divided by ln K, so that 1 is complete ignorance.
    """
    model: Any = fitted
    for wanted, ability in ((samples, "uncertainty"), (embeddings, "embed")):
        if wanted and not hasattr(model, ability):
            raise InvalidInput(f"a model of the method {model.name} has no {ability}; ask for its predictions alone")
    scale = np.log(len(model.class_names_))
    drawn = model.uncertainty(graph, samples) if samples else None
    probs = drawn.probs if drawn else model.predict_proba(graph)
    columns: dict[str, object] = {
        "id": pa.array(graph.ids),
        "class": pa.array(np.array(model.class_names_)[probs.argmax(axis=1)]),
    }
    columns |= {f"p_{name}": probs[:, number] for number, name in enumerate(model.class_names_)}
    columns["entropy"] = entropy(probs) / scale
    if drawn:
        columns["mutual_information"] = drawn.mutual / scale
    if embeddings:
        columns |= {f"h{number}": column for number, column in enumerate(model.embed(graph).T)}
    return pa.table(columns)
