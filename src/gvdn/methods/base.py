"""The base of all methods: settings, the training that they share, predictions, files."""

import copy
import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor, nn

from gvdn.data.catalogue import DATASETS
from gvdn.errors import InvalidInput
from gvdn.graph import Graph, GraphLike, Positions, Split, as_graph, as_split
from gvdn.methods import checks, files
from gvdn.methods.contract import Capabilities
from gvdn.metrics import Uncertainty, accuracy, split_entropy
from gvdn.nn.aggregators import view_of
from gvdn.nn.device import usable_device
from gvdn.nn.gnn import PlainGNN
from gvdn.seeds import borrow, whole_seed
from gvdn.settings import checked_settings
from gvdn.training.loop import Callback, Labelled, LabelTask, Outcome, Task, Terms, train

M = TypeVar("M", bound="Base")


@dataclass
class Base:
    """A two-layer GCN (Kipf and Welling, ICLR 2017). A method is a dataclass that overrides the steps it changes.

    Training minimises the cross entropy on the training nodes with Adam and ends with the weights of the best
    validation accuracy, the earliest of equal ones. Settings are fields; attributes that are learned end in an
    underscore, and `network_` holds the weights.
    """

    hidden: int = 200
    dropout: float = 0.5
    learning_rate: float = 1e-2
    weight_decay: float = 5e-4
    epochs: int = 200
    device: str = "cpu"

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities] = Capabilities(embeds=True)
    paper_settings: ClassVar[Mapping[str, Any]] = {}
    """What the GVDN paper prints for all datasets, where it differs from the defaults."""
    shaping: ClassVar[tuple[str, ...]] = ("hidden",)
    """The settings that determine the shape of the network."""
    saved: ClassVar[tuple[str, ...]] = ()
    """Learned arrays that `save` writes; `ids` stands for the attribute `ids_`."""
    ranges: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "at least 1": ("hidden", "epochs"),
        "[0, 1)": ("dropout",),
        "positive": ("learning_rate",),
        "at least 0": ("weight_decay",),
    }
    """Settings by the range that they must be in (`checks.RANGES`), besides those of the base class."""

    def __post_init__(self) -> None:
        checked_settings(self.name, self.get_params(), self.defaults())
        for cls in reversed(type(self).__mro__):
            checks.require_ranges(self, vars(cls).get("ranges", {}))

    # ---- settings

    @classmethod
    def preset(cls: type[M], dataset: str | None, *, paper: bool = False, **changes: Any) -> M:
        """The method with the catalogue's settings for a dataset (None: the defaults), and these changes.

        With `paper`, what the GVDN paper prints replaces the defaults and the catalogue's settings.
        """
        of_dataset = DATASETS[dataset].methods.get(cls.name, {}) if dataset is not None else {}
        return cls(**{**of_dataset, **(cls.paper_settings if paper else {}), **changes})

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Every setting by name, as scikit-learn's estimators give them; no setting is itself a method."""
        return {name: getattr(self, name) for name in self.defaults()}

    @classmethod
    def defaults(cls) -> dict[str, Any]:
        """The default of every setting."""
        return {field.name: field.default for field in dataclasses.fields(cls)}

    def set_params(self: M, **changes: Any) -> M:
        """Change settings of this method and return it; an unknown setting lists the known ones."""
        changes = checked_settings(self.name, changes, self.defaults())
        for shape in self.shaping:
            now = getattr(self, shape)
            if self.is_fitted and changes.get(shape, now) != now:
                raise InvalidInput(f"{shape} is the shape of the fitted network and cannot be changed; fit a new one")
        dataclasses.replace(self, **changes)  # refuses values that are out of range
        vars(self).update(changes)
        return self

    def torch_device(self) -> torch.device:
        """The device of the tensors; raises unless this machine has it."""
        return usable_device(self.device)

    # ---- training

    def fit(
        self: M,
        graph: GraphLike,
        split: Split | None = None,
        *,
        seed: int,
        callback: Callback | None = None,
        resume: Path | None = None,
    ) -> M:
        """Learn from the labels of the training nodes; the validation labels choose the epoch; no other is read.

        A copy is trained and taken over at the end, so that a fit that is stopped leaves the method as it was.

        Args:
            graph: a Graph, a torch-geometric Data or a NetworkX graph.
            split: training, validation and test nodes; the masks of a Data when left out.
            callback: called after each epoch with its number, from 1, and its losses.
            resume: a file that a stopped training continues from; it is deleted at the end.
        """
        split, graph = as_split(split, graph), as_graph(graph)
        new = copy.copy(self)
        task, optimizer = new.training(graph, split, seed=seed)
        purpose = f"fit {new.purpose()}"
        outcome = train(task, optimizer, new.rounds(), seed=seed, purpose=purpose, callback=callback, resume=resume)
        new.learned(graph, task.network.eval(), outcome, seed)
        new.remember(graph, split)
        vars(self).update(vars(new))
        return self

    def training(self, graph: Graph, split: Split, *, seed: int) -> tuple[Task, torch.optim.Optimizer]:
        """What `fit` trains, before its first epoch: the task and its optimizer."""
        checks.require_trainable(graph, split)
        self.prepare(graph)
        with borrow(seed, "init", self.purpose()):
            network = self.build(graph.num_features, graph.num_classes).to(self.torch_device())
        train_nodes, val_nodes = (self._labelled(graph, part) for part in (split.train, split.val))
        task = self.task(network, graph, self.view(graph), train_nodes, val_nodes)
        return task, self.optimizer(network)

    def learned(self, graph: Graph, network: Any, outcome: Outcome, seed: int) -> None:
        """Set the attributes that every fitted method has."""
        self.network_, self.outcome_, self.seed_ = network, outcome, whole_seed(seed)
        self.features_, self.feature_names_ = graph.num_features, graph.feature_names
        self.columns_ = graph.columns
        self.class_names_ = graph.class_names

    def _labelled(self, graph: Graph, part: Positions) -> Labelled:
        device = self.torch_device()
        return torch.from_numpy(part.copy()).to(device), torch.from_numpy(graph.labels[part]).to(device)

    # ---- predictions

    @torch.no_grad()
    def predict_proba(self, graph: GraphLike) -> Float[np.ndarray, "n k"]:
        """Class probabilities of every node."""
        graph = self.accepted(graph)
        with borrow(self.seed_, "inference", self.purpose()):
            return probabilities(self.answer(self.network_, self.view(graph)))

    def predict(self, graph: GraphLike) -> Int64[np.ndarray, " n"]:
        """The most probable class of every node."""
        return self.predict_proba(graph).argmax(axis=1)

    @torch.no_grad()
    def embed(self, graph: GraphLike) -> Float[np.ndarray, "n h"]:
        """The hidden representation of every node."""
        graph = self.accepted(graph)
        with borrow(self.seed_, "inference", self.purpose()):
            return self.represent(self.network_, self.view(graph)).cpu().numpy()

    def score(self, graph: GraphLike, where: Split | np.ndarray | None = None) -> float:
        """Accuracy on the test nodes of a split, on these positions, or on all labelled nodes; classes go by name."""
        graph = self.accepted(graph)
        nodes = checks.labelled_nodes(graph, where)
        return accuracy(self.predict_proba(graph)[nodes], checks.labels_by_name(graph, self.class_names_)[nodes])

    @property
    def is_fitted(self) -> bool:
        return "network_" in vars(self)

    def accepted(self, given: GraphLike) -> Graph:
        """The given graph as a Graph; raises unless the method is fitted, and on the columns that the graph has."""
        if not self.is_fitted:
            raise InvalidInput(
                f"this {type(self).__name__} is not fitted yet; call fit(graph, split, seed=...) or load a saved one"
            )
        graph = as_graph(given)
        checks.require_columns(graph, self.features_, self.feature_names_, self.columns_)
        return graph

    # ---- files

    def save(self, folder: str | Path, *, force: bool = False) -> None:
        """Write the model as a folder of JSON and safetensors; whole or not at all."""
        files.save_model(self, Path(folder), force=force)

    @classmethod
    def load(cls: type[M], folder: str | Path, *, device: str = "cpu") -> M:
        """A model of this method that `save` wrote."""
        return files.load_model(folder, device=device, cls=cls)  # type: ignore[return-value]

    # ---- the steps that a method may override

    def purpose(self) -> str:
        """The word that names the method's random generators."""
        return self.name

    def rounds(self) -> int:
        """Steps of the training loop that `fit` takes."""
        return self.epochs

    def recovery_rounds(self) -> int:
        """Steps that `recover` takes, where there is one."""
        return self.rounds()

    def prepare(self, graph: Graph) -> None:
        """Learn from the graph what `build` needs."""

    def build(self, features: int, classes: int) -> nn.Module:
        """A network with new weights."""
        return PlainGNN(features, self.hidden, classes)

    def view(self, graph: Graph) -> Any:
        """What the network sees of a graph."""
        return view_of(graph, "gcn", self.torch_device())

    def learn(self, network: Any, view: Any) -> tuple[Float[Tensor, "*draws n k"], Terms]:
        """One pass of training: logits, of one draw or several, and further terms of the loss."""
        return network(view, dropout=self.dropout), {}

    def answer(self, network: Any, view: Any) -> Float[Tensor, "n k"]:
        """One pass of inference: logits."""
        return network(view)

    def represent(self, network: Any, view: Any) -> Float[Tensor, "n h"]:
        """The hidden representation."""
        return network.embed(view)

    def task(self, network: Any, graph: Graph, view: Any, train: Labelled, val: Labelled) -> Task:
        """What the training loop is given."""
        return LabelTask(network, lambda: self.learn(network, view), lambda: self.answer(network, view), train, val)

    def optimizer(self, network: Any) -> torch.optim.Optimizer:
        return torch.optim.Adam(network.parameters(), lr=self.learning_rate, weight_decay=self.weight_decay, fused=True)

    def remember(self, graph: Graph, split: Split) -> None:
        """Store what is needed of the graph once the network is fitted."""

    def reliance(self, graph: Graph) -> dict[str, float | None]:
        """The share of a graph's nodes whose prediction uses what was stored of them, after a recovery."""
        return {}

    def arrays(self) -> dict[str, np.ndarray]:
        """Arrays to save beside the network's."""
        return {name: getattr(self, f"{name}_") for name in self.saved}

    def facts(self) -> dict[str, Any]:
        """What else to save, as JSON can hold it."""
        return {}

    def restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        """Take back what `arrays` and `facts` gave; called before the network is built."""
        vars(self).update({f"{name}_": arrays[name] for name in self.saved})


def probabilities(logits: Tensor) -> np.ndarray:
    """Softmax in double precision, on the CPU."""
    return logits.detach().double().softmax(dim=1).cpu().numpy()


def mean_of_draws(logits: Callable[[], Tensor], samples: int) -> Uncertainty:
    """The mean prediction over calls of a function that draws logits, and its entropy in two parts."""
    if samples < 1:
        raise InvalidInput(f"expected at least one draw, got {samples}")
    return split_entropy(np.stack([probabilities(logits()) for _ in range(samples)]))
