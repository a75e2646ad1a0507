"""The committed page, pictures and main tables are what the committed records give."""

from pathlib import Path

import pytest
from gvdn.experiments.protocol import ATTACKS
from gvdn.experiments.runs import by_key
from gvdn.experiments.spec import load_spec, spec_names

from gvdn.reports.report import SAVED, markdown_tables, write_pictures, write_report

HERE = Path(__file__).parents[2]
RUNS = HERE / "results" / "runs"
SPECS = [load_spec(name) for name in spec_names()]


def test_the_page_is_drawn_again_byte_for_byte(tmp_path):
    write_report(RUNS, tmp_path / "report.html", SPECS)
    assert (tmp_path / "report.html").read_bytes() == (HERE / "results" / "report.html").read_bytes()


def test_the_readmes_pictures_are_drawn_again_byte_for_byte(tmp_path):
    write_pictures(RUNS, tmp_path, SPECS)
    for name in SAVED:
        assert (tmp_path / f"{name}.svg").read_bytes() == (HERE / "docs" / f"{name}.svg").read_bytes()


def test_the_readmes_tables_are_the_reports():
    readme = (HERE / "README.md").read_text()
    blocks = [block.strip() for block in markdown_tables(RUNS, SPECS).split("\n\n") if block.startswith("|")]
    assert len(blocks) == 3
    assert all(f"\n\n{block}\n\n" in readme for block in blocks)


@pytest.mark.parametrize("spec", SPECS, ids=spec_names())
def test_every_run_of_every_spec_has_a_record_and_none_failed(spec):
    there = by_key(RUNS)
    wanted = [(cell, mode) for cell, modes in spec.tasks() for mode in modes]
    assert wanted
    assert [cell for cell, mode in wanted if "error" in there.get(cell.key(mode), {"error": "missing"})] == []


def test_everybody_met_the_same_graph():
    """A record says what it met, by the graph's hash; those of before that was so say nothing, and none of them was
    attacked."""
    there = by_key(RUNS)
    met: dict[str, set[str]] = {}
    for spec in SPECS:
        for cell, modes in spec.tasks():
            hashes = [there[cell.key(mode)].get("met") for mode in modes]
            assert cell.perturbation not in ATTACKS or all(hashes)
            met.setdefault(cell.meeting(), set()).update(one for one in hashes if one)
    assert sum(bool(hashes) for hashes in met.values()) > 100
    assert [meeting for meeting, hashes in met.items() if len(hashes) > 1] == []


def test_every_committed_run_belongs_to_a_spec():
    asked = {cell.key(mode) for spec in SPECS for cell, modes in spec.tasks() for mode in modes}
    assert set(by_key(RUNS)) <= asked
