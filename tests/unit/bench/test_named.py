"""What a spec names is checked before anything runs."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from gvdn.bench.named import require_known
from gvdn.errors import InvalidInput
from gvdn.methods import METHODS
from gvdn.study import Row, Spec, load_spec

BENCHMARKS = sorted((Path(__file__).parents[3] / "benchmarks").glob("*.toml"))


def of(row: Row) -> Spec:
    return Spec("mine", "t", ("debian",), (0,), (row,))


def refused(row: Row) -> str:
    with pytest.raises(InvalidInput) as problem:
        require_known(of(row))
    return str(problem.value)


@pytest.mark.parametrize("target", METHODS)
def test_a_method_without_a_gradient_is_refused_as_target_with_the_reason_and_others_are_not(target):
    row = Row("gcn", perturbation="prbcd", perturbation_settings={"target": target})
    if target in ("mlp", "snapshot"):
        assert f"got {target}: {METHODS[target].why_opaque}; attack a gcn instead" in refused(row)
    else:
        require_known(of(row))


def test_a_target_is_for_attacks_through_a_model_and_what_is_no_setting_is_not_taken():
    require_known(of(Row("gcn", perturbation="grbcd", perturbation_settings={"through_trust": True, "epochs": 3})))
    assert "unknown setting 'target' of dice" in refused(
        Row("gcn", perturbation="dice", perturbation_settings={"target": "gcn"})
    )
    for name in ("victims", "model", "progress"):
        row = Row("gcn", perturbation="prbcd", perturbation_settings={name: 1})
        assert f"mine: unknown setting '{name}' of prbcd" in refused(row)


def test_of_a_method_of_an_installed_package_only_the_names_of_settings_are_checked(monkeypatch):
    @dataclass
    class Theirs:
        depth: int | None = None

    monkeypatch.setitem(METHODS._found(), "theirs", lambda: Theirs)
    require_known(of(Row("theirs", settings={"depth": "deep"})))
    assert "unknown setting 'colour' of theirs; known: depth" in refused(Row("theirs", settings={"colour": 3}))


def test_a_value_out_of_its_range_is_left_to_the_run():
    require_known(of(Row("gcn", settings={"hidden": 0}, perturbation_settings={"rate": 5})))


def test_a_graph_that_is_counted_has_no_method_to_check():
    require_known(of(replace(Row(""), perturbation="none")))


def test_all_that_the_specs_of_the_benchmarks_name_is_known():
    for path in BENCHMARKS:
        require_known(load_spec(path))
    assert len(BENCHMARKS) == 5
