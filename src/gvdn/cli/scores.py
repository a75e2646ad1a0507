"""What commands say of a model: scores that hold for rare classes too, class by class, and what went wrong."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from gvdn.cli.console import print_json, print_table, say

if TYPE_CHECKING:
    import numpy as np

    from gvdn.graph import Graph, Split
    from gvdn.metrics import Classification

SHARES = {
    "accuracy": "test accuracy",
    "majority_rate": "always the majority",
    "balanced_accuracy": "balanced accuracy",
    "macro_f1": "macro-F1",
    "roc_auc": "ROC-AUC",
    "average_precision": "average precision",
}
"""Scores of a classification by the words that are printed."""
MOST_CLASSES = 20


def of_training(model: Any, graph: Graph, split: Split) -> dict[str, Any]:
    """Scores of the test nodes, how the epoch was chosen, labels by class, and warnings."""
    import numpy as np

    from gvdn.methods.advice import training_warnings, unchosen, untrained
    from gvdn.metrics import normalised_entropy

    probs = model.predict_proba(graph)
    counts = np.bincount(graph.labels[split.train], minlength=graph.num_classes).tolist()
    trained = dict(zip(model.class_names_, counts, strict=True))
    found: dict[str, Any] = {
        "select": model.select,
        "validation_score": model.outcome_.score,
        "epoch": model.outcome_.epoch + 1,
        "training_nodes": trained,
    }
    if len(split.test):
        test = of_nodes(model, probs, graph, split.test)
        found |= {"test_accuracy": test.accuracy, "test_entropy": normalised_entropy(probs[split.test])}
        found["test"] = test.as_json()
    more = [said for said in (untrained(trained), unchosen(model.outcome_)) if said is not None]
    return found | {"warnings": [*training_warnings(model, probs), *more]}


def of_nodes(model: Any, probs: np.ndarray, graph: Graph, nodes: np.ndarray) -> Classification:
    """The scores of these labelled nodes, whose classes go by name."""
    from gvdn.methods.checks import labels_by_name
    from gvdn.metrics import classification

    labels = labels_by_name(graph, model.class_names_)[nodes]
    return classification(probs[nodes], labels, model.class_names_, model.decide(probs[nodes]))


def report(title: str, found: dict[str, Any], output: Path, graph: Graph, as_json: bool) -> None:
    """Print what was found, and where the result is."""
    if as_json:
        print_json(found | {"output": str(output), "notes": list(graph.notes)})
        return
    rows = [[_words(name), _number(value)] for name, value in found.items() if not isinstance(value, dict | list)]
    rows += _share_rows(found.get("test"), given={row[0] for row in rows})
    print_table(title, ["", "value"], rows)
    if "test" in found:
        print_classes(found["test"], found.get("training_nodes", {}))
    if "recovery" in found:
        say(found["recovery"]["sentence"])
    for sentence in found.get("warnings", []):
        say(f"warning: {sentence}")
    say(f"written: {output}")


def print_classes(scores: dict[str, Any], trained: dict[str, int]) -> None:
    """One line per class: how many nodes were trained on and tested, how many predicted, recall and precision."""
    lines = [
        [one["name"], *([f"{trained[one['name']]:,}"] if trained else []), f"{one['count']:,}", f"{one['predicted']:,}"]
        + [_number(one[key]) for key in ("recall", "precision")]
        for one in scores["classes"][:MOST_CLASSES]
    ]
    rest = len(scores["classes"]) - len(lines)
    header = ["class", *(["trained on"] if trained else []), "tested", "predicted", "recall", "precision"]
    print_table("class by class", header, lines, f"{rest} more classes: --json has all of them" if rest else None)


def print_scores(title: str, scores: dict[str, Any]) -> None:
    """The shares of a classification, then its classes."""
    print_table(title, ["", "value"], _share_rows(scores, given=set()))
    print_classes(scores, {})


def _share_rows(scores: dict[str, Any] | None, given: set[str]) -> list[list[str]]:
    if scores is None:
        return []
    rows = []
    for key, words in SHARES.items():
        ranked = f" of {scores['positive']}" if key in ("roc_auc", "average_precision") else ""
        if words not in given and scores[key] is not None:
            rows.append([words + ranked, _number(scores[key])])
    return rows


def _words(name: str) -> str:
    return name.replace("_", " ")


def _number(value: Any) -> str:
    if value is None:
        return "–"
    if isinstance(value, str):
        return value
    return f"{value:,}" if isinstance(value, int) else f"{value:.2%}"
