"""The reproduction of the GVDN paper: its specs and claims, and one file for each table or figure."""

from importlib.resources import files
from pathlib import Path

from gvdn.errors import InvalidInput
from gvdn.registry import did_you_mean
from gvdn.study import Spec, load_spec

SPECS = Path(str(files("gvdn.paper") / "specs"))

DATASETS = ("cora", "citeseer", "pubmed", "amazon-photo", "coauthor-cs")
"""The datasets of the paper, except Flickr, whose features could not be obtained."""

OURS = "gvdn"
"""The paper's own method."""

COMPETITORS = ("gcn-jaccard", "gcn-svd", "dropedge", "grand", "rgcn", "prognn", "mc-dropout", "graphss", "lindt")
"""The nine other methods of the paper's Table 3."""

REFERENCES = ("gcn", "gcn-retrained", "mlp", "snapshot")
"""The rows that this reproduction adds to Table 3."""

TABLE3 = (*COMPETITORS, OURS, *REFERENCES)
"""The fourteen rows of our Table 3."""


def spec_names() -> list[str]:
    """The specs of the reproduction."""
    return sorted(path.stem for path in SPECS.glob("*.toml"))


def load(name: str) -> Spec:
    """A spec of the reproduction by name."""
    if name not in spec_names():
        raise InvalidInput(f"unknown spec {name!r}{did_you_mean(name, spec_names())}")
    return load_spec(SPECS / f"{name}.toml", own=False)
