"""The committed page, pictures and tables are what the committed records give."""

from pathlib import Path

import pytest

from gvdn.bench.code import is_present
from gvdn.paper import spec_names
from gvdn.paper.report import SAVED, markdown_tables, study_of, write_pictures, write_report
from gvdn.study import records_by_key

HERE = Path(__file__).parents[2]
RUNS = HERE / "results" / "runs"


@pytest.fixture(scope="module")
def study():
    return study_of(RUNS)


def test_the_page_is_drawn_again_byte_for_byte(tmp_path, study):
    write_report(study, tmp_path / "report.html")
    assert (tmp_path / "report.html").read_bytes() == (HERE / "results" / "report.html").read_bytes()


def test_the_saved_pictures_are_drawn_again_byte_for_byte(tmp_path, study):
    write_pictures(study, tmp_path)
    for name in SAVED:
        assert (tmp_path / f"{name}.svg").read_bytes() == (HERE / "docs" / f"{name}.svg").read_bytes()


def test_the_tables_of_the_docs_are_the_reports(study):
    text = (HERE / "docs" / "results.md").read_text()
    blocks = [block.strip() for block in markdown_tables(study).split("\n\n") if block.startswith("|")]
    assert len(blocks) == 3
    assert [block.splitlines()[2] for block in blocks if f"\n\n{block}\n" not in text] == []


@pytest.mark.parametrize("name", spec_names())
def test_every_run_of_every_spec_has_a_record_and_none_failed(name, study):
    joined = study[name]
    assert joined.runs
    assert [(one.dataset, one.name, one.mode) for one in joined.runs if one.missing or one.errors] == []


@pytest.mark.parametrize("name", spec_names())
def test_all_methods_had_the_same_graph(name, study):
    """Where a graph was asked about, the record has its hash; what is counted is the clean graph."""
    hashes: dict[str, set[str | None]] = {}
    for one in study[name].records:
        hashes.setdefault(one.cell.graph_key(), set()).add(one.graph)
    assert hashes
    assert {key: found for key, found in hashes.items() if len(found) > 1} == {}
    if name != "datasets":
        assert all(None not in found for found in hashes.values())


def test_the_pages_say_one_state_of_the_code_as_long_as_it_is_true(study):
    """After a change of code that moves numbers, the records are measured again, or confirmed (`gvdn bench run
    --changed --sample`), or these sentences say which are of other code."""
    other = {one.commit for joined in study.values() for one in joined.records if not is_present(one)}
    assert ("**One state of the code.**" in (HERE / "docs" / "results.md").read_text()) == (not other), other
    assert ("All of it is of the code as it" in (HERE / "results" / "README.md").read_text()) == (not other), other


def test_every_committed_record_is_shown(study):
    assert set(records_by_key(RUNS)) == {one.key for joined in study.values() for one in joined.records}
