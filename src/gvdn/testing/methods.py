"""The contract of methods, check by check."""

import dataclasses
import tempfile
from collections.abc import Callable
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gvdn.errors import InvalidInput
from gvdn.graph import Graph, Split, random_split
from gvdn.methods.contract import Capabilities
from gvdn.testing.graphs import NO_NODES, content, grown, mislabelled, rewired, ring, tiny_graphs

RECOVER_OPTIONS = ("known", "labels", "look", "resume")


def check_method(cls: type[Any], **settings: Any) -> None:
    """Run every check that the declared capabilities ask for; the first that fails is an AssertionError with its name.

    Args:
        cls: a class that follows `gvdn.methods.Method`.
        settings: settings that make it small, since it is fitted a few dozen times on a graph of sixty nodes.

    >>> import gvdn
    >>> check_method(gvdn.METHODS["mlp"], hidden=8, epochs=3)
    """
    subject = Subject(cls, **settings)
    for name, check in CHECKS.items():
        if not applies(name, cls.capabilities):
            continue
        try:
            check(subject)
        except Exception as problem:
            raise AssertionError(f"{cls.__name__} fails the check '{name}': {problem}") from problem


class Subject:
    """A method to be checked, a small graph with its split, and the same graph after a perturbation."""

    def __init__(self, cls: type[Any], **settings: Any) -> None:
        self.cls, self.settings, self.can = cls, settings, cls.capabilities
        self.graph = ring()
        self.split = random_split(self.graph, seed=0, train=0.2, stratified=True)
        self.perturbed = rewired(self.graph)

    def make(self, **changes: Any) -> Any:
        return self.cls(**(self.settings | changes))

    def fit(self, graph: Any = None, split: Split | None = None, *, seed: int = 0, **rest: Any) -> Any:
        """A new model, on this graph and split where they are given."""
        return self.make().fit(self.graph if graph is None else graph, split or self.split, seed=seed, **rest)

    @cached_property
    def fitted(self) -> Any:
        """Fitted with seed 0, once; a check must not change it."""
        return self.fit()

    @cached_property
    def recovered(self) -> Any:
        return self.fitted.recover(self.perturbed)


Check = Callable[[Subject], None]
CHECKS: dict[str, Check] = {}
"""Every check by its name, a sentence."""
_NEEDS: dict[str, Callable[[Capabilities], bool]] = {}


def applies(name: str, can: Capabilities) -> bool:
    """Whether a method with these capabilities must pass the check of this name."""
    return _NEEDS[name](can)


def _check(needs: Callable[[Capabilities], bool] = lambda can: True) -> Callable[[Check], Check]:
    def put(check: Check) -> Check:
        name = check.__name__.replace("_", " ")
        CHECKS[name], _NEEDS[name] = check, needs
        return check

    return put


# ---- what is declared


@_check()
def capabilities_are_true(subject: Subject) -> None:
    cls, can = subject.cls, subject.can
    assert isinstance(cls.name, str), "expected a name"
    assert isinstance(can, Capabilities), f"expected Capabilities, got {can!r}"
    for ability, declared in (("embed", can.embeds), ("recover", can.recovers), ("uncertainty", can.uncertainty)):
        there = callable(getattr(cls, ability, None))
        assert there == declared, f"{ability} is {'there' if there else 'not there'} and declared as {declared}"
    assert set(can.recover_options) <= set(RECOVER_OPTIONS), f"unknown among recover_options {can.recover_options}"


@_check(lambda can: can.recovers)
def recover_takes_the_declared_options_and_no_others(subject: Subject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        values = {
            "known": subject.graph.ids[1:],
            "labels": True,
            "look": lambda epoch, inferred: None,
            "resume": Path(folder) / "progress.safetensors",
        }
        for option in RECOVER_OPTIONS:
            try:
                subject.fitted.recover(subject.perturbed, **{option: values[option]})
                taken = True
            except TypeError:
                taken = False
            assert taken == (option in subject.can.recover_options), f"recover takes {option}: {taken}"


@_check()
def settings_follow_scikit_learn(subject: Subject) -> None:
    from sklearn.base import clone

    method = subject.make()
    params = method.get_params(deep=False)
    assert params.items() >= subject.settings.items(), "get_params gives the settings"
    again = clone(subject.fitted)
    assert again is not subject.fitted
    assert again.get_params() == params, "a clone has the same settings"
    assert _unfitted(again), "a clone is not fitted"
    assert method.set_params(**params) is method, "set_params returns the method"
    assert type(method.preset(None)) is subject.cls, "preset(None) gives the defaults"
    _refuses(lambda: method.set_params(no_such_setting=1), "an unknown setting")
    for name, value in params.items():
        if isinstance(value, int | float):
            _refuses(partial(method.set_params, **{name: "word"}), f"{name}='word'")


@_check(lambda can: not can.snapshot)
def without_a_snapshot_ids_do_not_matter(subject: Subject) -> None:
    """What was stored of a node can only be found by its id."""
    other = dataclasses.replace(subject.perturbed, ids=np.arange(subject.graph.num_nodes))
    assert _same(subject.fitted.predict_proba(other), subject.fitted.predict_proba(subject.perturbed))


# ---- fit and predict


@_check()
def probabilities_are_probabilities(subject: Subject) -> None:
    for graph in (subject.graph, subject.perturbed, subject.graph.subgraph(np.arange(20, 45)), grown(subject.graph, 3)):
        _probabilities(subject.fitted, graph)


@_check()
def predict_and_score_follow_predict_proba(subject: Subject) -> None:
    graph, split, model = subject.graph, subject.split, subject.fitted
    predicted = model.predict_proba(graph).argmax(axis=1)
    assert _same(model.predict(graph), predicted)
    right = predicted == graph.labels
    assert model.score(graph) == right.mean(), "the accuracy on all labelled nodes"
    assert model.score(graph, split) == model.score(graph, split.test) == right[split.test].mean()


@_check()
def the_same_seed_gives_the_same_bits(subject: Subject) -> None:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(99)
        again = subject.fit().predict_proba(subject.graph)
    assert _same(subject.fitted.predict_proba(subject.graph), again)
    assert _same(subject.fitted.predict_proba(subject.graph), again), "a second prediction is the same"


@_check()
def a_second_fit_replaces_the_first(subject: Subject) -> None:
    graph, split = tiny_graphs()["no edges"]
    model = subject.make().fit(graph, split, seed=3)
    assert model.fit(subject.graph, subject.split, seed=0) is model, "fit returns the method"
    assert _same(model.predict_proba(subject.graph), subject.fitted.predict_proba(subject.graph))


@_check(lambda can: not can.stochastic)
def the_order_of_the_nodes_does_not_matter(subject: Subject) -> None:
    order = np.random.default_rng(0).permutation(subject.graph.num_nodes)
    for model in (subject.fitted, subject.recovered) if subject.can.recovers else (subject.fitted,):
        moved = model.predict_proba(subject.perturbed.subgraph(order))
        np.testing.assert_allclose(moved, model.predict_proba(subject.perturbed)[order], atol=1e-5)


@_check(lambda can: not can.stochastic)
def dense_and_sparse_features_are_the_same(subject: Subject) -> None:
    dense = dataclasses.replace(subject.graph, features=subject.graph.dense_features())
    ours, theirs = (subject.fitted.predict_proba(graph) for graph in (subject.graph, dense))
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


@_check()
def graphs_of_other_libraries_are_taken(subject: Subject) -> None:
    graph, model = subject.graph, subject.fitted
    data, network = graph.to_pyg(), graph.to_networkx()
    np.testing.assert_allclose(subject.fit(data).predict_proba(data), model.predict_proba(graph), atol=1e-6)
    np.testing.assert_allclose(model.predict_proba(network), model.predict_proba(graph), atol=1e-6)
    assert model.score(network, subject.split) == model.score(graph, subject.split)


@_check(lambda can: can.embeds)
def an_embedding_has_a_finite_row_for_every_node(subject: Subject) -> None:
    part = subject.graph.subgraph(np.arange(10, 30))
    embedding = subject.fitted.embed(part)
    assert embedding.ndim == 2
    assert len(embedding) == 20
    assert np.isfinite(embedding).all()
    assert _same(embedding, subject.fitted.embed(part)), "a second embedding is the same"


@_check(lambda can: can.uncertainty)
def uncertainty_is_an_entropy_in_two_parts(subject: Subject) -> None:
    first, again = (subject.fitted.uncertainty(subject.graph, 4) for _ in range(2))
    assert _same(first.probs, again.probs), "the draws are the same each time"
    np.testing.assert_allclose(first.probs.sum(axis=1), 1)
    np.testing.assert_allclose(first.total, first.expected + first.mutual, atol=1e-9)
    assert (first.mutual >= 0).all()
    _refuses(lambda: subject.fitted.uncertainty(subject.graph, 0), "no draw")


# ---- labels


@_check()
def labels_of_test_nodes_are_never_read(subject: Subject) -> None:
    other = subject.fit(mislabelled(subject.graph, subject.split.test))
    assert _same(other.predict_proba(subject.graph), subject.fitted.predict_proba(subject.graph))


@_check()
def without_validation_nodes_only_training_labels_are_read(subject: Subject) -> None:
    alone = Split(subject.split.train, NO_NODES, NO_NODES)
    rest = np.setdiff1d(np.arange(subject.graph.num_nodes), alone.train)
    probs = [
        subject.fit(graph, alone).predict_proba(subject.graph)
        for graph in (subject.graph, mislabelled(subject.graph, rest))
    ]
    assert _same(*probs)


# ---- what stays as it was


@_check()
def graphs_and_generators_stay_as_they_were(subject: Subject) -> None:
    before = content(subject.graph), torch.get_rng_state(), repr(np.random.get_state())  # noqa: NPY002
    model = subject.fit()
    model.predict_proba(subject.graph)
    if subject.can.embeds:
        model.embed(subject.graph)
    if subject.can.uncertainty:
        model.uncertainty(subject.graph, 2)
    if subject.can.recovers:
        model.recover(subject.graph).predict_proba(subject.graph)
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        type(model).load(Path(folder) / "model")
    assert content(subject.graph) == before[0], "the graph was changed"
    assert torch.equal(torch.get_rng_state(), before[1]), "torch's global generator was changed"
    assert repr(np.random.get_state()) == before[2], "numpy's global generator was changed"  # noqa: NPY002


@_check()
def a_stopped_fit_leaves_the_method_as_it_was(subject: Subject) -> None:
    graph, split = tiny_graphs()["no edges"]
    new, old = subject.make(), subject.fit()
    for model in (new, old):
        _stops(partial(model.fit, graph, split, seed=3, callback=_stop))
    assert _unfitted(new), "a method that was never fitted predicts"
    assert _same(old.predict_proba(subject.graph), subject.fitted.predict_proba(subject.graph))


@_check()
def a_saved_model_predicts_the_same_bits(subject: Subject) -> None:
    for model in (subject.fitted, subject.recovered) if subject.can.recovers else (subject.fitted,):
        with tempfile.TemporaryDirectory() as folder:
            model.save(Path(folder) / "model")
            loaded = subject.cls.load(Path(folder) / "model")
        assert type(loaded) is subject.cls
        assert loaded.get_params() == model.get_params()
        for graph in (subject.graph, subject.perturbed, grown(subject.graph, 3)):
            assert _same(loaded.predict_proba(graph), model.predict_proba(graph))
    if subject.can.recovers:
        again = loaded.recover(subject.graph).predict_proba(subject.graph)
        assert _same(again, subject.recovered.recover(subject.graph).predict_proba(subject.graph))


# ---- what is refused


@_check()
def what_cannot_be_learned_from_is_refused(subject: Subject) -> None:
    graph, split = subject.graph, subject.split
    bare = dataclasses.replace(graph, features=np.empty((graph.num_nodes, 0), dtype=np.float32))
    unlabelled = dataclasses.replace(graph, labels=np.full(graph.num_nodes, -1))
    one_class = Split(np.flatnonzero(graph.labels == 0), NO_NODES, NO_NODES)
    _refuses(lambda: subject.fit(bare), "a graph without features")
    _refuses(lambda: subject.fit(unlabelled), "training nodes without a label")
    _refuses(lambda: subject.fit(graph, one_class), "training nodes of one class")
    _refuses(lambda: subject.fit(graph.subgraph(np.arange(10)), split), "the split of a larger graph")
    _refuses(lambda: subject.make().fit(graph, seed=0), "a graph without a split")


@_check()
def what_cannot_be_predicted_is_refused(subject: Subject) -> None:
    other, _ = tiny_graphs()["no edges"]
    _refuses(lambda: subject.fitted.predict_proba(other), "a graph with other features")
    _refuses(lambda: subject.fitted.predict_proba("graph"), "something that is no graph")
    assert _unfitted(subject.make()), "a method that is not fitted predicts"
    with tempfile.TemporaryDirectory() as folder:
        _refuses(lambda: subject.make().save(Path(folder) / "model"), "saving a method that is not fitted")
    if subject.can.recovers:
        _refuses(lambda: subject.fitted.recover(other), "recovery on a graph with other features")


@_check()
def degenerate_graphs_give_probabilities(subject: Subject) -> None:
    for graph, split in tiny_graphs().values():
        model = subject.fit(graph, split)
        _probabilities(model, graph)
        if subject.can.recovers:
            _probabilities(model.recover(graph), graph)


# ---- recovery


@_check(lambda can: can.recovers)
def recovery_returns_a_new_model(subject: Subject) -> None:
    graphs, model = (subject.graph, subject.perturbed), subject.fit()
    before, hashes = [model.predict_proba(graph) for graph in graphs], [content(graph) for graph in graphs]
    _stops(lambda: model.recover(subject.perturbed, callback=_stop))
    recovered = model.recover(subject.perturbed)
    assert recovered is not model
    assert all(_same(model.predict_proba(graph), old) for graph, old in zip(graphs, before, strict=True))
    assert [content(graph) for graph in graphs] == hashes, "the graph was changed"
    assert _same(*(one.predict_proba(subject.perturbed) for one in (recovered, subject.recovered)))
    _probabilities(recovered.recover(subject.graph), subject.graph)


@_check(lambda can: can.recovers)
def recovery_reads_no_label_of_the_graph(subject: Subject) -> None:
    honest, nodes = subject.recovered.predict_proba(subject.perturbed), subject.graph.num_nodes
    for graph in (
        mislabelled(subject.perturbed, np.arange(nodes)),
        dataclasses.replace(subject.perturbed, labels=np.full(nodes, -1), class_names=()),
    ):
        assert _same(subject.fitted.recover(graph).predict_proba(graph), honest)


@_check(lambda can: can.recovers)
def nodes_may_come_and_go_before_a_recovery(subject: Subject) -> None:
    for graph in (grown(subject.perturbed, 3), subject.perturbed.subgraph(np.arange(50, 10, -1))):
        _probabilities(subject.fitted.recover(graph), graph)


# ---- helpers of the checks


class _Stopped(Exception):
    pass


def _stop(number: int, record: dict[str, float]) -> None:
    raise _Stopped


def _stops(call: Callable[[], Any]) -> None:
    try:
        call()
    except _Stopped:
        return
    raise AssertionError("the callback is not called")


def _refuses(call: Callable[[], Any], what: str) -> None:
    try:
        call()
    except InvalidInput as refusal:
        if "\n" not in str(refusal):
            return
    raise AssertionError(f"expected InvalidInput with one sentence for {what}")


def _unfitted(model: Any) -> bool:
    try:
        model.predict_proba(ring())
    except InvalidInput as problem:
        return "not fitted" in str(problem)
    return False


def _same(one: np.ndarray, other: np.ndarray) -> bool:
    return np.array_equal(one, other)


def _probabilities(model: Any, graph: Graph) -> None:
    probs = model.predict_proba(graph)
    assert len(probs) == graph.num_nodes, f"expected {graph.num_nodes} rows, got {len(probs)}"
    assert (probs >= 0).all(), "a probability is negative or NaN"
    np.testing.assert_allclose(probs.sum(axis=1), 1)
