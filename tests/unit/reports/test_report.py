import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
from importlib.resources import files

import pytest
from gvdn.experiments.spec import load_spec, spec_names

from gvdn.errors import InvalidInput
from gvdn.reports.joined import join, join_all
from gvdn.reports.report import markdown_tables, write_pictures, write_report
from gvdn.reports.sections import ORDER, sections, tables_of

from .conftest import measured


def say(cell, mode):
    if cell.method == "gcn" and cell.seed == 2:
        return None
    if cell.method == "gcn" and mode == "in training":
        return {"error": "OutOfTime: 600 s <and more>"}
    return 0.8 if "recovered" in mode else 0.5


@pytest.fixture
def page(tiny, tmp_path):
    records = measured(tmp_path / "records", tiny, say)
    write_report(records, tmp_path / "report.html", [tiny, load_spec("figure4")])
    return (tmp_path / "report.html").read_text()


def test_every_spec_has_its_title_and_what_it_is_about(page):
    assert "Table 9: a tiny one" in page
    assert "Two rows, two graphs." in page
    assert "Figure 4: the samplers of Algorithm 1" in page
    assert "Not run: no records." in page


def test_missing_and_failed_runs_are_shown_with_the_error(page):
    missing, failed = page.index("Runs without a record"), page.index("Runs that failed")
    assert "OutOfTime: 600 s &lt;and more&gt;" in page[failed:]
    assert "2 of 12" in page[missing:]
    assert "20 of 20" in page[missing:]
    assert ">failed<" in page
    assert "not asked" in page


def test_flickr_is_said_to_be_missing(page):
    assert "Flickr: its 500 features could not be obtained" in page


def test_origins_are_counted(page):
    end = page[page.index('id="origins"') :]
    assert "cpu, 1 threads (14)" in end
    assert "abc1234 (14)" in end


def test_it_is_one_page_that_loads_nothing(page, page_with_a_map):
    for one in (page, page_with_a_map):
        assert_nothing_is_loaded(one)


def assert_nothing_is_loaded(page):
    found = []

    class Loads(html.parser.HTMLParser):
        def handle_starttag(self, tag, attributes):
            loading = ("src", "srcset", "data", "action", "poster", "href", "xlink:href")
            found.extend((tag, value) for name, value in attributes if name in loading and not value.startswith("#"))
            assert tag not in ("link", "iframe", "object", "embed", "base")

    Loads().feed(page)
    assert found == []
    assert set(re.findall(r"https?://[^\s\"'<)]+", page)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    assert page.lstrip().startswith("<!doctype html>")


FIGURES = ["figure2", "figure3", "figure4", "figure5", "figure6", "figure7", "figure8", "figure9", "noisy-labels"]
FIGURES += ["sparse-labels", "table2", "table3", "unseen", "additions", "calibration"]


def test_the_same_records_give_the_same_bytes_whatever_the_hashes_are(tmp_path):
    specs = ["figure4", "figure5", "datasets", "streaming", "calibration"]
    for name in specs:
        measured(tmp_path / "records", load_spec(name), lambda cell, mode: 0.8 if cell.dataset == "cora" else None)
    code = (
        "import sys; from pathlib import Path; from gvdn.experiments.spec import load_spec;"
        f"from gvdn.reports.report import write_report; here = Path({str(tmp_path)!r});"
        f"write_report(here / 'records', here / sys.argv[1], [load_spec(name) for name in {specs}])"
    )
    for seed in ("1", "2"):
        command = [sys.executable, "-c", code, f"{seed}.html"]
        subprocess.run(command, check=True, env=os.environ | {"PYTHONHASHSEED": seed})
    assert (tmp_path / "1.html").read_bytes() == (tmp_path / "2.html").read_bytes()


@pytest.mark.parametrize("name", FIGURES)
def test_a_single_record_is_enough_for_a_picture(name, tmp_path):
    spec = load_spec(name)
    (first, modes), *_ = spec.tasks()
    records = measured(tmp_path, spec, lambda cell, mode: 0.8 if (cell, mode) == (first, modes[0]) else None)
    write_report(records, tmp_path / "report.html", [spec])
    page = (tmp_path / "report.html").read_text()
    assert page.count('<svg role="img" aria-label="') == 1
    assert "currentColor" in page
    assert "#010203" not in page


@pytest.mark.parametrize("name", spec_names())
def test_every_spec_has_tables_once_it_has_a_record(name, tmp_path):
    spec = load_spec(name)
    (first, modes), *_ = spec.tasks()
    records = measured(tmp_path, spec, lambda cell, mode: 0.8 if (cell, mode) == (first, modes[0]) else None)
    assert all(table.lines for table in tables_of(join(spec, records)))


def test_the_sections_are_in_the_papers_order_and_every_spec_has_its_place(tmp_path):
    assert sorted(ORDER) == spec_names()
    specs = [load_spec(name) for name in sorted(ORDER, reverse=True)]
    assert [section.spec.name for section in sections(join_all(specs, tmp_path))] == list(ORDER)


def test_a_spec_that_is_not_known_comes_last(tiny, tmp_path):
    study = join_all([tiny, load_spec("adaptive")], tmp_path)
    assert [section.spec.name for section in sections(study)] == ["adaptive", "tiny"]


def test_a_run_that_two_specs_share_counts_once(tmp_path):
    specs = [load_spec("table3"), load_spec("calibration")]
    measured(tmp_path, specs[1], lambda cell, mode: 0.8 if cell.dataset == "cora" else None)
    write_report(tmp_path, tmp_path / "report.html", specs)
    runs = sum(len(modes) for _, modes in specs[0].tasks())
    assert f"drawn from 55 records of {runs:,} runs asked for" in (tmp_path / "report.html").read_text()


@pytest.fixture
def page_with_a_map(tmp_path):
    spec = load_spec("figure5")
    write_report(measured(tmp_path, spec, lambda cell, mode: {}), tmp_path / "report.html", [spec])
    return (tmp_path / "report.html").read_text()


def test_the_map_that_moves_brings_its_data_and_its_script(page_with_a_map):
    inside = re.search(r'<script type="application/json">(.*?)</script>', page_with_a_map, re.DOTALL)
    assert [one["name"] for one in json.loads(inside[1])] == ["cora", "citeseer"]
    assert page_with_a_map.count("<script>") == 1
    assert "src=" not in page_with_a_map


def test_without_a_script_the_static_picture_stands_alone(page_with_a_map):
    assert '<div class="map" hidden>' in page_with_a_map
    assert page_with_a_map.count('<svg role="img"') == 1


def test_the_script_finds_everything_it_looks_for(page_with_a_map):
    script = (files("gvdn.reports") / "map.js").read_text()
    names = re.search(r"for \(const name of \[(.*?)\]\)", script)[1]
    there = re.findall(r'class="map-([a-z]+)"', page_with_a_map)
    assert {*re.findall(r'"([a-z]+)"', names), "bar"} == {*there}
    data = json.loads(re.search(r'<script type="application/json">(.*?)</script>', page_with_a_map, re.DOTALL)[1])[0]
    assert set(re.findall(r"\bmap\.([a-z_]+)", script)) <= set(data)
    assert "</script" not in script


@pytest.mark.skipif(shutil.which("node") is None, reason="no node to parse JavaScript with")
def test_the_script_parses():
    assert subprocess.run(["node", "--check", str(files("gvdn.reports") / "map.js")], check=False).returncode == 0


def test_a_page_without_maps_has_no_script(page):
    assert "<script" not in page


def test_pictures_are_saved_for_what_has_records(tmp_path):
    for name in ("table3", "figure5", "figure4"):
        measured(
            tmp_path / "records",
            load_spec(name),
            lambda cell, mode: None if cell.method == "gvdn" and "mapped" not in mode else 0.8,
        )
    specs = [load_spec(name) for name in spec_names()]
    written = write_pictures(tmp_path / "records", tmp_path / "pictures", specs)
    assert [path.name for path in written] == ["table3.svg", "figure5.svg"]
    assert sorted(path.name for path in (tmp_path / "pictures").iterdir()) == ["figure5.svg", "table3.svg"]
    for path in written:
        assert path.read_text().startswith("<svg ")
        assert 'fill="#ffffff"' in path.read_text()
        assert "currentColor" not in path.read_text()


def test_markdown_has_the_two_tables_and_the_verdicts(tmp_path):
    specs = [load_spec("table2"), load_spec("table3")]
    for spec in specs:
        measured(tmp_path, spec, lambda c, m: 0.9 if c.method == "gvdn" and "recovered" in m else 0.8)
    text = markdown_tables(tmp_path, specs)
    assert re.findall("^### (.*)$", text, re.MULTILINE) == [
        "Table 2: accuracy in % of GVDN",
        "Table 3: accuracy in % under random connections",
        "The paper's claims",
    ]
    assert "| 4 | Table 3 | GVDN has the best accuracy of the ten on every dataset. | holds |" in text


def test_a_record_that_does_not_parse_is_named(tiny, tmp_path):
    (tmp_path / "tiny.jsonl").write_text("{]}\n")
    with pytest.raises(InvalidInput, match="tiny.jsonl, line 1: not a record"):
        write_report(tmp_path, tmp_path / "report.html", [tiny])
    assert not (tmp_path / "report.html").exists()


def test_a_report_imports_no_torch(tmp_path):
    code = (
        "import sys; from pathlib import Path; from gvdn.experiments.spec import load_spec, spec_names;"
        "from gvdn.reports.report import markdown_tables, write_report; specs = [load_spec(n) for n in spec_names()];"
        f"here = Path({str(tmp_path)!r}); write_report(here, here / 'report.html', specs);"
        "markdown_tables(here, specs);"
        "sys.exit('torch' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_rows_that_are_all_in_one_mode_stand_under_their_labels(tmp_path):
    spec = load_spec("figure4")
    write_report(measured(tmp_path, spec, lambda cell, mode: 0.8), tmp_path / "report.html", [spec])
    page = (tmp_path / "report.html").read_text()
    assert "accuracy in %, recovered" in page
    assert '<th scope="row">gvdn, sampler major</th>' in page
