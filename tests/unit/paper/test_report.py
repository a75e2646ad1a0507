import os
import re
import subprocess
import sys

import pytest
from made_records import joined_of, measured

from gvdn.errors import InvalidInput
from gvdn.paper import load, spec_names, summary
from gvdn.paper.exhibits import EXHIBITS, load_exhibits, sections
from gvdn.paper.report import markdown_tables, study_of, write_pictures, write_report
from gvdn.reports.joined import join_all
from gvdn.study import Mode

ORDER = ["datasets", "table2", "table3", *(f"figure{number}" for number in range(2, 10))]
ORDER += ["streaming", "noisy-labels", "sparse-labels", "withheld", "additions", "calibration", "adaptive", "rivals"]


def test_every_spec_has_its_position_and_every_exhibit_a_spec():
    assert sorted(ORDER) == spec_names()
    assert [load(name).order for name in ORDER] == list(range(1, 20))
    load_exhibits()
    assert set(EXHIBITS) - {"field"} < set(ORDER)  # its spec comes with its records
    assert {"table2", "table3", "datasets", "streaming", "calibration"} < set(EXHIBITS)


def test_an_unknown_spec_lists_the_known_ones():
    with pytest.raises(InvalidInput, match="'table4'; did you mean 'table3'.* known: adaptive, additions"):
        load("table4")


def test_the_sections_are_in_the_papers_order(tmp_path):
    specs = [load(name) for name in sorted(ORDER, reverse=True)]
    assert [one.spec.name for one in sections(join_all(specs, tmp_path))] == ORDER


METRICS_SIDE_BY_SIDE = ("figure2", "figure7", "figure9", "noisy-labels", "sparse-labels")


@pytest.mark.parametrize("name", ORDER)
def test_a_single_record_is_enough_for_tables_and_the_picture(name):
    spec = load(name)
    (first, modes), *_ = spec.tasks()
    joined = joined_of(spec, lambda cell, mode: 0.8 if (cell, mode) == (first, modes[0]) else None)
    (section,) = sections({name: joined})
    assert section.tables
    assert all(table.lines for table in section.tables)
    assert len(section.pictures) == (0 if name in ("datasets", "streaming") else 1)
    for picture, _ in section.pictures:
        assert picture.count('<svg role="img"') == (2 if name in METRICS_SIDE_BY_SIDE else 1)
        assert "currentColor" in picture
        assert "#010203" not in picture


@pytest.fixture
def records(tmp_path):
    """Some exhibits with records of one graph, some without any."""
    for name in ("figure4", "figure5", "datasets", "streaming", "calibration"):
        measured(tmp_path / "records", load(name), lambda cell, mode: 0.8 if cell.dataset == "cora" else None)
    return tmp_path / "records"


def test_the_page_has_claims_the_marks_and_what_is_said_of_flickr(records, tmp_path):
    write_report(study_of(records), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.count('<span class="verdict ') == 15
    assert "Not run: no records." in page
    assert "Flickr: its 500 features could not be obtained" in page
    assert "outside the 95 % interval" in page
    assert "of 5,960 runs asked for" in page


def test_a_run_that_two_specs_share_counts_once(tmp_path):
    measured(tmp_path, load("calibration"), lambda cell, mode: 0.8 if cell.dataset == "cora" else None)
    write_report(study_of(tmp_path), tmp_path / "report.html")
    assert "Drawn from 55 records of 5,960 runs asked for" in (tmp_path / "report.html").read_text()


def test_the_same_records_give_the_same_bytes_whatever_the_hashes_are(records, tmp_path):
    code = (
        "import sys; from pathlib import Path; from gvdn.paper.report import markdown_tables, study_of, write_report;"
        f"here = Path({str(tmp_path)!r}); study = study_of(here / 'records'); write_report(study, here / sys.argv[1]);"
        "markdown_tables(study); sys.exit('torch' in sys.modules)"
    )
    for seed in ("1", "2"):
        command = [sys.executable, "-c", code, f"{seed}.html"]
        subprocess.run(command, check=True, env=os.environ | {"PYTHONHASHSEED": seed})
    assert (tmp_path / "1.html").read_bytes() == (tmp_path / "2.html").read_bytes()


def test_pictures_are_saved_for_what_has_records(tmp_path):
    for name in ("table3", "figure5", "figure4"):
        measured(
            tmp_path / "records",
            load(name),
            lambda cell, mode: None if cell.method == "gvdn" and "mapped" not in mode else 0.8,
        )
    written = write_pictures(study_of(tmp_path / "records"), tmp_path / "pictures")
    assert [path.name for path in written] == ["table3.svg", "figure5.svg"]
    assert sorted(path.name for path in (tmp_path / "pictures").iterdir()) == ["figure5.svg", "table3.svg"]
    for path in written:
        assert path.read_text().startswith("<svg ")
        assert 'fill="#ffffff"' in path.read_text()
        assert "currentColor" not in path.read_text()


def test_markdown_has_the_two_tables_and_the_verdicts(tmp_path):
    for name in ("table2", "table3"):
        measured(tmp_path, load(name), lambda c, m: 0.9 if c.method == "gvdn" and "recovered" in m else 0.8)
    text = markdown_tables(study_of(tmp_path))
    assert re.findall("^### (.*)$", text, re.MULTILINE) == [
        "Table 2: accuracy in % of GVDN",
        "Table 3: accuracy in % under random connections",
        "The paper's claims",
    ]
    assert "| 4 | Table 3 | GVDN has the best accuracy of the ten on every dataset. | holds |" in text


def test_the_first_screen_compares_with_the_best_of_what_stores_nothing(tmp_path):
    points = {Mode.EVASION: 0.4, Mode.RECOVERED: 0.8, Mode.WITHHELD: 0.7, Mode.POISONING: 0.5}

    def say(cell, mode):
        accuracy = 0.6 if cell.method == "rgcn" and mode == Mode.POISONING else points.get(mode, 0.99)
        return {"accuracy": 0.95 if cell.method == "snapshot" else accuracy, "clean": 0.81}

    for name in ("table2", "table3", "withheld"):
        spec = load(name)
        measured(tmp_path, spec, lambda c, m: say(c, m) if c.method in ("gvdn", "rgcn", "gcn", "snapshot") else None)
    study = join_all([load(name) for name in spec_names()], tmp_path)
    for perturbation in ("random-connections", "nettack"):
        found = summary.states(study, perturbation)
        shown = {title: runs.summary(metric).mean for title, at in found.items() for runs, metric in [at["cora"]]}
        assert shown == pytest.approx({
            "GVDN, clean (its snapshot)": 81.0,
            "GVDN, evasion": 40.0,
            "GVDN, recovered": 80.0,
            "GVDN, withheld": 70.0,
            "best other, nothing stored": 60.0,
        })  # fmt: skip
        assert found["best other, nothing stored"]["cora"][0].row.method == "rgcn"
