"""Which graph a stored model was recovered on: a file beside the model, which a recovery by the command line writes."""

import json
from pathlib import Path

from gvdn.graph import Graph
from gvdn.schema import Field, Schema, checked, read_json

FILE = "recovered.json"
_FIELDS: Schema = {"graph": Field(str), "hash": Field(str)}


def note_graph(folder: Path, graph: Graph) -> None:
    """Write, into the folder of a model, that it was recovered on this graph."""
    (folder / FILE).write_text(json.dumps({"graph": graph.name, "hash": graph.hash}, indent=2) + "\n")


def was_recovered_on(folder: Path, graph: Graph) -> bool:
    """Whether the model in the folder is known to have been recovered on this very graph."""
    try:
        content = read_json(folder / FILE, "recover the model again")
    except FileNotFoundError:
        return False
    return bool(checked(content, _FIELDS, str(folder / FILE))["hash"] == graph.hash)
