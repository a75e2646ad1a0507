"""The search: what is recorded is skipped, what fails is recorded and passed over, and the best trial is named."""

import dataclasses
import json
import math
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from gvdn.bench.experiment import timed
from gvdn.bench.origin import origin
from gvdn.bench.run import in_one_sentence
from gvdn.bench.tuning.draws import drawn_settings
from gvdn.bench.tuning.question import Question
from gvdn.bench.tuning.records import Trial, writing
from gvdn.errors import InvalidInput, TrainingWarning
from gvdn.files import DiskFull
from gvdn.methods import METHODS, make_method
from gvdn.methods.search import Space

Report = Callable[[int, int], None]
"""Called with trials done and trials to do."""
KEPT = ("device", "gvdn", "torch", "commit")
"""What a trial says of where it was run."""


@dataclass(frozen=True)
class Found:
    """The result of a search.

    Attributes:
        best: the best of the trials that were drawn.
        as_it_stands: the settings as they are without a search. They are measured beside the trials and never the best
            one, so that what was spent on them earlier gives no method an advantage.
        trials: all that were drawn, in their order.
    """

    method: str
    best: Trial
    as_it_stands: Trial
    trials: tuple[Trial, ...]

    @property
    def noise(self) -> float:
        """The standard error of an accuracy like the best one on so many nodes."""
        share = min(max(self.best.score or 0.0, 0.0), 1.0)
        return math.sqrt(share * (1 - share) / (self.best.nodes or 1))

    @property
    def options(self) -> str:
        """The best settings as options of `gvdn train`."""
        return " ".join(f"--set {name}={_literal(value)}" for name, value in self.best.settings.items())

    @property
    def toml(self) -> str:
        """The best settings as a table of the catalogue's file of a dataset."""
        lines = (f"{name} = {json.dumps(value)}" for name, value in self.best.settings.items())
        return "\n".join([f"[methods.{self.method}]", *lines])


class Search:
    """A random search over the settings of a method for one question.

    Args:
        dataset: the name in the catalogue whose settings are changed; the defaults are, where it is empty.
        fixed: settings that all trials have; they are not searched.
        trials: how many combinations are drawn.
    """

    def __init__(
        self,
        question: Question,
        method: str,
        *,
        dataset: str = "",
        fixed: Mapping[str, Any] | None = None,
        trials: int = 30,
        device: str = "cpu",
    ) -> None:
        if trials < 1:
            raise InvalidInput(f"expected at least 1 trial, got {trials}")
        self.question, self.device = question, device
        self.method = METHODS.canonical(method)
        self.base: Any = make_method(self.method, dataset, device=device)
        self.base.set_params(**{"select": question.select, **(fixed or {})})
        question.require(self.base)
        space = search_space(self.method)
        left = {name: choices for name, choices in space.items() if name not in (fixed or {})}
        drawn = drawn_settings(left, self.method, seed=question.seed, trials=trials)
        self.settings: list[Mapping[str, Any]] = [{}, *drawn]

    def run(self, path: Path, report: Report | None = None) -> Found:
        """Run the trials that are not in the file and append each; killed at any moment, a second call goes on."""
        keys = [self.key(settings) for settings in self.settings]
        with writing(path) as trials:
            for number, (key, settings) in enumerate(zip(keys, self.settings, strict=True)):
                if key not in trials.by_key:
                    trials.add(self.trial(number, key, settings))
                if report is not None:
                    report(number + 1, len(keys))
        return self.found([trials.by_key[key] for key in keys])

    def key(self, settings: Mapping[str, Any]) -> str:
        every = self.base.get_params() | dict(settings)
        return self.question.key(self.method, {name: one for name, one in every.items() if name != "device"})

    def trial(self, number: int, key: str, settings: Mapping[str, Any]) -> Trial:
        """The record of one trial, also of one that failed."""
        question = self.question
        asked: dict[str, Any] = {
            "graph": question.graph.name,
            "method": self.method,
            "seed": question.seed,
            "select": question.select,
        }
        asked |= {
            "perturbation": question.perturbation,
            "mode": str(question.mode) if question.is_perturbed else "clean",
        }
        asked |= {name: value for name, value in origin(self.device).items() if name in KEPT}
        trial = Trial(key=key, trial=number, settings=dict(settings), **asked)
        method = make_method(self.method, **(self.base.get_params() | dict(settings)))
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TrainingWarning)  # the score says it
                answer, seconds = timed(lambda: question.ask(method))
        except DiskFull:
            raise
        except Exception as problem:
            return dataclasses.replace(trial, error=in_one_sentence(problem))
        return dataclasses.replace(
            trial,
            score=round(answer.score.value, 5),
            loss=round(-answer.score.minus_loss, 5),
            clean=round(answer.clean, 5),
            nodes=len(question.scored),
            epoch=answer.epoch,
            seconds=round(seconds, 2),
        )

    def found(self, trials: list[Trial]) -> Found:
        """The best of the trials, the first of which has the settings as they stand."""
        # The file knows a trial by its key, so one that another search recorded first has that one's number.
        named = zip(trials, enumerate(self.settings), strict=True)
        first, *drawn = (
            dataclasses.replace(trial, trial=number, settings=dict(settings)) for trial, (number, settings) in named
        )
        scored = [trial for trial in drawn if trial.error is None]
        if not scored:
            raise InvalidInput(f"no trial of {self.method} could be scored; the first failure: {drawn[0].error}")
        return Found(self.method, min(scored, key=lambda trial: trial.rank), first, tuple(drawn))


def search_space(method: str) -> Space:
    """The search space that a method declares."""
    declared: Space = getattr(METHODS[method], "search_space", {})
    if not declared:
        do = "declare search_space = gvdn.methods.search.space(...) on its class"
        raise InvalidInput(f"expected a method with a search space, got {method}, which has none; {do}")
    return declared


def _literal(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
