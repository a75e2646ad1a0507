"""One cell of a study: one method on one perturbed graph with one seed, and the modes in which it is measured."""

import difflib
import hashlib
import json
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from gvdn.errors import InvalidInput
from gvdn.limits import short


class Mode(StrEnum):
    """How a method is fitted and asked, and what is measured of it. The value is what specs, records and tables
    say."""

    CLEAN = "clean"
    """Fitted and asked on the clean graph."""
    EVASION = "evasion"
    """Fitted on the clean graph, asked on the perturbed one."""
    POISONING = "poisoning"
    """Fitted on the perturbed graph."""
    POISONING_RECOVERED = "poisoning, recovered"
    """Fitted on the perturbed graph, then recovered on it."""
    POISONING_TRUSTED = "poisoning, trusted"
    """Fitted on the perturbed graph, and again on it as far as its links are trusted, with trust in front."""
    RECOVERED = "recovered"
    """Fitted on the clean graph, then recovered on the perturbed one with all that was stored."""
    WITHHELD = "recovered, withheld"
    """The same, with nothing that was stored of the victims and of the perturbators."""
    NEW = "new"
    """Fitted on the clean graph without the victims, asked on the perturbed one, where they arrive."""
    RECOVERED_NEW = "recovered, new"
    """Fitted on the clean graph without the victims, then recovered on the perturbed one, where they arrive."""
    NEW_GUARDED = "new, guarded"
    """As new, asked on the graph whose feature rows of large norm are scaled down."""
    NEW_TRUSTED = "new, trusted"
    """As new, with trust in front: links and rows are judged before the method sees the graph."""
    NEW_WEIGHED = "new, weighed"
    """The same, with the method's own answers on the judged graph: no other witness is heard."""
    NEW_STUDENT = "new, rows alone"
    """As new, answered by the student of the trust model: what each row says."""
    NEW_LINKS = "new, links alone"
    """As new, answered by the links of each node, as far as they are trusted."""
    MAPPED = "recovered, mapped"
    """Recovered, with the embeddings in the plane before, under and after the perturbation."""
    MAPPED_BY_EPOCH = "recovered, mapped by epoch"
    """Recovered, with the embeddings in the plane while the recovery goes on."""
    WITH_LOSSES = "recovered, with losses"
    """Recovered, with every loss over the epochs."""
    STREAMED = "streamed"
    """Recovered while the victims arrive in groups."""
    COUNTS = "counts"
    """No method: the graph itself is counted."""


def mode_named(word: str, where: str = "") -> Mode:
    """The mode of this name; an unknown one is answered with all of them, quoted, since some names have a comma."""
    names = [str(mode) for mode in Mode]
    if word in names:
        return Mode(word)
    near = difflib.get_close_matches(word[:100], names, n=1)
    guess = f"did you mean {near[0]!r}? " if near else ""
    raise InvalidInput(f"unknown mode {short(word)}{where}; {guess}known: {', '.join(map(repr, names))}")


TUNED = "tuned"
"""The settings that `gvdn tune` found."""

_IN_KEYS = {
    Mode.EVASION: "afterwards",
    Mode.POISONING: "in training",
    Mode.POISONING_RECOVERED: "in training, recovered",
    Mode.WITHHELD: "recovered, victims unseen",
    Mode.MAPPED_BY_EPOCH: "recovered, mapped on the way",
    Mode.WITH_LOSSES: "recovered, losses kept",
}
"""The words that keys are made with where they are not the mode's own: a key never changes, words may."""


@dataclass(frozen=True)
class Cell:
    """A dataset, what happened to it, a method and a seed; everything drawn at random is drawn anew per seed.

    Graph, split and perturbation depend on nothing else, so every method is asked about the same victims.
    """

    dataset: str
    method: str
    seed: int
    perturbation: str = "random-connections"
    perturbation_settings: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)
    """Changes to the method's settings for the dataset."""
    split: dict[str, Any] = field(default_factory=dict)
    """Changes to the random split."""
    chosen: str = ""
    """Which of the catalogue's settings every method has: `tuned`, or its usual ones."""
    content: str = ""
    """Of a graph of one's own, the beginning of its hash: another graph of the same name is another cell."""
    path: str = field(default="", compare=False)
    """Where a graph of one's own lies; not part of what is asked, so that a study can be moved."""

    def asked(self) -> dict[str, Any]:
        """All that is not empty, so that a field that is added later changes no key."""
        return {name: value for name, value in asdict(self).items() if value not in ({}, "") and name != "path"}

    def key(self, mode: Mode) -> str:
        """The name of a run: a hash of all that was asked for."""
        return _hash([self.asked(), str(_IN_KEYS.get(mode, mode))])

    @property
    def is_perturbed(self) -> bool:
        """Whether there is a perturbation; without one, methods are asked on the clean graph."""
        return self.perturbation != "none"

    @property
    def is_tuned(self) -> bool:
        return self.chosen == TUNED

    @property
    def preset(self) -> str:
        """The dataset whose settings a method gets: none for a graph of one's own, also if it has a known name."""
        return "" if self.content else self.dataset

    def graph_key(self) -> str:
        """The name of the perturbed graph: a hash of all but the method, which has no say in it."""
        return _hash({name: value for name, value in self.asked().items() if name not in ("method", "settings")})


def _hash(content: Any) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:16]
