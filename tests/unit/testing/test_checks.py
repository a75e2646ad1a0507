"""Every check of `gvdn.testing` finds a fault: methods that break one sentence of the contract, and a sound one."""

import copy
import dataclasses
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

from gvdn.errors import InvalidInput
from gvdn.graph import Split
from gvdn.methods.base import Base, mean_of_draws, probabilities
from gvdn.methods.contract import Capabilities
from gvdn.methods.diagnosing import Diagnosing
from gvdn.testing import CHECKS, Contract, checks_for
from gvdn.trust.stored import BASELINE


@dataclass
class Sound(Diagnosing, Base):
    """A GCN that says how sure it is, and whose recovery is a second fit to its own predictions."""

    hidden: int = 8
    epochs: int = 12
    name: ClassVar[str] = "sound"
    saved: ClassVar[Mapping[str, str]] = BASELINE
    capabilities: ClassVar[Capabilities] = Capabilities(embeds=True, recovers=True, uncertainty=True, diagnoses=True)

    def remember(self, graph: Any, split: Any) -> None:
        self.keep_baseline(graph)

    @torch.no_grad()
    def uncertainty(self, graph: Any, samples: int = 5) -> Any:
        view = self.view(self.accepted(graph))
        return mean_of_draws(lambda: probabilities(self.network_(view)), samples)

    def recover(self, graph: Any, *, callback: Any = None) -> Any:
        graph = self.accepted(graph)
        labels = self.predict(graph)
        labels[:2] = 0, 1
        nodes = np.arange(graph.num_nodes)
        names = self.class_names_ if len(self.class_names_) else ()
        labelled = dataclasses.replace(graph, labels=labels, class_names=names)
        new = type(self)(**self.get_params())
        return new.fit(labelled, Split(nodes, nodes[:0], nodes[:0]), seed=0, callback=callback)


FAULTS: dict[type[Sound], str] = {}


def breaks(sentence: str) -> Any:
    """Decorator: the check that must find the fault of a class."""

    def put(cls: type[Sound]) -> type[Sound]:
        FAULTS[cls] = sentence
        return cls

    return put


@breaks("capabilities are true")
class HasNoUncertainty(Sound):
    uncertainty = None


@breaks("capabilities are true")
class DeclaresAnUnknownOption(Sound):
    capabilities: ClassVar[Capabilities] = Capabilities(
        embeds=True, recovers=True, uncertainty=True, diagnoses=True, recover_options=("haste",)
    )


@breaks("capabilities are true")
class HasANumberForAName(Sound):
    name: ClassVar[Any] = 3


@breaks("recover takes the declared options and no others")
class DeclaresAnOptionThatItDoesNotTake(Sound):
    capabilities: ClassVar[Capabilities] = Capabilities(
        embeds=True, recovers=True, uncertainty=True, diagnoses=True, recover_options=("known",)
    )


@breaks("settings follow scikit learn")
class HidesASetting(Sound):
    def get_params(self, deep: bool = True) -> dict[str, Any]:
        return super().get_params() | {"epochs": 13}


@breaks("settings follow scikit learn")
class ReturnsNothingFromSetParams(Sound):
    def set_params(self, **changes: Any) -> Any:
        super().set_params(**changes)


@breaks("settings follow scikit learn")
class TakesAnySetting(Sound):
    def set_params(self, **changes: Any) -> Any:
        return super().set_params(**{name: value for name, value in changes.items() if name in self.defaults()})


@breaks("settings follow scikit learn")
class TakesWordsForNumbers(Sound):
    def set_params(self, **changes: Any) -> Any:
        return super().set_params(**{name: value for name, value in changes.items() if value != "word"})


@breaks("settings follow scikit learn")
class HasAPresetOfAnotherClass(Sound):
    @classmethod
    def preset(cls, dataset: Any, **changes: Any) -> Any:
        return Sound(**changes)


@breaks("without a snapshot ids do not matter")
class KnowsOneNode(Sound):
    def predict_proba(self, graph: Any) -> np.ndarray:
        graph = self.accepted(graph)
        return np.where((graph.ids == "n03")[:, None], 1 / 3, super().predict_proba(graph))


@breaks("predict and score follow predict proba")
class PredictsTheLeastProbable(Sound):
    def predict(self, graph: Any) -> np.ndarray:
        return self.predict_proba(graph).argmin(axis=1)


@breaks("predict and score follow predict proba")
class ScoresInPercent(Sound):
    def score(self, graph: Any, where: Any = None) -> float:
        return 100 * super().score(graph, where)


@breaks("predict and score follow predict proba")
class ScoresAllNodes(Sound):
    def score(self, graph: Any, where: Any = None) -> float:
        return super().score(graph)


@breaks("the same seed gives the same bits")
class LearnsFromTheLastFit(Sound):
    def remember(self, graph: Any, split: Any) -> None:
        super().remember(graph, split)
        self.fits_ = getattr(self, "fits_", 0) + 1

    def answer(self, network: Any, view: Any, generator: Any = None) -> Any:
        return network(view) * getattr(self, "fits_", 1)


@breaks("the same seed gives the same bits")
class DrawsFromTheGlobalGenerator(Sound):
    def predict_proba(self, graph: Any) -> np.ndarray:
        probs = super().predict_proba(graph)
        return probs + 1e-3 * torch.rand(1).item()


@breaks("the same seed gives the same bits")
class FitReturnsACopy(Sound):
    def fit(self, *given: Any, **named: Any) -> Any:
        return copy.copy(super().fit(*given, **named))


@breaks("the order of the nodes does not matter")
class TreatsTheFirstNodeOtherwise(Sound):
    def predict_proba(self, graph: Any) -> np.ndarray:
        probs = super().predict_proba(graph)
        probs[0] = probs[0][::-1]
        return probs


@breaks("dense and sparse features are the same")
class TellsDenseFromSparse(Sound):
    def predict_proba(self, graph: Any) -> np.ndarray:
        graph = self.accepted(graph)
        probs = super().predict_proba(graph)
        return probs[:, ::-1] if isinstance(graph.features, np.ndarray) else probs


@breaks("graphs of other libraries are taken")
class TakesItsOwnGraphsOnly(Sound):
    def accepted(self, given: Any) -> Any:
        if not hasattr(given, "ids"):
            raise InvalidInput("expected a Graph")
        return super().accepted(given)


@breaks("an embedding has a finite row for every node")
class EmbedsOneNodeTooMany(Sound):
    def embed(self, graph: Any) -> np.ndarray:
        rows = super().embed(graph)
        return np.concatenate([rows, rows[:1]])


@breaks("an embedding has a finite row for every node")
class EmbedsToInfinity(Sound):
    def embed(self, graph: Any) -> np.ndarray:
        rows = super().embed(graph)
        rows[0, 0] = np.inf
        return rows


@breaks("uncertainty is an entropy in two parts")
class CountsUncertaintyTwice(Sound):
    def uncertainty(self, graph: Any, samples: int = 5) -> Any:
        found = super().uncertainty(graph, samples)
        return dataclasses.replace(found, expected=2 * found.expected + 1)


@breaks("uncertainty is an entropy in two parts")
class HasProbabilitiesThatAreNone(Sound):
    def uncertainty(self, graph: Any, samples: int = 5) -> Any:
        found = super().uncertainty(graph, samples)
        return dataclasses.replace(found, probs=found.probs / 2)


@breaks("uncertainty is an entropy in two parts")
class DrawsNothing(Sound):
    def uncertainty(self, graph: Any, samples: int = 5) -> Any:
        return super().uncertainty(graph, max(samples, 1))


@breaks("labels of test nodes are never read")
class ReadsALabelOfATestNode(Sound):
    def remember(self, graph: Any, split: Any) -> None:
        if len(split.test):
            with torch.no_grad():
                self.network_.out.W[:, 0] += float(graph.labels[split.test[0]])


@breaks("labels of test nodes are never read")
class ReadsALabelOutsideOfTheSplit(Sound):
    def remember(self, graph: Any, split: Any) -> None:
        if not len(split.test):
            with torch.no_grad():
                self.network_.out.W[:, 0] += float(np.delete(graph.labels, split.train)[0])


@breaks("graphs and generators stay as they were")
class WritesIntoTheGraph(Sound):
    def predict_proba(self, graph: Any) -> np.ndarray:
        labels = self.accepted(graph).labels
        labels.flags.writeable = True
        labels[0] = 1
        return super().predict_proba(graph)


@breaks("graphs and generators stay as they were")
class SeedsTheGlobalGenerator(Sound):
    def embed(self, graph: Any) -> np.ndarray:
        torch.manual_seed(0)
        return super().embed(graph)


@breaks("graphs and generators stay as they were")
class DrawsFromTheGlobalGeneratorOfNumpy(Sound):
    def uncertainty(self, graph: Any, samples: int = 5) -> Any:
        np.random.random()  # noqa: NPY002
        return super().uncertainty(graph, samples)


@breaks("a stopped fit leaves the method as it was")
class FitsInPlace(Sound):
    def fit(self, graph: Any, split: Any = None, *, seed: int, callback: Any = None, resume: Any = None) -> Any:
        super().fit(graph, split, seed=seed, resume=resume)
        if callback is not None:
            callback(1, {})
        return self


@breaks("a saved model predicts the same bits")
class LosesWhatItLearned(Sound):
    def remember(self, graph: Any, split: Any) -> None:
        super().remember(graph, split)
        self.shift_ = 1.0

    def answer(self, network: Any, view: Any, generator: Any = None) -> Any:
        return network(view) * (1 + getattr(self, "shift_", 0.0))


@breaks("a saved model predicts the same bits")
class LoadsAsAnotherClass(Sound):
    @classmethod
    def load(cls, folder: Any, **options: Any) -> Any:
        loaded = super().load(folder, **options)
        other = Sound(**loaded.get_params())
        vars(other).update(vars(loaded))
        return other


@breaks("a graph without features gets those of its links")
class RefusesAGraphWithoutFeatures(Sound):
    def fit(self, graph: Any, *given: Any, **how: Any) -> Any:
        if getattr(graph, "num_features", 1) == 0:
            raise InvalidInput("expected features, got none")
        return super().fit(graph, *given, **how)


@breaks("what cannot be learned from is refused")
class LearnsFromOneClass(Sound):
    def fit(self, graph: Any, split: Any = None, **named: Any) -> Any:
        try:
            return super().fit(graph, split, **named)
        except InvalidInput as problem:
            if "class" not in str(problem):
                raise
            return self


@breaks("what cannot be learned from is refused")
class RefusesInTwoLines(Sound):
    def fit(self, graph: Any, split: Any = None, **named: Any) -> Any:
        try:
            return super().fit(graph, split, **named)
        except InvalidInput as problem:
            raise InvalidInput(f"no:\n{problem}") from problem


@breaks("what cannot be predicted is refused")
class PredictsBeforeItIsFitted(Sound):
    def predict_proba(self, graph: Any) -> np.ndarray:
        return super().predict_proba(graph) if self.is_fitted else np.full((graph.num_nodes, 2), 0.5)


@breaks("what cannot be predicted is refused")
class RecoversOnAnyColumns(Sound):
    def recover(self, graph: Any, *, callback: Any = None) -> Any:
        try:
            return super().recover(graph, callback=callback)
        except InvalidInput:
            return self


@breaks("every graph gives probabilities")
class DoesNotAddUpToOne(Sound):
    def predict_proba(self, graph: Any) -> np.ndarray:
        return super().predict_proba(graph) / 2


@breaks("every graph gives probabilities")
class HasNegativeProbabilities(Sound):
    def predict_proba(self, graph: Any) -> np.ndarray:
        probs = super().predict_proba(graph)
        probs[:, 0] += 2
        probs[:, 1] -= 2
        return probs


@breaks("every graph gives probabilities")
class LeavesOutNewNodes(Sound):
    def predict_proba(self, graph: Any) -> np.ndarray:
        return super().predict_proba(graph)[:60]


@breaks("threads get the same bits")
class SharesAGenerator(Sound):
    draws: ClassVar[np.random.Generator] = np.random.default_rng(0)

    def predict_proba(self, graph: Any) -> np.ndarray:
        probs = super().predict_proba(graph)
        if threading.current_thread() is threading.main_thread():
            return probs
        return np.roll(probs, self.draws.integers(1, 9), axis=0)


@breaks("with features only the links do not matter")
class ReadsLinksAndSaysItDoesNot(Sound):
    capabilities: ClassVar[Capabilities] = dataclasses.replace(Sound.capabilities, features_only=True)


@breaks("a diagnosis reads no label and is the same from disk")
class DiagnosesByLabels(Sound):
    def asked(self, graph: Any) -> np.ndarray:
        return np.eye(len(self.class_names_))[np.maximum(graph.labels, 0)]


@breaks("recovery returns a new model")
class RecoversItself(Sound):
    def recover(self, graph: Any, *, callback: Any = None) -> Any:
        vars(self).update(vars(super().recover(graph, callback=callback)))
        return self


@breaks("recovery returns a new model")
class RecoversOtherwiseEachTime(Sound):
    count: ClassVar[int] = 0

    def recover(self, graph: Any, *, callback: Any = None) -> Any:
        type(self).count += 1
        new = super().recover(graph, callback=callback)
        with torch.no_grad():
            new.network_.out.W[:, 0] += 0.1 * type(self).count
        return new


@breaks("recovery reads no label of the graph")
class RecoversWithLabels(Sound):
    def recover(self, graph: Any, *, callback: Any = None) -> Any:
        new = super().recover(graph, callback=callback)
        with torch.no_grad():
            new.network_.out.W[:, 0] += float(self.accepted(graph).labels.sum())
        return new


def test_every_check_has_a_method_that_fails_it():
    assert set(FAULTS.values()) == set(CHECKS)


@pytest.mark.parametrize("sentence", CHECKS)
def test_a_method_without_a_fault_passes(sentence):
    CHECKS[sentence](Contract(Sound, epochs=12))


class IsCertain(Sound):
    """All of the probability on one class."""

    def predict_proba(self, graph: Any) -> np.ndarray:
        probs = super().predict_proba(graph)
        return np.eye(probs.shape[1])[probs.argmax(axis=1)]


def test_a_probability_of_zero_is_no_fault():
    CHECKS["every graph gives probabilities"](Contract(IsCertain, epochs=12))


@pytest.mark.parametrize("cls", FAULTS, ids=lambda cls: cls.__name__)
def test_a_fault_is_found(cls):
    with pytest.raises((AssertionError, InvalidInput)):
        CHECKS[FAULTS[cls]](Contract(cls, epochs=12))


@pytest.mark.parametrize(
    ("can", "left_out"),
    [
        (Capabilities(embeds=True, recovers=True, uncertainty=True, diagnoses=True), set()),
        (
            Capabilities(recovers=True, uncertainty=True, diagnoses=True),
            {"an embedding has a finite row for every node"},
        ),
        (Capabilities(embeds=True, recovers=True, diagnoses=True), {"uncertainty is an entropy in two parts"}),
        (
            Capabilities(embeds=True, recovers=True, uncertainty=True, diagnoses=True, snapshot=True),
            {"without a snapshot ids do not matter"},
        ),
        (
            Capabilities(embeds=True, recovers=True, uncertainty=True, diagnoses=True, stochastic=True),
            {"the order of the nodes does not matter", "dense and sparse features are the same"},
        ),
        (
            Capabilities(embeds=True, uncertainty=True, diagnoses=True),
            {
                "recover takes the declared options and no others",
                "recovery returns a new model",
                "recovery reads no label of the graph",
            },
        ),
        (
            Capabilities(embeds=True, recovers=True, uncertainty=True),
            {"a diagnosis reads no label and is the same from disk"},
        ),
    ],
)
def test_a_check_is_for_methods_that_declare_what_it_needs(can, left_out):
    assert set(CHECKS) - {name for name, _ in checks_for(can)} == left_out
