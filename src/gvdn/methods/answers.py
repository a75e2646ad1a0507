"""The predictions of a model for every node of a graph, as a table."""

from typing import Any

import numpy as np
import pyarrow as pa

from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.methods.contract import Method
from gvdn.methods.decisions import prediction_sets
from gvdn.metrics import entropy


def answer_table(
    fitted: Method, graph: Graph, samples: int = 0, *, embeddings: bool = False, coverage: float | None = None
) -> pa.Table:
    """The columns id, class, p_<class> for each class and entropy; mutual_information with `samples`.

    With `embeddings` there are h0, h1, ... of the embedding; without them, and where the method diagnoses, `suspicious`
    and `why`: the reasons of the diagnosis, and how a recovered model made the prediction.

    With `coverage`, `set` names the classes that hold the true one with this probability, and `abstain` says whether
    it is not exactly one.

    Entropy and mutual information are divided by ln K, so that 1 is the largest possible value.
    """
    model: Any = fitted  # embed and uncertainty are there where its capabilities say so
    can = model.capabilities
    for wanted, able, what in ((samples, can.uncertainty, "uncertainty"), (embeddings, can.embeds, "embeddings")):
        if wanted and not able:
            raise InvalidInput(f"a model of the method {model.name} has no {what}; ask for its predictions alone")
    names = np.array(model.class_names_)
    scale = np.log(len(names))
    drawn = model.uncertainty(graph, samples) if samples else None
    probs = drawn.probs if drawn else model.predict_proba(graph)
    columns: dict[str, object] = {"id": pa.array(graph.ids), "class": pa.array(names[model.decide(probs)])}
    columns |= {f"p_{name}": probs[:, number] for number, name in enumerate(names)}
    columns["entropy"] = entropy(probs) / scale
    if coverage is not None:
        columns |= _sets(model, probs, coverage)
    if drawn:
        columns["mutual_information"] = drawn.mutual / scale
    if embeddings:
        columns |= {f"h{number}": column for number, column in enumerate(model.embed(graph).T)}
    elif can.diagnoses:
        columns |= _suspicion(model, graph)
    return pa.table(columns)


def _sets(model: Any, probs: np.ndarray, coverage: float) -> dict[str, object]:
    """The columns `set` and `abstain`."""
    held = prediction_sets(model, probs, coverage)
    names = np.array(model.class_names_)
    return {"set": pa.array(["|".join(names[row]) for row in held], pa.string()), "abstain": held.sum(axis=1) != 1}


def _suspicion(model: Any, graph: Graph) -> dict[str, object]:
    """The columns `suspicious` and `why`."""
    found = model.diagnose(graph)
    told = [found.reasons.node(node) if flagged else [] for node, flagged in enumerate(found.suspicious.tolist())]
    made = model.why(graph)
    why = ["; ".join([*reasons, *([how] if how else [])]) for reasons, how in zip(told, made, strict=True)]
    return {"suspicious": found.suspicious, "why": pa.array(why, pa.string())}
