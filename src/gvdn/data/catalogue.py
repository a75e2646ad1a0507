"""The named graphs: what each is, how its features are used, what its publishers counted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gvdn.registry import Registry


@dataclass(frozen=True)
class Dataset:
    """One row of the catalogue.

    Attributes:
        source: where it comes from: in the package, the planetoid files, the gnn-benchmark files, GraphSAINT's files.
        stem: what the publisher's files are called.
        row_normalise: whether features are divided by their row sum when loaded, as the model is to see them.
        published_edges: the count that papers print: both directions, with the loops and duplicates of the raw files.
        victim_fraction: share of the test nodes that random connections make victims (the paper's protocol).
        hash: content hash of the graph with its features as published; a download that differs is refused.
        remark: printed wherever the name is.
    """

    name: str
    about: str
    source: Literal["bundled", "planetoid", "gnn-benchmark", "graphsaint"]
    stem: str
    row_normalise: bool
    published_edges: int | None = None
    victim_fraction: float = 0.1
    hash: str | None = None
    remark: str = ""


DATASETS: Registry[Dataset] = Registry("dataset")

for dataset in (
    Dataset("debian", "Debian packages of application sections, bundled", "bundled", "debian", True),
    Dataset("debian-large", "Debian packages of 24 sections, bundled", "bundled", "debian-large", True),
    Dataset(
        "cora",
        "citations of machine-learning papers",
        "planetoid",
        "Cora",
        row_normalise=True,
        published_edges=10556,
        hash="fdd8618088d5ef4acbcd627723d01b79551f4db923600ac5bcf313453c7d53b1",
    ),
    Dataset(
        "citeseer",
        "citations of computer-science papers",
        "planetoid",
        "CiteSeer",
        row_normalise=True,
        published_edges=9228,
        hash="4475a77060d714171d8a7fcce5ebed247657a90dc21b624ac12b43622f553fe5",
    ),
    Dataset(
        "pubmed",
        "citations of papers on diabetes, TF-IDF",
        "planetoid",
        "PubMed",
        row_normalise=True,
        published_edges=88651,
        hash="df727a7a8ce403916e898847f0f883f1512a232121dae179b6d57ad6cc9acd18",
    ),
    Dataset(
        "amazon-photo",
        "co-purchases of photo goods",
        "gnn-benchmark",
        "amazon_electronics_photo",
        row_normalise=False,
        published_edges=287326,
        victim_fraction=0.99,
        hash="e3e6d39f234d0e97e135f885a6eb0ff8b887780613c145bbd2b8a898c7ab4090",
    ),
    Dataset(
        "coauthor-cs",
        "co-authors in computer science, counts",
        "gnn-benchmark",
        "ms_academic_cs",
        row_normalise=False,
        published_edges=327576,
        hash="14732ac9717d9730684012d82f061cbfffd09105ae161965ca37b41213f01f20",
    ),
    Dataset(
        "flickr",
        "images that share metadata, GraphSAINT's release",
        "graphsaint",
        "Flickr",
        row_normalise=False,
        published_edges=899756,
    ),
    Dataset(
        "flickr-structure",
        "Flickr's real links and labels",
        "graphsaint",
        "Flickr",
        row_normalise=False,
        published_edges=899756,
        hash="ceca15657ce7f521360460d7134d3e24be2571bbc3f55132ffeb14ff3a9ee46e",
        remark="features are SIMULATED; this is not Flickr",
    ),
):
    DATASETS.add(dataset.name, dataset)
