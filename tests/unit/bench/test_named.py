"""What a spec names is checked before anything runs."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from gvdn.bench.named import require_known
from gvdn.data.catalogue import DATASETS
from gvdn.errors import InvalidInput
from gvdn.methods import METHODS
from gvdn.study import Row, Spec, load_spec
from gvdn.study.own_graphs import OwnGraph

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


def test_a_value_that_is_right_on_no_graph_is_refused():
    assert refused(Row("gcn", settings={"hidden": 0})) == "mine: expected hidden of at least 1, got 0"
    assert refused(Row("graphss", settings={"sweeps": 30})) == "mine: expected warm_up in [0, sweeps), got 40 of 30"
    row = Row("gcn", perturbation_settings={"rate": 5})
    assert refused(row).startswith("mine: expected rate of random-connections above 0 and at most 1, got 5")
    require_known(of(Row("gcn", settings={"hidden": 1}, perturbation_settings={"rate": 1})))


def test_what_depends_on_the_graph_is_left_to_the_run():
    require_known(of(Row("gcn", perturbation_settings={"rate": 1.0, "victim_fraction": 1.0})))


def test_settings_that_were_never_tuned_are_refused_with_the_way_to_tune_them():
    tuned = Spec("mine", "t", ("cora", "debian"), (0,), (Row("gcn"),), chosen="tuned")
    with pytest.raises(InvalidInput) as told:
        require_known(tuned)
    assert str(told.value) == (
        "mine: expected methods that were tuned where chosen is 'tuned', got gcn on debian (tuned there: none); run "
        "gvdn tune debian --method gcn, write what it finds as settings of the rows, and leave chosen out"
    )
    require_known(replace(tuned, datasets=("cora",)))
    require_known(replace(tuned, rows=(Row("gcn", datasets=("cora",)),)))


@pytest.mark.parametrize(
    ("perturbation", "given", "got"),
    [("prbcd", {"target": "gcn"}, "gcn"), ("prbcd", {}, "gvdn"), ("nettack", {}, "gcn")],
)
def test_what_an_attack_goes_through_must_have_been_tuned_too(perturbation, given, got, monkeypatch):
    monkeypatch.delitem(DATASETS["cora"].tuned, got)
    row = Row("mlp", perturbation=perturbation, perturbation_settings=given)
    with pytest.raises(InvalidInput, match=f"got {got} on cora"):
        require_known(Spec("mine", "t", ("cora",), (0,), (row,), chosen="tuned"))


def test_of_a_graph_of_ones_own_nothing_was_tuned_also_where_it_has_the_name_of_a_dataset(tmp_path):
    (tmp_path / "cora").mkdir()
    own = {"cora": OwnGraph("cora", tmp_path / "cora", content="0" * 12)}
    with pytest.raises(InvalidInput, match=r"got gcn on cora \(tuned there: none\)"):
        require_known(Spec("mine", "t", ("cora",), (0,), (Row("gcn"),), chosen="tuned", graphs=own))


def test_a_graph_that_is_counted_has_no_method_to_check():
    require_known(of(replace(Row(""), perturbation="none")))


def test_all_that_the_specs_of_the_benchmarks_name_is_known():
    for path in BENCHMARKS:
        require_known(load_spec(path))
    assert len(BENCHMARKS) == 5


def test_the_specs_of_the_benchmarks_say_where_their_records_are():
    for path in BENCHMARKS:
        spec = load_spec(path)
        assert (path.parent / spec.records / f"{spec.name}.jsonl").is_file()
