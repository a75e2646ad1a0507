import html.parser
import json
import re
import shutil
import subprocess
import sys
from importlib.resources import files

import pytest
from made_records import measured

from gvdn.errors import InvalidInput
from gvdn.reports.joined import join_all
from gvdn.reports.page import MODES, write_study
from gvdn.study import Mode

MAPPED = """
title = "Maps"
datasets = ["citeseer", "debian"]
seeds = [0]

[[row]]
method = "gvdn"
modes = ["recovered, mapped"]
"""


def say(cell, mode):
    if cell.method == "gcn" and cell.seed == 2:
        return None
    if cell.method == "gcn" and mode == Mode.POISONING:
        return {"error": "OutOfTime: 600 s <and more>"}
    return 0.8 if "recovered" in mode else 0.5


@pytest.fixture
def page(tiny, sweep, tmp_path):
    records = measured(tmp_path / "records", tiny, say)
    write_study(join_all([tiny, sweep], records), tmp_path / "report.html")
    return (tmp_path / "report.html").read_text()


@pytest.fixture
def page_with_a_map(written, tmp_path):
    spec = written(MAPPED)
    write_study(join_all([spec], measured(tmp_path / "records", spec, lambda cell, mode: {})), tmp_path / "report.html")
    return (tmp_path / "report.html").read_text()


def test_every_spec_has_its_title_and_what_it_is_about(page):
    for words in ("A tiny study", "Two rows, two graphs.", "A sweep", "Not run: no records."):
        assert words in page


def test_the_contents_have_the_beginning_of_each_title(page):
    contents = re.search(r"<nav.*?</nav>", page, re.DOTALL)[0]
    assert '<a href="#tiny">A tiny study</a>' in contents


def test_the_tables_of_a_sweep_are_folded_below_its_curves(sweep, tmp_path):
    write_study(join_all([sweep], measured(tmp_path / "records", sweep, say)), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert page.count("<details>") == 4
    assert page.count("<svg") == 2  # a panel for each dataset


def test_a_page_of_one_spec_has_its_title(page_with_a_map):
    assert "<title>Maps</title>" in page_with_a_map


def test_the_modes_that_occur_are_explained_and_no_others(page):
    explained = re.search(r'<dl class="modes">(.*?)</dl>', page, re.DOTALL)[1]
    assert re.findall("<dt>(.*?)</dt>", explained) == ["clean", "evasion", "poisoning", "recovered"]
    assert set(MODES) == set(Mode)


def test_missing_and_failed_runs_are_shown_with_the_error(page):
    missing, failed = page.index("Runs without a record"), page.index("Runs that failed")
    assert "OutOfTime: 600 s &lt;and more&gt;" in page[failed:]
    assert "2 of 12" in page[missing:]
    assert "10 of 10" in page[missing:]
    assert ">failed<" in page
    assert "not asked" in page
    assert "drawn from 14 records of 38 runs asked for" in page.replace("Drawn", "drawn")


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


def test_the_interactive_map_brings_its_data_and_its_script(page_with_a_map):
    inside = re.search(r'<script type="application/json">(.*?)</script>', page_with_a_map, re.DOTALL)
    assert [one["name"] for one in json.loads(inside[1])] == ["citeseer", "debian"]
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


def test_losses_and_counts_are_drawn_too(written, tmp_path):
    rows = '[[row]]\nmethod = "gvdn"\nmodes = ["recovered, with losses"]\n'
    losses = written(f'title = "t"\ndatasets = ["debian"]\nseeds = [0]\n{rows}', "losses")
    counts = written('title = "t"\ndatasets = ["debian"]\nseeds = [0]\n[[row]]\nmodes = ["counts"]\n', "counts")
    for spec in (losses, counts):
        measured(tmp_path / "records", spec, lambda cell, mode: {})
    write_study(join_all([losses, counts], tmp_path / "records"), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    for words in ("movement at the end", "<h3>counts</h3>", "edge homophily"):
        assert words in page


def test_a_record_that_does_not_parse_is_named(tiny, tmp_path):
    (tmp_path / "tiny.jsonl").write_text("{]}\n")
    with pytest.raises(InvalidInput, match="tiny.jsonl, line 1: not a record"):
        write_study(join_all([tiny], tmp_path), tmp_path / "report.html")
    assert not (tmp_path / "report.html").exists()


def test_a_page_imports_no_torch_and_nothing_of_the_paper(tmp_path):
    code = (
        "import sys; from pathlib import Path; from gvdn.reports.page import write_study; import gvdn.reports.demo;"
        f"write_study({{}}, Path({str(tmp_path)!r}) / 'report.html');"
        "sys.exit(any(name in sys.modules for name in ('torch', 'gvdn.paper')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
