"""The base of all methods: settings, the training that they share, predictions, files."""

import copy
import dataclasses
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from jaxtyping import Float, Float32, Int64
from torch import Generator, Tensor, nn

from gvdn.data.catalogue import DATASETS
from gvdn.errors import InvalidInput, TrainingWarning
from gvdn.graph import Graph, GraphLike, Positions, Split, as_graph, as_split
from gvdn.methods import checks, files
from gvdn.methods.advice import early_epoch
from gvdn.methods.contract import Capabilities
from gvdn.methods.labels import StoredLabels
from gvdn.methods.search import Space, space
from gvdn.metrics import Decision, Uncertainty, split_entropy
from gvdn.nn.aggregators import view_of
from gvdn.nn.device import usable_device
from gvdn.nn.dropout import Dropout
from gvdn.nn.gnn import PlainGNN
from gvdn.nn.view import WeightedView
from gvdn.schema import Schema
from gvdn.seeds import torch_generator, whole_seed
from gvdn.settings import checked_settings
from gvdn.training import optimizers
from gvdn.training.loop import Callback, Labelled, LabelTask, Outcome, Task, Terms, train
from gvdn.training.selection import balanced_weights, require_selection

M = TypeVar("M", bound="Base")


@dataclass
class Base:
    """A two-layer GCN (Kipf and Welling, ICLR 2017). A method is a dataclass that overrides the steps it changes.

    Training minimises the cross entropy on the training nodes with Adam and ends with the weights of the epoch whose
    score on the validation nodes is best; of equal scores, the one with the smaller validation loss. Settings are
    fields; attributes that are learned end in an underscore, and `network_` holds the weights.

    Args:
        select: the score that chooses the epoch: accuracy, macro-f1, auc or loss.
        class_weight: `balanced` gives each class the same total weight in the cross entropy, however rare it is.
    """

    hidden: int = 200
    dropout: float = 0.5
    learning_rate: float = 1e-2
    weight_decay: float = 5e-4
    epochs: int = 200
    select: str = "accuracy"
    class_weight: str = "none"
    device: str = "cpu"

    name: ClassVar[str]
    capabilities: ClassVar[Capabilities] = Capabilities(embeds=True)
    static: ClassVar[bool] = False
    """Whether no shape and no branch of `learn` and `answer` depends on computed values: a GPU can record an epoch."""
    why_opaque: ClassVar[str] = "it does not say how its answers depend on links"
    """Why the logits cannot be differentiated with respect to links; a method for which `through` is right sets ""."""
    paper_settings: ClassVar[Mapping[str, Any]] = {}
    """What the GVDN paper prints for all datasets, where it differs from the defaults."""
    shaping: ClassVar[tuple[str, ...]] = ("hidden",)
    """The settings that determine the shape of the network."""
    search_space: ClassVar[Space] = space(epochs=(100, 200, 400))
    """The settings that `gvdn tune` tries, with their choices."""
    saved: ClassVar[Mapping[str, str]] = {}
    """Learned arrays that `save` writes beside the network: name -> kind and sides, such as "float32 n hidden".

    Kinds are ids, labels, rows (of the n nodes), shares and types of numbers; `classes`, `features` and `hidden` are
    sides of known length, others have one length in all arrays. `ids` stands for the attribute `ids_`; a name with a
    dot is given by `arrays` and taken by `restore`.
    """
    known_facts: ClassVar[Schema] = {}
    """What `facts` gives, field by field."""
    ranges: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "at least 1": ("hidden", "epochs"),
        "at most 1,000,000": ("hidden", "epochs"),
        "[0, 1)": ("dropout",),
        "positive": ("learning_rate",),
        "at least 0": ("weight_decay",),
    }
    """Settings by the range that they must be in (`checks.RANGES`), besides those of the base class."""

    def __post_init__(self) -> None:
        checked_settings(self.name, self.get_params(), self.defaults())
        for cls in reversed(type(self).__mro__):
            checks.require_ranges(self, vars(cls).get("ranges", {}))
        require_selection(self.select)
        if self.class_weight not in ("none", "balanced"):
            raise InvalidInput(f"expected none or balanced as class_weight, got {self.class_weight!r}")

    # ---- settings

    @classmethod
    def preset(cls: type[M], dataset: str | None, *, paper: bool = False, **changes: Any) -> M:
        """The method with the catalogue's settings for a dataset (None: the defaults), and these changes.

        With `paper`, what the GVDN paper prints replaces the defaults and the catalogue's settings.
        """
        if dataset is None:
            return cls(**{**(cls.paper_settings if paper else {}), **changes})
        known = DATASETS[dataset]
        printed = {**known.printed.get(cls.name, {}), **cls.paper_settings} if paper else {}
        return cls(**{**known.methods.get(cls.name, {}), **printed, **changes})

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
            graph: a Graph, a torch-geometric Data or a NetworkX graph. Nodes without any features get those of their
                links, here and later.
            split: training, validation and test nodes; the masks of a Data when left out.
            callback: called after each epoch with its number, from 1, and its losses.
            resume: a file that a stopped training continues from; delete it once the fitted method is saved.
        """
        split, graph = as_split(split, graph), checks.with_features(as_graph(graph))
        new = copy.copy(self)
        task, optimizer = new.training(graph, split, seed=seed)
        purpose = f"fit {new.purpose()}"
        outcome = train(task, optimizer, new.rounds(), seed=seed, purpose=purpose, callback=callback, resume=resume)
        network = task.network.eval()
        del task, optimizer  # their buffers are more than all that follows needs
        new.learned(graph, network, outcome, seed, StoredLabels.of(graph, split))
        if said := early_epoch(outcome):
            warnings.warn(said, TrainingWarning, stacklevel=2)
        new.remember(graph, split)
        vars(self).update(vars(new))
        return self

    def update(
        self: M, graph: GraphLike, *, epochs: int = 15, callback: Callback | None = None, resume: Path | None = None
    ) -> M:
        """A model for a later state of the graph: returns a new fitted model; this one stays as it was.

        Training goes on from the weights for a few epochs, or not at all; the best of these epochs on the validation
        nodes is taken, the weights as they were among them. New nodes enter what is stored, deleted ones leave it.
        Labels that arrived since the fit are used; those of its test nodes are not.

        Args:
            graph: the graph as it is now, with the columns of the fit.
            epochs: of training; 0 leaves the weights as they are.
            callback: called after each epoch with its number, from 1, and its losses.
            resume: a file that a stopped update continues from.
        """
        graph = self.accepted(graph)
        if epochs < 0:
            raise InvalidInput(f"expected epochs of at least 0, got {epochs}")
        new = copy.copy(self)
        labels = checks.known_labels(graph, self.class_names_)
        stored, outcome = self.labels_.grown(graph, labels, self.seed_), self.outcome_
        graph, split = stored.on(graph, self.class_names_)
        new.prepare(graph)
        network = new.initial(graph.num_features, len(self.class_names_), self.seed_)
        network.load_state_dict(self.adopted(network, graph))
        if epochs:
            task, optimizer = new.prepared(network, graph, split)
            purpose = f"update {new.purpose()}"
            outcome = train(task, optimizer, epochs, seed=self.seed_, purpose=purpose, callback=callback, resume=resume)
            del task, optimizer
        new.learned(graph, network.eval(), outcome, self.seed_, stored)
        new.decision_ = self.decision_
        new.remember(graph, split)
        return new

    def training(self, graph: Graph, split: Split, *, seed: int) -> tuple[Task, torch.optim.Optimizer]:
        """What `fit` trains, before its first epoch: the task and its optimizer."""
        checks.require_trainable(graph, split)
        self.class_names_ = graph.class_names
        self.prepare(graph)
        return self.prepared(self.initial(graph.num_features, graph.num_classes, seed), graph, split)

    def prepared(self, network: Any, graph: Graph, split: Split) -> tuple[Task, torch.optim.Optimizer]:
        """The task and the optimizer for a network as it is."""
        train_nodes, val_nodes = (self._labelled(graph, part) for part in (split.train, split.val))
        task = self.task(network, graph, self.view(graph), train_nodes, val_nodes)
        return task, self.optimizer(network)

    def initial(self, features: int, classes: int, seed: int) -> Any:
        """The network before its first epoch: drawn on the CPU, so that it is the same for every device."""
        network = self.build(features, classes, torch_generator(seed, "init", self.purpose()))
        return network.to(self.torch_device())

    def learned(self, graph: Graph, network: Any, outcome: Outcome, seed: int, labels: StoredLabels) -> None:
        """Set the attributes that every fitted method has."""
        self.labels_ = labels
        self.decision_: Decision | None = None
        self.val_probs_: np.ndarray | None = None
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
        return probabilities(self.answer(self.network_, self.view(graph), self.inference_generator()))

    def predict(self, graph: GraphLike) -> Int64[np.ndarray, " n"]:
        """The most probable class of every node, or the one that the threshold or the costs say (`decision_`)."""
        return self.decide(self.predict_proba(graph))

    def decide(self, probs: Float[np.ndarray, "n k"]) -> Int64[np.ndarray, " n"]:
        """The class that is named for these probabilities."""
        return probs.argmax(axis=1) if self.decision_ is None else self.decision_.decide(probs)

    @torch.no_grad()
    def embed(self, graph: GraphLike) -> Float[np.ndarray, "n h"]:
        """The hidden representation of every node."""
        graph = self.accepted(graph)
        return self.represent(self.network_, self.view(graph), self.inference_generator()).cpu().numpy()

    def inference_generator(self) -> Generator:
        """A new generator for each prediction, always of the same seed: equal graphs get equal predictions."""
        return torch_generator(self.seed_, "inference", self.purpose(), device=self.torch_device())

    def score(self, graph: GraphLike, where: Split | np.ndarray | None = None) -> float:
        """Accuracy on the test nodes of a split, on these positions, or on all labelled nodes; classes go by name."""
        graph = self.accepted(graph)
        nodes = checks.labelled_nodes(graph, where)
        return float((self.predict(graph)[nodes] == checks.labels_by_name(graph, self.class_names_)[nodes]).mean())

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
        if self.columns_ is not None:
            graph = checks.with_features(graph, self.columns_)
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

    def is_static(self) -> bool:
        """Whether an epoch can be recorded, with these settings."""
        return self.static

    def purpose(self) -> str:
        """The word that names the method's random generators."""
        return self.name

    def adopted(self, network: Any, graph: Graph) -> dict[str, Tensor]:
        """The weights that an update starts from, for a network that was built for a later graph."""
        return self.network_.state_dict()

    def rounds(self) -> int:
        """Steps of the training loop that `fit` takes."""
        return self.epochs

    def recovery_rounds(self) -> int:
        """Steps that `recover` takes, where there is one."""
        return self.rounds()

    def prepare(self, graph: Graph) -> None:
        """Learn from the graph what `build` needs."""

    def build(self, features: int, classes: int, generator: Generator | None) -> nn.Module:
        """A network with new weights, drawn from the generator."""
        return PlainGNN(features, self.hidden, classes, generator=generator)

    def view(self, graph: Graph) -> Any:
        """What the network sees of a graph."""
        return view_of(graph, "gcn", self.torch_device())

    def learn(self, network: Any, view: Any, generator: Generator) -> tuple[Float[Tensor, "*draws n k"], Terms]:
        """One pass of training: logits, of one draw or several, and further terms of the loss."""
        return network(view, dropout=Dropout(self.dropout, generator)), {}

    def answer(self, network: Any, view: Any, generator: Generator | None = None) -> Float[Tensor, "n k"]:
        """One pass of inference: logits."""
        return network(view)

    def represent(self, network: Any, view: Any, generator: Generator | None = None) -> Float[Tensor, "n h"]:
        """The hidden representation."""
        return network.embed(view)

    def opaque(self) -> str:
        """`why_opaque`, where it depends on the settings or on what was done."""
        return self.why_opaque

    def through(self, graph: Graph) -> tuple[Any, Callable[[Any], Tensor]]:
        """For attacks: a view whose `over(edges, weights)` has other links, and the function from a view to logits."""
        view = WeightedView(graph, graph.edges, self.torch_device())
        return view, lambda over: self.answer(self.network_, over, self.inference_generator())

    def link_factors(self, graph: Graph, pairs: Int64[np.ndarray, "m 2"]) -> Float32[np.ndarray, " m"]:
        """The factor by which the method multiplies the weight of a link between the nodes of each pair."""
        return np.ones(len(pairs), dtype=np.float32)

    def task(self, network: Any, graph: Graph, view: Any, train: Labelled, val: Labelled) -> Task:
        """What the training loop is given."""
        learn, answer = partial(self.learn, network, view), partial(self.answer, network, view)
        weights = self.class_weights(train[1])
        return LabelTask(network, learn, answer, train, val, self.select, weights, self.is_static())

    def class_weights(self, labels: Tensor) -> Tensor | None:
        """The weight of each class in the cross entropy on nodes with these labels; None where all are equal."""
        return balanced_weights(labels, len(self.class_names_)) if self.class_weight == "balanced" else None

    def optimizer(self, network: Any) -> torch.optim.Optimizer:
        settings = {"lr": self.learning_rate, "weight_decay": self.weight_decay}
        return optimizers.adam(network.parameters(), self.torch_device(), **settings)

    def remember(self, graph: Graph, split: Split) -> None:
        """Store what is needed of the graph once the network is fitted."""

    def reliance(self, graph: Graph) -> dict[str, float | None]:
        """The share of a graph's nodes whose prediction uses what was stored of them, after a recovery."""
        return {}

    def arrays(self) -> dict[str, np.ndarray]:
        """Arrays to save beside the network's."""
        return {name: getattr(self, f"{name}_") for name in self.saved if "." not in name}

    def late_arrays(self) -> dict[str, np.ndarray]:
        """Further arrays to save, which are computed when the method is saved and no earlier."""
        return {}

    def facts(self) -> dict[str, Any]:
        """What else to save, as JSON can hold it."""
        return {}

    def restore(self, arrays: dict[str, np.ndarray], facts: dict[str, Any]) -> None:
        """Take back what `arrays` and `facts` gave; called before the network is built."""
        vars(self).update({f"{name}_": arrays[name] for name in self.saved if "." not in name})


def probabilities(logits: Tensor) -> np.ndarray:
    """Softmax in double precision, on the CPU."""
    return finite(logits.detach().double().softmax(dim=1).cpu().numpy())


def finite(probs: np.ndarray) -> np.ndarray:
    """The probabilities as they are; raises if one is NaN, which weights or features beyond all measure lead to."""
    if not np.isfinite(probs).all():
        raise InvalidInput("the predictions became NaN; scale the features, or train or copy the model again")
    return probs


def mean_of_draws(draw: Callable[[], np.ndarray], samples: int) -> Uncertainty:
    """The mean prediction over calls of a function that draws probabilities, and its entropy in two parts."""
    if samples < 1:
        raise InvalidInput(f"expected at least one draw, got {samples}")
    return split_entropy(np.stack([draw() for _ in range(samples)]))
