"""Specs of a user: a small table, a sweep, and the demo's."""

import pytest

from gvdn.study import load_spec

TINY = """
title = "A tiny study"
about = "Two rows, two graphs."
datasets = ["citeseer", "debian"]
seeds = [0, 1, 2]

[[row]]
method = "gvdn"
modes = ["evasion", "recovered"]

[[row]]
method = "gcn"
modes = ["evasion", "poisoning"]
datasets = ["citeseer"]
"""

SWEEP = """
title = "A sweep"
datasets = ["citeseer", "debian"]
seeds = [0, 1]

[common]
modes = ["clean"]

[[row]]
method = "gcn"
sweep = { setting = "noise_weight", values = [0.0, 0.5, 1.0] }

[[row]]
method = "gvdn"
sweep = { setting = "noise_weight", values = [0.0, 1.0] }
"""

DEMO = """
title = "Demo"
datasets = ["debian"]
seeds = [0]
common = { method = "gvdn" }
row = [
    { label = "random connections", modes = ["evasion", "recovered, mapped", "recovered, withheld"] },
    { label = "again", modes = ["evasion", "recovered, with losses"] },
    { label = "sparsity", perturbation = "information-sparsity", modes = ["evasion", "recovered"] },
]
"""


@pytest.fixture
def written(tmp_path):
    """A spec from the text of its file."""

    def write(text, name="mine"):
        (tmp_path / f"{name}.toml").write_text(text)
        return load_spec(tmp_path / f"{name}.toml")

    return write


@pytest.fixture
def tiny(written):
    return written(TINY, "tiny")


@pytest.fixture
def sweep(written):
    return written(SWEEP, "sweep")


@pytest.fixture
def demo(written):
    return written(DEMO, "demo")
