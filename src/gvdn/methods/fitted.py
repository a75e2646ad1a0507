"""What every method does alike once it is fitted: answer, take another setting, go to disk and come back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gvdn.data.catalogue import DATASETS
from gvdn.errors import InvalidInput
from gvdn.graph import Graph
from gvdn.methods import files
from gvdn.methods.contract import Capabilities
from gvdn.nn.device import usable_device
from gvdn.settings import checked_settings
from gvdn.training.loop import Outcome

M = TypeVar("M", bound="Fitted")


class Fitted:
    """The base of all methods; a method is a dataclass of settings on top of it.

    Learned things end in an underscore, and `network_` holds the weights. A method says how its network is built
    (`build`) and, where it keeps more than the network, what that is (`kept`, `facts`) and how it comes back
    (`restore`).
    """

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities] = Capabilities()
    paper_settings: ClassVar[Mapping[str, Any]] = {}
    """What the GVDN paper prints for all datasets, where it differs from what we chose."""
    shaping: ClassVar[tuple[str, ...]] = ("hidden",)
    """The settings that are the shape of the network."""

    device: str
    epochs: int
    network_: Any
    features_: int
    feature_names_: tuple[str, ...]
    class_names_: tuple[str, ...]
    seed_: int
    outcome_: Outcome

    @classmethod
    def preset(cls: type[M], dataset: str | None, *, paper: bool = False, **changes: Any) -> M:
        """With the catalogue's settings for a dataset (None: the general ones), and these changes.

        `paper` keeps to what the GVDN paper prints.
        """
        of_dataset = DATASETS[dataset].methods.get(cls.name, {}) if dataset is not None else {}
        return cls(**{**of_dataset, **(cls.paper_settings if paper else {}), **changes})

    def rounds(self) -> int:
        """Steps of the training loop that `fit` takes."""
        return self.epochs

    def recovery_rounds(self) -> int:
        """Steps that `recover` takes, where there is one."""
        return self.rounds()

    def reliance(self, graph: Graph) -> dict[str, float | None]:
        """What share of a graph's nodes a recovered model answers for with the help of what it kept."""
        return {}

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Every setting by name."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}  # type: ignore[arg-type]

    def set_params(self: M, **changes: Any) -> M:
        """Change settings of this very method and return it; an unknown setting lists the known ones."""
        defaults = {field.name: field.default for field in dataclasses.fields(self)}  # type: ignore[arg-type]
        changes = checked_settings(self.name, changes, defaults)
        for shape in self.shaping:
            now = getattr(self, shape)
            if hasattr(self, "network_") and changes.get(shape, now) != now:
                raise InvalidInput(f"{shape} is the shape of the fitted network and cannot be changed; fit a new one")
        dataclasses.replace(self, **changes)  # type: ignore[type-var]  # refuses what does not fit together
        vars(self).update(changes)
        return self

    def learned(self, graph: Graph, network: nn.Module, outcome: Outcome, seed: int) -> None:
        """Take up what a training left: all of it at once, so that a training that was stopped leaves nothing."""
        self.network_, self.outcome_, self.seed_ = network.eval(), outcome, int(seed)
        self.features_, self.feature_names_ = graph.num_features, graph.feature_names
        self.class_names_ = graph.class_names

    def require_fitted(self, graph: Graph) -> None:
        """Raise unless the model has learned something, and from the columns that the graph has."""
        if not hasattr(self, "network_"):
            raise InvalidInput(
                f"this {type(self).__name__} is not fitted yet; call fit(graph, split, seed=...) or load a saved one"
            )
        named = zip(self.feature_names_, graph.feature_names, strict=False)
        for place, (fitted, given) in enumerate(named):
            if fitted != given and self.features_ == graph.num_features:
                raise InvalidInput(
                    f"feature column {place + 1} was {fitted!r} when the model was fitted, got {given!r} in "
                    f"{graph.name}; give the same columns in the same order"
                )
        if graph.num_features != self.features_:
            raise InvalidInput(
                f"the model was fitted on {self.features_} features, got {graph.num_features} in {graph.name}; "
                "give the same columns in the same order"
            )

    def predict_proba(self, graph: Graph) -> Float[np.ndarray, "n k"]:
        """Class probabilities of every node."""
        raise NotImplementedError

    def predict(self, graph: Graph) -> Int64[np.ndarray, " n"]:
        """The most probable class of every node."""
        return self.predict_proba(graph).argmax(axis=1)

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write the model as a folder of JSON and safetensors; whole or not at all."""
        files.save_model(self, Path(folder), force=force)

    @classmethod
    def load(cls: type[M], folder: str | Path, *, device: str = "cpu") -> M:
        """A model of this method that `save` wrote."""
        model = files.load_model(folder, device=device, only=cls.name)
        assert isinstance(model, cls)
        return model

    # ---- what a method fills in

    def build(self, features: int, classes: int) -> nn.Module:
        """A network with fresh weights."""
        raise NotImplementedError

    def kept(self) -> dict[str, np.ndarray]:
        """Arrays to keep beside the network's."""
        return {}

    def facts(self) -> dict[str, Any]:
        """What else to keep, as JSON can hold it."""
        return {}

    def restore(self, kept: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        """Take up what `kept` and `facts` gave; called before the network is built."""

    # ---- what a method uses

    def place(self) -> torch.device:
        """Where the tensors live, if this machine has it."""
        return usable_device(self.device)


def probabilities(logits: Tensor) -> np.ndarray:
    """Softmax in double precision, on the CPU."""
    return logits.detach().double().softmax(dim=1).cpu().numpy()
