"""Two graphs of Debian packages, built from the package index: ``debian`` and ``debian-large``.

A node is a package, its label is its section, its features are the words of its one-line description. Two packages
are joined when one declares a relation to the other, when they share a rare dependency, or when they come from the
same source package. The same index gives the same bytes.

    python tools/build_debian_graphs.py                 asks ``apt-cache dumpavail``
    python tools/build_debian_graphs.py index.txt       reads a saved index; ``-`` is standard input
"""

import argparse
import os
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

BUNDLED = Path(__file__).resolve().parents[1] / "src" / "gvdn" / "data" / "bundled"

SMALL = ("database", "electronics", "games", "graphics", "mail", "math", "science", "sound", "video")
# The 24 biggest sections that say what a package is about. Left out are those that say what part it plays: libs,
# libdevel, oldlibs, doc, debug, introspection, localization, metapackages, tasks, misc.
LARGE = (
    "admin", "devel", "fonts", "games", "gnu-r", "golang", "graphics", "haskell", "java", "javascript", "lisp", "net",
    "ocaml", "perl", "php", "python", "ruby", "rust", "science", "sound", "text", "utils", "web", "x11",
)  # fmt: skip

RELATIONS = ("Depends", "Pre-Depends", "Recommends", "Suggests", "Enhances")
RARE = range(2, 9)  # a dependency or a source joins the packages that share it when they are this many
N_WORDS = 1200
WORD_USERS = 3
SMALLEST_CLASS = 50

STOP_WORDS = frozenset(
    re.findall(
        "[a-z]+",
        """
        about after all also and any are been before being between both but can could did does doing down during each
        either etc few for from further had has have having her here his how however into its itself just like many
        may might more most much must nor not off once one only onto other our out over own same several shall she
        should some such than that the their them then there these they this those through too two under until upon
        use used uses using very via was were what when where whether which while who whose why will with within
        without would you your
        """,
    )
)

Arrays = dict[str, NDArray[Any]]
Pairs = set[tuple[str, str]]  # the smaller name first


@dataclass(frozen=True)
class Package:
    """What the graph needs to know of one package."""

    name: str
    section: str
    source: str
    summary: str
    relations: frozenset[str]


def parse_index(text: str) -> list[Package]:
    """The packages of an index in the order they stand there; of a name that comes twice, the first."""
    packages: dict[str, Package] = {}
    for fields in stanzas(text):
        if "Package" in fields:
            packages.setdefault(fields["Package"], to_package(fields))
    return list(packages.values())


def build_graph(
    packages: Sequence[Package],
    sections: Collection[str],
    *,
    n_words: int = N_WORDS,
    smallest_class: int = SMALLEST_CLASS,
) -> Arrays:
    """The arrays of the graph of these sections, nodes sorted by name, integers as small as they can be."""
    nodes, pairs = connected(packages, sections, smallest_class)
    names, classes = [node.name for node in nodes], sorted({node.section for node in nodes})
    adj = adjacency(names, pairs)
    words, x = bag_of_words([node.summary for node in nodes], n_words)
    return {
        "adj_indptr": small(adj.indptr),
        "adj_indices": small(adj.indices),
        "x_indptr": small(x.indptr),
        "x_indices": small(x.indices),
        "x_data": x.data,
        "x_shape": np.array(x.shape, dtype=np.int64),
        "y": np.array([classes.index(node.section) for node in nodes], dtype=np.int8),
        "ids": np.array(names, dtype=np.str_),
        "class_names": np.array(classes, dtype=np.str_),
        "feature_names": np.array(words, dtype=np.str_),
    }


def save(path: Path, arrays: Arrays) -> None:
    """The arrays as a compressed npz, written whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.stem}.{os.getpid()}.part.npz")
    try:
        np.savez_compressed(part, allow_pickle=False, **arrays)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


def stanzas(text: str) -> Iterator[dict[str, str]]:
    """The fields of each stanza; a folded field keeps its line breaks."""
    for stanza in re.split(r"\n\s*\n", text):
        fields = (field.partition(":") for field in re.split(r"\n(?=\S)", stanza.strip()))
        yield {key: value.strip() for key, _, value in fields}


def to_package(fields: dict[str, str]) -> Package:
    """One stanza as a package: prefixes such as ``contrib/`` and versions are taken off."""
    name = fields["Package"]
    description = fields.get("Description") or fields.get("Description-en", "")
    return Package(
        name=name,
        section=fields.get("Section", "").rpartition("/")[2],
        source=fields.get("Source", name).split()[0],
        summary=description.partition("\n")[0],
        relations=frozenset(chain.from_iterable(named_in(fields.get(field, "")) for field in RELATIONS)),
    )


def named_in(relation: str) -> list[str]:
    """The package names in a relation field, alternatives included, without versions and architectures."""
    return re.findall(r"(?:^|[,|])\s*([a-z0-9][a-z0-9+.-]+)", relation)


def connected(packages: Iterable[Package], sections: Collection[str], smallest: int) -> tuple[list[Package], Pairs]:
    """The packages of the sections that have a neighbour, sorted by name, and the edges between them.

    A class that comes out too small is left out, and the rest is built as if it had never been asked for.
    """
    members = sorted((p for p in packages if p.section in sections), key=lambda p: p.name)
    pairs = declared(members) | shared_dependencies(members) | shared_sources(members)
    joined = set(chain.from_iterable(pairs))
    nodes = [p for p in members if p.name in joined]
    sizes = Counter(p.section for p in nodes)
    large = {section for section, size in sizes.items() if size >= smallest}
    return (nodes, pairs) if large == sizes.keys() else connected(members, large, smallest)


def declared(members: list[Package]) -> Pairs:
    """The pairs of members of which one names the other in a relation field."""
    names = {p.name for p in members}
    return {(min(p.name, q), max(p.name, q)) for p in members for q in p.relations & names if q != p.name}


def shared_dependencies(members: list[Package]) -> Pairs:
    """The pairs of members that name the same rare package, a member itself or not."""
    return pairs_sharing((target, p.name) for p in members for target in p.relations)


def shared_sources(members: list[Package]) -> Pairs:
    """The pairs of members built from the same source package.

    Bounded like the dependencies: the 161 languages of ``tesseract-lang`` alone would be 43 % of the small graph.
    """
    return pairs_sharing((p.source, p.name) for p in members)


def pairs_sharing(items: Iterable[tuple[str, str]]) -> Pairs:
    """Every two names that come with the same rare thing; ``items`` are (thing, name), names in ascending order."""
    names: defaultdict[str, list[str]] = defaultdict(list)
    for thing, name in items:
        names[thing].append(name)
    return {pair for group in names.values() if len(group) in RARE for pair in combinations(group, 2)}


def adjacency(names: Sequence[str], pairs: Pairs) -> sparse.csr_array:
    """The symmetric CSR matrix of the pairs."""
    position = {name: i for i, name in enumerate(names)}
    return ones_at([(position[p], position[q]) for a, b in pairs for p, q in ((a, b), (b, a))], len(names), len(names))


def bag_of_words(summaries: Sequence[str], n_words: int) -> tuple[list[str], sparse.csr_array]:
    """The words that most summaries use, in alphabetical order, and which summary uses which."""
    used = [set(re.findall(r"[a-z]{3,}", summary.lower())) - STOP_WORDS for summary in summaries]
    users = Counter(chain.from_iterable(used))
    frequent = sorted((w for w in users if users[w] >= WORD_USERS), key=lambda w: (-users[w], w))
    words = sorted(frequent[:n_words])
    column = {word: i for i, word in enumerate(words)}
    entries = [(row, column[word]) for row, mine in enumerate(used) for word in mine if word in column]
    return words, ones_at(entries, len(summaries), len(words))


def ones_at(entries: list[tuple[int, int]], n_rows: int, n_columns: int) -> sparse.csr_array:
    """A CSR matrix of ones at these (row, column) entries, given in any order; its indices are sorted."""
    rows, columns = np.array(sorted(entries), dtype=np.int64).reshape(-1, 2).T
    return sparse.csr_array((np.ones(len(rows), dtype=np.uint8), (rows, columns)), shape=(n_rows, n_columns))


def small(integers: NDArray[Any]) -> NDArray[Any]:
    """The same integers as int16 where they fit, as int32 where not."""
    fit = integers.max(initial=0) <= np.iinfo(np.int16).max
    return integers.astype(np.int16 if fit else np.int32)


def read_index(source: str | None) -> str:
    """The text of the index: from a file, from standard input, or from apt."""
    if source is None:
        return subprocess.run(["apt-cache", "dumpavail"], check=True, capture_output=True, encoding="utf-8").stdout
    return sys.stdin.read() if source == "-" else Path(source).read_text(encoding="utf-8")


def main() -> None:
    """Build both graphs and say how large they came out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("index", nargs="?", help="a saved index, - for standard input; left out, apt is asked")
    parser.add_argument("--out", type=Path, default=BUNDLED, help="the folder to write to")
    options = parser.parse_args()
    packages = parse_index(read_index(options.index))
    for name, sections in {"debian": SMALL, "debian-large": LARGE}.items():
        arrays = build_graph(packages, sections)
        if not arrays["ids"].size:
            parser.error(
                f"expected packages in {', '.join(sections)}, found none; run apt-get update, or name an index"
            )
        save(options.out / f"{name}.npz", arrays)
        print(f"{name}: {len(arrays['ids'])} nodes, {len(arrays['adj_indices']) // 2} edges")


if __name__ == "__main__":
    main()
