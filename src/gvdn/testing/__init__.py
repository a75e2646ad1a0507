"""Checks that anybody can run on a method of their own: `gvdn.testing.check_method(MyMethod)`."""

import dataclasses
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import torch
from numpy.testing import assert_allclose, assert_array_equal

from gvdn.errors import InvalidInput
from gvdn.graph import Split, random_split, with_structural_features
from gvdn.methods.contract import Capabilities
from gvdn.testing.graphs import NO_NODES, content, grown, mislabelled, rewired, ring, tiny_graphs

THREADS = 3
RECOVER_OPTIONS = ("known", "labels", "look", "resume", "poisoned")


def check_method(cls: type[Any], **settings: Any) -> None:
    """Run every check that the declared capabilities ask for; the first that fails is an AssertionError with its name.

    Args:
        cls: a class that follows `gvdn.methods.Method`.
        settings: settings that make it small, since it is fitted a few dozen times on a graph of sixty nodes.

    >>> import gvdn
    >>> check_method(gvdn.METHODS["mlp"], hidden=8, epochs=3)
    """
    contract = Contract(cls, **settings)
    for name, check in checks_for(cls.capabilities):
        try:
            check(contract)
        except Exception as problem:
            raise AssertionError(f"{cls.__name__} fails the check '{name}': {problem}") from problem


class Subject:
    """A method to be checked, a small graph with its split, and the same graph after a perturbation."""

    def __init__(self, cls: type[Any], **settings: Any) -> None:
        self.cls, self.settings, self.can = cls, settings, cls.capabilities
        self.graph = ring()
        self.split = random_split(self.graph, seed=0, train=0.2, stratified=True)
        self.perturbed = rewired(self.graph)

    @property
    def abilities(self) -> dict[str, bool]:
        return {
            "embed": self.can.embeds,
            "recover": self.can.recovers,
            "uncertainty": self.can.uncertainty,
            "diagnose": self.can.diagnoses,
        }

    def make(self, **changes: Any) -> Any:
        return self.cls(**(self.settings | changes))

    def fit(self, graph: Any = None, split: Split | None = None, *, seed: int = 0) -> Any:
        """A new model, on this graph and split where they are given."""
        return self.make().fit(self.graph if graph is None else graph, split or self.split, seed=seed)

    @cached_property
    def fitted(self) -> Any:
        """Fitted with seed 0, once; a check must not change it."""
        return self.fit()

    @cached_property
    def recovered(self) -> Any:
        return self.fitted.recover(self.perturbed)

    @property
    def models(self) -> list[Any]:
        """The fitted model and, where the method recovers, the recovered one."""
        return [self.fitted, self.recovered] if self.can.recovers else [self.fitted]


Check = Callable[..., None]


def _only(needs: Callable[[Capabilities], bool]) -> Callable[[Check], Check]:
    """Restrict a check to methods with such capabilities."""

    def put(check: Check) -> Check:
        vars(check)["needs"] = needs
        return check

    return put


class Contract(Subject):
    """Each method is a check, and its name is the sentence that is checked."""

    def capabilities_are_true(self) -> None:
        assert isinstance(self.cls.name, str), "expected a name"
        assert isinstance(self.can, Capabilities), f"expected Capabilities, got {self.can!r}"
        for ability, declared in self.abilities.items():
            there = callable(getattr(self.cls, ability, None))
            assert there == declared, f"{ability} is {'there' if there else 'not there'} and declared as {declared}"
        unknown = set(self.can.recover_options) - set(RECOVER_OPTIONS)
        assert not unknown, f"unknown among recover_options: {', '.join(unknown)}"

    @_only(lambda can: can.recovers)
    def recover_takes_the_declared_options_and_no_others(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            look, resume = lambda epoch, inferred: None, Path(folder) / "progress.safetensors"
            values = (self.graph.ids[1:], True, look, resume, True)
            for option, value in zip(RECOVER_OPTIONS, values, strict=True):
                try:
                    self.fitted.recover(self.perturbed, **{option: value})
                    taken = True
                except TypeError:
                    taken = False
                assert taken == (option in self.can.recover_options), f"recover takes {option}: {taken}"

    def settings_follow_scikit_learn(self) -> None:
        from sklearn.base import clone

        method, again = self.make(), clone(self.fitted)
        params = method.get_params(deep=False)
        assert params.items() >= self.settings.items(), "get_params gives the settings"
        assert again.get_params() == params, "a clone has the same settings"
        _unfitted(again)
        assert method.set_params(**params) is method, "set_params returns the method"
        assert type(method.preset(None)) is self.cls, "preset(None) gives the defaults"
        _refuses("an unknown setting", lambda: method.set_params(no_such_setting=1))
        for name, value in params.items():
            if isinstance(value, int | float):
                _refuses(f"{name}='word'", partial(method.set_params, **{name: "word"}))

    def with_features_only_the_links_do_not_matter(self) -> None:
        nothing = sp.csr_array(self.graph.adjacency.shape, dtype=self.graph.adjacency.dtype)
        bare = dataclasses.replace(self.graph, adjacency=nothing)
        same = np.array_equal(self.fitted.predict_proba(bare), self.fitted.predict_proba(self.graph))
        assert same or not self.can.features_only, "features_only is declared, and links change the predictions"

    @_only(lambda can: not can.snapshot)
    def without_a_snapshot_ids_do_not_matter(self) -> None:
        """What was stored of a node can only be found by its id."""
        other = dataclasses.replace(self.perturbed, ids=np.arange(self.graph.num_nodes))
        assert_array_equal(self.fitted.predict_proba(other), self.fitted.predict_proba(self.perturbed))

    def predict_and_score_follow_predict_proba(self) -> None:
        graph, split, model = self.graph, self.split, self.fitted
        predicted = model.predict_proba(graph).argmax(axis=1)
        assert_array_equal(model.predict(graph), predicted)
        right = predicted == graph.labels
        assert model.score(graph) == right.mean(), "the accuracy on all labelled nodes"
        assert model.score(graph, split) == model.score(graph, split.test) == right[split.test].mean()

    def the_same_seed_gives_the_same_bits(self) -> None:
        """Whatever was fitted or drawn before."""
        graph, split = tiny_graphs()["no edges"]
        model = self.make().fit(graph, split, seed=3)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(99)
            assert model.fit(self.graph, self.split, seed=0) is model, "fit returns the method"
        for _ in range(2):
            assert_array_equal(model.predict_proba(self.graph), self.fitted.predict_proba(self.graph))

    @_only(lambda can: not can.stochastic)
    def the_order_of_the_nodes_does_not_matter(self) -> None:
        order = np.random.default_rng(0).permutation(self.graph.num_nodes)
        for model in self.models:
            moved = model.predict_proba(self.perturbed.subgraph(order))
            assert_allclose(moved, model.predict_proba(self.perturbed)[order], atol=1e-5)

    @_only(lambda can: not can.stochastic)
    def dense_and_sparse_features_are_the_same(self) -> None:
        dense = dataclasses.replace(self.graph, features=self.graph.dense_features())
        assert_allclose(self.fitted.predict_proba(dense), self.fitted.predict_proba(self.graph), atol=1e-5)

    def graphs_of_other_libraries_are_taken(self) -> None:
        graph, model = self.graph, self.fitted
        data, network = graph.to_pyg(), graph.to_networkx()
        assert_allclose(self.fit(data).predict_proba(data), model.predict_proba(graph), atol=1e-6)
        assert_allclose(model.predict_proba(network), model.predict_proba(graph), atol=1e-6)
        assert model.score(network, self.split) == model.score(graph, self.split)

    @_only(lambda can: can.embeds)
    def an_embedding_has_a_finite_row_for_every_node(self) -> None:
        part = self.graph.subgraph(np.arange(10, 30))
        embedding = self.fitted.embed(part)
        assert embedding.shape == (20, embedding.shape[-1]), f"expected a row for each of 20, got {embedding.shape}"
        assert np.isfinite(embedding).all()
        assert_array_equal(embedding, self.fitted.embed(part))

    @_only(lambda can: can.uncertainty)
    def uncertainty_is_an_entropy_in_two_parts(self) -> None:
        first, again = (self.fitted.uncertainty(self.graph, 4) for _ in range(2))
        assert_array_equal(first.probs, again.probs)
        assert_allclose(first.probs.sum(axis=1), 1)
        assert_allclose(first.total, first.expected + first.mutual, atol=1e-9)
        assert (first.mutual >= 0).all()
        _refuses("no draw", lambda: self.fitted.uncertainty(self.graph, 0))

    @_only(lambda can: can.diagnoses)
    def a_diagnosis_reads_no_label_and_is_the_same_from_disk(self) -> None:
        clean = self.fitted.diagnose(self.graph)
        assert not clean.perturbed, "the clean graph is called perturbed"
        assert not clean.suspicious.any(), "a node of the clean graph is called suspicious"
        loaded = _from_disk(self.fitted)
        for graph in (self.perturbed, grown(self.perturbed, 3), self.perturbed.subgraph(np.arange(50, 10, -1))):
            scores = self.fitted.diagnose(graph).scores
            assert np.isfinite(scores).all(), "a score is NaN or infinite"
            for model, other in ((loaded, graph), (self.fitted, mislabelled(graph, np.arange(len(scores))))):
                assert_array_equal(model.diagnose(other).scores, scores)

    def labels_of_test_nodes_are_never_read(self) -> None:
        other = self.fit(mislabelled(self.graph, self.split.test))
        assert_array_equal(other.predict_proba(self.graph), self.fitted.predict_proba(self.graph))
        alone = Split(self.split.train, NO_NODES, NO_NODES)
        rest = np.setdiff1d(np.arange(self.graph.num_nodes), alone.train)
        honest, other = (self.fit(graph, alone) for graph in (self.graph, mislabelled(self.graph, rest)))
        assert_array_equal(honest.predict_proba(self.graph), other.predict_proba(self.graph))

    def graphs_and_generators_stay_as_they_were(self) -> None:
        before = content(self.graph), torch.get_rng_state(), repr(np.random.get_state())  # noqa: NPY002
        model = self.fit()
        for use in ("predict_proba", *(ability for ability, declared in self.abilities.items() if declared)):
            getattr(model, use)(self.graph)
        for one in (_from_disk(model), *self.models):
            one.predict_proba(self.graph)
        assert content(self.graph) == before[0], "the graph was changed"
        assert torch.equal(torch.get_rng_state(), before[1]), "torch's global generator was changed"
        assert repr(np.random.get_state()) == before[2], "numpy's global generator was changed"  # noqa: NPY002

    def threads_get_the_same_bits(self) -> None:
        expected = self.fitted.predict_proba(self.graph)
        with ThreadPoolExecutor(THREADS) as pool:
            fitted = [pool.submit(self.fit) for _ in range(THREADS)]
            predicted = [pool.submit(self.fitted.predict_proba, self.graph) for _ in range(2 * THREADS)]
            for one in fitted:
                assert_array_equal(one.result().predict_proba(self.graph), expected, "a fit in a thread")
            for other in predicted:
                assert_array_equal(other.result(), expected, "a prediction in a thread")
            if self.can.recovers:
                healed = [pool.submit(self.fitted.recover, self.perturbed) for _ in range(THREADS)]
                for each in healed:
                    there, here = (model.predict_proba(self.perturbed) for model in (each.result(), self.recovered))
                    assert_array_equal(there, here, "a recovery in a thread")

    def a_stopped_fit_leaves_the_method_as_it_was(self) -> None:
        graph, split = tiny_graphs()["no edges"]
        new, old = self.make(), self.fit()
        for model in (new, old):
            _refuses("an interruption", partial(model.fit, graph, split, seed=3, callback=_stop), InterruptedError)
        _unfitted(new)
        assert_array_equal(old.predict_proba(self.graph), self.fitted.predict_proba(self.graph))

    def a_saved_model_predicts_the_same_bits(self) -> None:
        for model in self.models:
            loaded = _from_disk(model)
            assert type(loaded) is self.cls
            assert loaded.get_params() == model.get_params()
            for graph in (self.graph, self.perturbed, grown(self.graph, 3)):
                assert_array_equal(loaded.predict_proba(graph), model.predict_proba(graph))
        if self.can.recovers:
            assert_array_equal(*(one.recover(self.graph).predict_proba(self.graph) for one in (loaded, model)))

    def a_graph_without_features_gets_those_of_its_links(self) -> None:
        bare = dataclasses.replace(self.graph, features=np.empty((self.graph.num_nodes, 0), dtype=np.float32))
        model = self.fit(bare)
        expected = model.predict_proba(with_structural_features(bare, model.columns_))
        assert_array_equal(_from_disk(model).predict_proba(bare), expected)

    def what_cannot_be_learned_from_is_refused(self) -> None:
        graph, split = self.graph, self.split
        unlabelled = dataclasses.replace(graph, labels=np.full(graph.num_nodes, -1))
        one_class = Split(np.flatnonzero(graph.labels == 0), NO_NODES, NO_NODES)
        _refuses("training nodes without a label", lambda: self.fit(unlabelled))
        _refuses("training nodes of one class", lambda: self.fit(graph, one_class))
        _refuses("the split of a larger graph", lambda: self.fit(graph.subgraph(np.arange(10)), split))
        _refuses("a graph without a split", lambda: self.make().fit(graph, seed=0))

    def what_cannot_be_predicted_is_refused(self) -> None:
        other, _ = tiny_graphs()["no edges"]
        _refuses("a graph with other features", lambda: self.fitted.predict_proba(other))
        _refuses("something that is no graph", lambda: self.fitted.predict_proba("graph"))
        _unfitted(self.make())
        _refuses("saving a method that is not fitted", lambda: _from_disk(self.make()))
        if self.can.recovers:
            _refuses("recovery on a graph with other features", lambda: self.fitted.recover(other))

    def every_graph_gives_probabilities(self) -> None:
        graphs = (self.graph, self.perturbed, self.perturbed.subgraph(np.arange(50, 10, -1)), grown(self.perturbed, 3))
        cases = [(self.fitted, graph) for graph in graphs]
        cases += [(self.fit(graph, split), graph) for graph, split in tiny_graphs().values()]
        for model, graph in cases:
            for one in (model, model.recover(graph)) if self.can.recovers else (model,):
                probs = one.predict_proba(graph)
                assert len(probs) == graph.num_nodes, f"expected {graph.num_nodes} rows, got {len(probs)}"
                assert (probs >= 0).all(), "a probability is negative or NaN"
                assert_allclose(probs.sum(axis=1), 1)

    @_only(lambda can: can.recovers)
    def recovery_returns_a_new_model(self) -> None:
        graphs, model = (self.graph, self.perturbed), self.fit()
        before, hashes = [model.predict_proba(graph) for graph in graphs], [content(graph) for graph in graphs]
        _refuses("an interruption", partial(model.recover, self.perturbed, callback=_stop), InterruptedError)
        recovered = model.recover(self.perturbed)
        assert recovered is not model
        assert_array_equal([model.predict_proba(graph) for graph in graphs], before)
        assert [content(graph) for graph in graphs] == hashes, "the graph was changed"
        assert_array_equal(recovered.predict_proba(self.perturbed), self.recovered.predict_proba(self.perturbed))
        assert np.isfinite(recovered.recover(self.graph).predict_proba(self.graph)).all(), "a second recovery"

    @_only(lambda can: can.recovers)
    def recovery_reads_no_label_of_the_graph(self) -> None:
        honest, nodes = self.recovered.predict_proba(self.perturbed), self.graph.num_nodes
        unlabelled = dataclasses.replace(self.perturbed, labels=np.full(nodes, -1), class_names=())
        for graph in (mislabelled(self.perturbed, np.arange(nodes)), unlabelled):
            assert_array_equal(self.fitted.recover(graph).predict_proba(graph), honest)


CHECKS = {name.replace("_", " "): check for name, check in vars(Contract).items() if not name.startswith("_")}
"""Every check by its name, a sentence."""


def checks_for(can: Any) -> Iterator[tuple[str, Check]]:
    """The names and checks that a method with these capabilities must pass."""
    return ((name, check) for name, check in CHECKS.items() if vars(check).get("needs", bool)(can))


def _stop(number: int, record: dict[str, float]) -> None:
    raise InterruptedError


def _refuses(what: str, call: Callable[[], Any], error: type[Exception] = InvalidInput, words: str = "") -> None:
    try:
        call()
    except error as problem:
        if words in str(problem) and "\n" not in str(problem):
            return
    raise AssertionError(f"expected {error.__name__} with one sentence for {what}")


def _unfitted(model: Any) -> None:
    _refuses("a method that is not fitted", lambda: model.predict_proba(ring()), words="not fitted")


def _from_disk(model: Any) -> Any:
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "model")
        return type(model).load(Path(folder) / "model")
