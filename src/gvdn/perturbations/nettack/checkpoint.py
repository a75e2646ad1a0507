"""The checkpoint of an attack: the flips made so far, victim by victim, so that an interrupted run continues."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gvdn.errors import InvalidInput
from gvdn.files import whole_file
from gvdn.perturbations.nettack.greedy import Flips

FORMAT = "gvdn-nettack-progress-1"
EVERY = 10
"""Victims between two writings."""


class Checkpoint:
    """A file with the flips so far, written every ten victims; without a path nothing is written."""

    def __init__(self, path: Path | None, owner: dict[str, Any]) -> None:
        """`owner` is everything the flips depend on; the checkpoint of another attack is refused."""
        self.path = path
        self.owner = hashlib.sha256(json.dumps(owner, sort_keys=True).encode()).hexdigest()

    def read(self) -> list[Flips]:
        """The flips of the victims that are done; none where there is no file."""
        if self.path is None or not self.path.exists():
            return []
        try:
            content = json.loads(self.path.read_text())
            owner, done = (content["format"], content["owner"]), [_flips(one) for one in content["done"]]
        except (OSError, ValueError, KeyError, TypeError) as problem:
            raise InvalidInput(f"{self.path}: not the checkpoint of a nettack; delete it to start anew") from problem
        if owner != (FORMAT, self.owner):
            got = "that of another graph, surrogate, seed or setting; delete it to start anew"
            raise InvalidInput(f"{self.path}: expected the checkpoint of this attack, got {got}")
        return done

    def write(self, done: list[Flips]) -> None:
        """Write the flips so far, if it is time to."""
        if self.path is None or len(done) % EVERY:
            return
        content = {"format": FORMAT, "owner": self.owner, "done": [asdict(one) for one in done]}
        with whole_file(self.path) as draft:
            draft.write_text(json.dumps(content))

    def delete(self) -> None:
        """Delete the file, once the attack is complete."""
        if self.path is not None:
            self.path.unlink(missing_ok=True)


def _flips(saved: dict[str, Any]) -> Flips:
    links, features = ([(int(a), int(b)) for a, b in saved[key]] for key in ("links", "features"))
    return Flips(int(saved["victim"]), [int(end) for end in saved["ends"]], links, features)
