"""The committed page, pictures and main tables are what the committed records give."""

from pathlib import Path

import pytest

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
    tables = markdown_tables(RUNS, [spec for spec in SPECS if spec.name in ("table2", "table3")])
    drawn = tables.partition("### The paper's claims")[0].split("\n\n")
    blocks = [block for block in drawn if block.startswith("|")]
    assert len(blocks) == 2
    assert all(f"\n\n{block}\n\n" in readme for block in blocks)


@pytest.mark.parametrize("name", ["table2", "table3"])
def test_tables_2_and_3_are_complete_on_the_papers_five_graphs(name):
    there = by_key(RUNS)
    spec = load_spec(name)
    five = [dataset for dataset in spec.datasets if dataset not in ("debian", "flickr-structure")]
    wanted = [(cell, mode) for cell, modes in spec.tasks(datasets=five) for mode in modes]
    assert len(five) == 5
    assert [cell for cell, mode in wanted if "accuracy" not in there.get(cell.key(mode), {})] == []


def test_every_committed_run_belongs_to_a_spec():
    asked = {cell.key(mode) for spec in SPECS for cell, modes in spec.tasks() for mode in modes}
    assert set(by_key(RUNS)) <= asked
