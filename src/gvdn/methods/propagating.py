"""The base of methods that compute from the features alone and then propagate what came out."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from jaxtyping import Float
from torch import Generator, Tensor, nn

from gvdn.methods.base import Base
from gvdn.nn.dropout import Dropout
from gvdn.nn.propagated import PropagatedMLP
from gvdn.training.loop import Terms


@dataclass
class Propagating(Base):
    """A network of two layers on the features alone, whose output `spread` takes over the links."""

    def spread(self, network: Any, view: Any) -> Callable[[Tensor], Tensor]:
        """The function from the output for each node to its logits."""
        raise NotImplementedError

    def build(self, features: int, classes: int, generator: Generator | None) -> nn.Module:
        return PropagatedMLP(features, self.hidden, classes, generator=generator)

    def learn(self, network: Any, view: Any, generator: Generator) -> tuple[Float[Tensor, "n k"], Terms]:
        return network(view, self.spread(network, view), dropout=Dropout(self.dropout, generator)), {}

    def answer(self, network: Any, view: Any, generator: Generator | None = None) -> Float[Tensor, "n k"]:
        return network(view, self.spread(network, view))

    def represent(self, network: Any, view: Any, generator: Generator | None = None) -> Float[Tensor, "n h"]:
        return network.embed(view, self.spread(network, view))
