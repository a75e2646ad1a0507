"""A Nettack half way, on disk: the flips made so far, victim by victim, so that a killed run goes on."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gvdn.errors import InvalidInput
from gvdn.files import whole_file
from gvdn.perturbations.nettack_greedy import Flips

FORMAT = "gvdn-nettack-progress-1"
EVERY = 10
"""Victims between two writings."""


class Journal:
    """What was done, written every ten victims and deleted when all are; without a path it keeps nothing."""

    def __init__(self, path: Path | None, owner: dict[str, Any]) -> None:
        """`owner` is everything the flips depend on; a journal of another attack is refused."""
        self.path = path
        self.owner = hashlib.sha256(json.dumps(owner, sort_keys=True).encode()).hexdigest()

    def read(self) -> list[Flips]:
        if self.path is None or not self.path.exists():
            return []
        try:
            kept = json.loads(self.path.read_text())
            owner, done = (kept["format"], kept["owner"]), [_flips(one) for one in kept["done"]]
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise InvalidInput(f"{self.path}: not the progress of a nettack; delete it to start anew") from problem
        if owner != (FORMAT, self.owner):
            raise InvalidInput(
                f"{self.path}: expected the progress of this attack, got that of another graph, surrogate, seed or "
                "setting; delete it to start anew"
            )
        return done

    def write(self, done: list[Flips]) -> None:
        if self.path is None or len(done) % EVERY:
            return
        kept = {"format": FORMAT, "owner": self.owner, "done": [asdict(one) for one in done]}
        with whole_file(self.path) as draft:
            draft.write_text(json.dumps(kept))

    def close(self) -> None:
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def _flips(kept: dict[str, Any]) -> Flips:
    links, features = ([(int(a), int(b)) for a, b in kept[key]] for key in ("links", "features"))
    return Flips(int(kept["victim"]), [int(end) for end in kept["ends"]], links, features)
