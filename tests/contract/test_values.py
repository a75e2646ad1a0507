"""Graphs, receipts, records, specs and what else is handed from one part to another cannot be changed."""

import dataclasses
import importlib

import pytest

MODULES = {
    "gvdn.graph.graph": {"Graph"},
    "gvdn.graph.split": {"Split"},
    "gvdn.data.catalogue": {"Dataset"},
    "gvdn.perturbations.receipt": {"Changes", "Receipt", "Perturbed"},
    "gvdn.perturbations.family": {"Plan", "Perturbation"},
    "gvdn.methods.contract": {"Capabilities"},
    "gvdn.study.cell": {"Cell"},
    "gvdn.study.spec": {"Spec", "Row"},
    "gvdn.study.record": {"Record", "Scores"},
    "gvdn.reports.statistics": {"Summary", "Paired"},
}
"""Module -> some of its dataclasses, so that the test knows that it found them."""


@pytest.mark.parametrize("module", MODULES)
def test_the_dataclasses_of_a_module_are_frozen(module):
    found = {
        one.__name__: one.__dataclass_params__.frozen
        for one in vars(importlib.import_module(module)).values()
        if isinstance(one, type) and dataclasses.is_dataclass(one) and one.__module__ == module
    }
    assert set(found) >= MODULES[module]
    assert all(found.values()), found
