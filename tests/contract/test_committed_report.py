"""The committed page, pictures and tables are what the committed records give."""

from pathlib import Path

import pytest

from gvdn.paper import load, spec_names
from gvdn.paper.report import SAVED, markdown_tables, write_pictures, write_report
from gvdn.study import records_by_key

HERE = Path(__file__).parents[2]
RUNS = HERE / "results" / "runs"
SPECS = [load(name) for name in spec_names()]


@pytest.fixture(scope="module")
def records():
    return records_by_key(RUNS)


def test_the_page_is_drawn_again_byte_for_byte(tmp_path):
    write_report(RUNS, tmp_path / "report.html")
    assert (tmp_path / "report.html").read_bytes() == (HERE / "results" / "report.html").read_bytes()


def test_the_saved_pictures_are_drawn_again_byte_for_byte(tmp_path):
    write_pictures(RUNS, tmp_path)
    for name in SAVED:
        assert (tmp_path / f"{name}.svg").read_bytes() == (HERE / "docs" / f"{name}.svg").read_bytes()


def test_the_tables_of_the_docs_are_the_reports():
    text = (HERE / "docs" / "results.md").read_text()
    blocks = [block.strip() for block in markdown_tables(RUNS).split("\n\n") if block.startswith("|")]
    assert len(blocks) == 3
    assert [block.splitlines()[2] for block in blocks if f"\n\n{block}\n" not in text] == []


@pytest.mark.parametrize("spec", SPECS, ids=spec_names())
def test_every_run_of_every_spec_has_a_record_and_none_failed(spec, records):
    wanted = [cell.key(mode) for cell, modes in spec.tasks() for mode in modes]
    assert wanted
    assert [key for key in wanted if key not in records or records[key].error is not None] == []


def test_all_methods_had_the_same_graph(records):
    """A record has the hash of its graph; the oldest have none, and none of those was attacked.

    Records that do not keep a hash of their code are of before the splits changed, so that a seed has another graph.
    """
    hashes: dict[tuple[str, bool], set[str]] = {}
    for spec in SPECS:
        for cell, modes in spec.tasks():
            for one in (records[cell.key(mode)] for mode in modes):
                assert cell.perturbation not in ("nettack", "prbcd") or one.graph
                hashes.setdefault((cell.graph_key(), bool(one.code)), set()).update({one.graph} - {None})
    assert sum(bool(found) for found in hashes.values()) > 100
    assert {key: found for key, found in hashes.items() if len(found) > 1} == {}


def test_every_committed_run_belongs_to_a_spec(records):
    asked = {cell.key(mode) for spec in SPECS for cell, modes in spec.tasks() for mode in modes}
    assert set(records) == asked
    assert len(asked) == 4445
