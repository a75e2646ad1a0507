"""Records of other code hold where runs that depend on the same code give the same numbers again."""

from dataclasses import replace

import pytest
from made_records import SCORES, record

from gvdn.bench.code import code_of, is_present
from gvdn.bench.confirm import confirm, keep, sampled
from gvdn.study import Cell, Mode, Record, append_record, records_by_key

MODE = Mode.EVASION


def old(method: str, seed: int, code: str = "before", **said) -> Record:
    cell = Cell("cora", method, seed, perturbation="wrong-links")
    return record(cell, MODE, code=code, graph=f"g{seed}", **said)


def measured(one: Record, **said) -> Record:
    """The same run, measured with the present code."""
    return replace(one, code=code_of(one.cell, one.mode), seconds={"fit": 9.0}, commit="later", **said)


@pytest.fixture
def before() -> dict[str, Record]:
    records = [old(method, seed) for method in ("gcn", "rgcn") for seed in range(3)]
    return {one.key: one for one in records}


def seeds(records) -> list[tuple[str, int]]:
    return sorted((one.cell.method, one.cell.seed) for one in records)


def test_of_each_group_the_lowest_seeds_are_measured_again(before):
    found = sampled(before, before, 1)
    assert seeds(before[key] for key in found) == [("gcn", 0), ("rgcn", 0)]
    found = sampled(before, [key for key in before if before[key].cell.seed > 0], 2)
    assert seeds(before[key] for key in found) == [("gcn", 1), ("gcn", 2), ("rgcn", 1), ("rgcn", 2)]


def test_records_of_another_code_or_device_are_a_group_of_their_own(before):
    other = [old("gcn", 3, code="long before"), replace(old("gcn", 4), device="a GPU")]
    before |= {one.key: one for one in other}
    found = sampled(before, before, 1)
    assert seeds(before[key] for key in found) == [("gcn", 0), ("gcn", 3), ("gcn", 4), ("rgcn", 0)]


def test_the_others_hold_where_the_sample_gives_the_same_numbers(before):
    again = [measured(one) for one in before.values() if one.cell.seed == 0]
    found = confirm(before, before, again)
    assert found.differing == []
    assert seeds(found.records) == [("gcn", 1), ("gcn", 2), ("rgcn", 1), ("rgcn", 2)]
    assert all(is_present(one) for one in found.records)
    assert {one.measured_with for one in found.records} == {"before"}
    assert found.records[0].scores == before[found.records[0].key].scores


def test_what_was_confirmed_before_is_still_of_the_code_that_it_was_measured_with(before):
    twice = replace(old("gcn", 3, code="between"), measured_with="long before")
    before |= {twice.key: twice}
    again = [measured(one) for one in before.values() if one.cell.seed == 0]
    assert seeds(confirm(before, before, again).records) == [("gcn", 1), ("gcn", 2), ("rgcn", 1), ("rgcn", 2)]
    other = replace(twice, cell=replace(twice.cell, seed=4))
    alone = {one.key: one for one in (twice, other)}
    (held,) = confirm(alone, alone, [measured(twice)]).records
    assert held.measured_with == "long before"


@pytest.mark.parametrize(
    "change",
    [
        {"scores": replace(SCORES, brier=0.40001)},
        {"graph": "another"},
        {"device": "a GPU"},
        {"recovery": {"chosen": "as it is"}},
        {"clean": None},
        {"epoch": 3},
    ],
)
def test_one_number_that_differs_is_enough_for_its_group(before, change):
    again = [measured(one) for one in before.values() if one.cell.seed < 2]
    again[1] = replace(again[1], **change)
    found = confirm(before, before, again)
    assert seeds(found.differing) == [("gcn", 1)]
    assert seeds(found.records) == [("rgcn", 2)]


def test_a_run_that_failed_or_that_was_not_there_confirms_nothing(before):
    failed = Record(cell=Cell("cora", "gcn", 0, perturbation="wrong-links"), mode=MODE, error="no memory")
    found = confirm(before, before, [failed, measured(old("rgcn", 9))])
    assert found == ([], [])


def test_what_holds_is_kept_in_the_file_that_has_the_record(before, tmp_path):
    for one in before.values():
        append_record(tmp_path / "first.jsonl", one)
    again = [measured(one) for one in before.values() if one.cell.seed == 0]
    keep(tmp_path / "second.jsonl", confirm(before, before, again).records)
    assert not (tmp_path / "second.jsonl").exists()
    found = records_by_key(tmp_path)
    assert sum(bool(is_present(one)) for one in found.values()) == 4
    assert sum(one.measured_with == "before" for one in found.values()) == 4
