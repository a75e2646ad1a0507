"""The table of the field in README and docs, and its pictures, drawn from results/field and results/stronger.

    PYTHONPATH=src python benchmarks/field.py

A page has a pair of comments, `field: NAME` and `end`, where a piece belongs, and what stands between them is replaced.
The records are those of `benchmarks/field.toml` and `benchmarks/stronger.toml`, as far as they were run
(`gvdn bench run benchmarks/field.toml`, and likewise for the other).
"""

from __future__ import annotations

from pathlib import Path

import drawn_pages

from gvdn.paper.field_stronger import stronger_table
from gvdn.paper.field_tables import pictures, pieces
from gvdn.reports.joined import Joined, join
from gvdn.reports.page import write_whole
from gvdn.reports.svg import standalone
from gvdn.study import load_spec

ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/index.md", "docs/field.md")
MARK, STRONGER = "field", "stronger"


def joined(name: str = MARK) -> Joined:
    """A spec with the committed records."""
    return join(load_spec(ROOT / "benchmarks" / f"{name}.toml"), ROOT / "results" / name)


def drawn(page: str, found: Joined) -> str:
    """A page with its pieces as these records give them."""
    stronger = stronger_table(found, joined(STRONGER)).markdown(title=False).strip()
    return drawn_pages.filled((ROOT / page).read_text(encoding="utf-8"), pieces(found) | {STRONGER: stronger}, MARK)


def drawn_pictures(found: Joined) -> dict[str, str]:
    """Path -> a picture on white."""
    return {f"docs/{name}": standalone(svg) for name, svg in pictures(found).items()}


def main() -> None:
    found = joined()
    for page in PAGES:
        write_whole(ROOT / page, drawn(page, found))
    for path, svg in drawn_pictures(found).items():
        write_whole(ROOT / path, svg)


if __name__ == "__main__":
    main()
