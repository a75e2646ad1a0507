"""The tables of docs/graphs.md are what the catalogue and the committed records give."""

import json
from pathlib import Path

import pytest
from benchmark_scripts import script

from gvdn.study import load_spec

HERE = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def page():
    return script("graphs_page")


def test_the_tables_are_drawn_from_the_records(page):
    text = (HERE / page.PAGE).read_text(encoding="utf-8")
    assert page.filled(text, page.tables()) == text


def test_every_run_of_the_spec_is_measured_and_no_other():
    asked = {
        cell.key(mode)
        for cell, modes in load_spec(HERE / "benchmarks" / "heterophilous.toml").tasks()
        for mode in modes
    }
    found = [
        json.loads(line)
        for line in (HERE / "results" / "heterophilous" / "heterophilous.jsonl").read_text().splitlines()
    ]
    assert {record["key"] for record in found} == asked
    assert len(found) == len(asked) == 90
    assert not any(record.get("error") for record in found)
