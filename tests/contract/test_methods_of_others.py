"""Methods that come from outside: one file and one line, an installed package, and the faults that checks find."""

import dataclasses
import os
import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
import torch

import gvdn
from gvdn.graph import Graph, Split
from gvdn.methods.base import Base
from gvdn.methods.contract import METHODS, Capabilities, make_method
from gvdn.methods.files import load_model
from gvdn.testing import CHECKS, check_method

DEFENCE = """
from dataclasses import dataclass, replace
from typing import ClassVar

import scipy.sparse as sp

from gvdn.methods.base import Base


@dataclass
class Thinned(Base):
    \"\"\"A GCN on the edges between nodes of at least some degree.\"\"\"

    degree: int = 1

    name: ClassVar[str] = "{name}"

    def view(self, graph):
        large = sp.diags_array((graph.degrees >= self.degree).astype("float32"))
        return super().view(replace(graph, adjacency=sp.csr_array(large @ graph.adjacency @ large)))
"""


@pytest.fixture
def _registry(monkeypatch):
    """The table of methods as it was, after the test."""
    monkeypatch.setattr(METHODS, "_members", dict(METHODS._members))


@pytest.mark.usefixtures("_registry")
def test_a_defence_is_one_file_and_one_line(tmp_path, monkeypatch, ring, split):
    (tmp_path / "thinned.py").write_text(DEFENCE.format(name="thinned"))
    monkeypatch.syspath_prepend(tmp_path)
    METHODS.add_lazily("thinned", "thinned:Thinned")
    assert "thinned" in list(METHODS)
    assert "thinned" not in sys.modules, "it is imported at its first use"
    model = make_method("thinned", "debian", hidden=8, epochs=5, degree=2).fit(ring, split, seed=0)
    model.save(tmp_path / "model")
    assert np.array_equal(load_model(tmp_path / "model").predict_proba(ring), model.predict_proba(ring))
    check_method(METHODS["thinned"], hidden=8, epochs=3)


def test_a_package_adds_a_method_by_an_entry_point(tmp_path):
    """What pip leaves of a package: a module, and its metadata in a dist-info folder."""
    (tmp_path / "tiny_defence.py").write_text(DEFENCE.format(name="tiny"))
    about = tmp_path / "tiny_defence-1.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text("Metadata-Version: 2.1\nName: tiny-defence\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text("[gvdn.methods]\ntiny = tiny_defence:Thinned\n")
    script = """
import sys
import gvdn
assert list(gvdn.METHODS)[-1] == "tiny" and "torch" not in sys.modules, "listing imports no torch"
assert gvdn.METHODS["tiny"].__name__ == "Thinned"
graph = gvdn.load_graph("debian")
model = gvdn.make_method("tiny", hidden=8, epochs=2).fit(graph, gvdn.random_split(graph, seed=0), seed=0)
model.save("model")
loaded = gvdn.load_model("model")
assert (loaded.predict_proba(graph) == model.predict_proba(graph)).all()
from gvdn.testing import check_method
check_method(gvdn.METHODS["tiny"], hidden=8, epochs=2)
print(loaded.name)
"""
    source = str(Path(gvdn.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), source])},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == "tiny\n"


# ---- the checks find faults


@dataclass
class Plain(Base):
    """A GCN."""

    hidden: int = 8
    epochs: int = 3
    name: ClassVar[str] = "plain"


class ReadsTestLabels(Plain):
    def remember(self, graph: Graph, split: Split) -> None:
        with torch.no_grad():
            self.network_.out.W[:, 0] += float(graph.labels[split.test[0]])


class ForgetsToSave(Plain):
    def remember(self, graph: Graph, split: Split) -> None:
        self.shift_ = 1.0

    def answer(self, network: Any, view: Any, generator: Any = None) -> Any:
        return network(view) * (1 + getattr(self, "shift_", 0.0))


class UsesTheGlobalGenerator(Plain):
    def predict_proba(self, graph: Any) -> np.ndarray:
        np.random.random()  # noqa: NPY002
        return super().predict_proba(graph)


class SharesAGenerator(Plain):
    draws = np.random.default_rng(0)

    def predict_proba(self, graph: Any) -> np.ndarray:
        if threading.current_thread() is threading.main_thread():
            return super().predict_proba(graph)
        return np.roll(super().predict_proba(graph), self.draws.integers(1, 9), axis=0)


class KnowsNodesByPosition(Plain):
    def predict_proba(self, graph: Any) -> np.ndarray:
        probs = super().predict_proba(graph)
        probs[0] = probs[0][::-1]
        return probs


class KnowsNodesById(Plain):
    def predict_proba(self, graph: Any) -> np.ndarray:
        graph = self.accepted(graph)
        probs = super().predict_proba(graph)
        return np.where((graph.ids == "n03")[:, None], 1 / probs.shape[1], probs)


class DeclaresInWords(Plain):
    capabilities: ClassVar[Any] = "embeds"


class DeclaresTooMuch(Plain):
    capabilities: ClassVar[Capabilities] = Capabilities(embeds=True, recovers=True)


class DeclaresTooLittle(Plain):
    def recover(self, graph: Any) -> Any:
        return self


class RecoversInPlace(Plain):
    capabilities: ClassVar[Capabilities] = Capabilities(embeds=True, recovers=True)

    def recover(self, graph: Any, *, callback: Any = None) -> Any:
        self.accepted(graph)
        if callback is not None:
            callback(1, {})
        return self


class TakesAnUndeclaredOption(Plain):
    capabilities: ClassVar[Capabilities] = Capabilities(embeds=True, recovers=True)

    def recover(self, graph: Any, *, callback: Any = None, known: Any = None) -> Any:
        return dataclasses.replace(self)


class PredictsNaN(Plain):
    def answer(self, network: Any, view: Any, generator: Any = None) -> Any:
        return network(view) / (view.num_nodes - 6)


FAULTS = {
    ReadsTestLabels: "labels of test nodes are never read",
    ForgetsToSave: "a saved model predicts the same bits",
    UsesTheGlobalGenerator: "graphs and generators stay as they were",
    SharesAGenerator: "threads get the same bits",
    KnowsNodesByPosition: "the order of the nodes does not matter",
    KnowsNodesById: "without a snapshot ids do not matter",
    DeclaresInWords: "capabilities are true",
    DeclaresTooMuch: "capabilities are true",
    DeclaresTooLittle: "capabilities are true",
    RecoversInPlace: "recovery returns a new model",
    TakesAnUndeclaredOption: "recover takes the declared options and no others",
    PredictsNaN: "every graph gives probabilities",
}


def test_a_method_without_a_fault_passes():
    check_method(Plain)


@pytest.mark.parametrize("cls", FAULTS, ids=lambda cls: cls.__name__)
def test_a_fault_is_found_and_the_check_is_named(cls):
    assert FAULTS[cls] in CHECKS
    with pytest.raises(AssertionError, match=f"{cls.__name__} fails the check '{FAULTS[cls]}'"):
        check_method(cls)
