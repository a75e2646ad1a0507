"""The checkpoint of a nettack: the flips of the victims that are done."""

import hashlib
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

from gvdn.errors import InvalidInput
from gvdn.files import whole_file
from gvdn.perturbations.nettack.greedy import Flips
from gvdn.perturbations.nettack.setup import Setup
from gvdn.schema import Field, Schema, checked, read_json

FORMAT = "gvdn-nettack-progress-1"
EVERY = 10
"""Victims between two writings of the checkpoint."""


class Checkpoint:
    """A file with the flips so far, written every ten victims and at the end; without a path nothing is written.

    It holds the hash of everything the flips depend on: the checkpoint of another attack is refused.
    """

    def __init__(self, path: Path | None, setup: Setup) -> None:
        self.path, self.setup = path, setup
        owner = {"graph": setup.model.clean.hash, "victims": setup.victims.tolist()} | asdict(setup.rules) | setup.facts
        self.owner = hashlib.sha256(json.dumps(owner, sort_keys=True).encode()).hexdigest()

    def read(self) -> list[Flips]:
        """The flips of the victims that are done; none where there is no file."""
        if self.path is None or not self.path.exists():
            return []
        remedy = "delete it to start anew"
        content = read_json(self.path, remedy)
        if not isinstance(content, dict) or content.get("format") != FORMAT:
            raise InvalidInput(f"{self.path}: not the checkpoint of a nettack; {remedy}")
        if content.get("owner") != self.owner:
            got = "that of another graph, surrogate, seed or setting"
            raise InvalidInput(f"{self.path}: expected the checkpoint of this attack, got {got}; {remedy}")
        try:
            return self._flips(checked(content, self._schema(), "the checkpoint")["done"])
        except InvalidInput as problem:
            raise InvalidInput(f"{self.path}: {problem}; {remedy}") from problem

    def write(self, done: list[Flips]) -> None:
        """Write the flips so far."""
        if self.path is None:
            return
        content = {"format": FORMAT, "owner": self.owner, "done": [asdict(one) for one in done]}
        with whole_file(self.path) as draft:
            draft.write_text(json.dumps(content))

    def _schema(self) -> Schema:
        nodes, features = self.setup.model.clean.num_nodes, self.setup.model.clean.num_features
        node = Field(int, low=0, high=nodes - 1)
        pair = Field(list, low=2, high=2, items=Field(int, low=0, high=max(nodes, features) - 1))
        rules = self.setup.rules
        flips = {
            "victim": node,
            "ends": Field(list, items=node, high=max(rules.influencers, 1)),
            "links": Field(list, items=pair, high=rules.link_flips),
            "features": Field(list, items=pair, high=rules.feature_flips),
        }
        done = Field(list, items=Field(dict, fields=flips), high=len(self.setup.victims))
        return {"format": Field(str), "owner": Field(str), "done": done}

    def _flips(self, saved: list[dict[str, Any]]) -> list[Flips]:
        """The flips as they were made: of the first victims in their order, through their ends, none of them twice."""
        graph, done = self.setup.model.clean, []
        for number, (one, victim) in enumerate(zip(saved, self.setup.victims.tolist(), strict=False)):
            links, features = ([(a, b) for a, b in one[key]] for key in ("links", "features"))
            ends, others = one["ends"], [other for _, other in links]
            whole = one["victim"] == victim and (self.setup.rules.influencers or ends == [victim])
            through = all(end in ends for end, _ in [*links, *features])
            inside = max(others, default=0) < graph.num_nodes and all(a != b for a, b in links)
            known = max((column for _, column in features), default=0) < graph.num_features
            once = len({frozenset(link) for link in links}) == len(links) and len(set(features)) == len(features)
            if not (whole and through and inside and known and once):
                raise InvalidInput(f"expected flips for the victim {victim} as number {number + 1}, got others")
            done.append(Flips(victim, ends, links, features))
        return done
