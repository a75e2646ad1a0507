import html.parser
import re
import subprocess
import sys

import pytest

from gvdn.errors import InvalidInput
from gvdn.experiments.spec import load_spec
from gvdn.reports.report import markdown_tables, write_report

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


def test_it_is_one_page_that_loads_nothing(page):
    found = []

    class Loads(html.parser.HTMLParser):
        def handle_starttag(self, tag, attributes):
            loading = ("src", "srcset", "data", "action", "poster", "href", "xlink:href")
            found.extend((tag, value) for name, value in attributes if name in loading and not value.startswith("#"))
            assert tag not in ("script", "link", "iframe", "object", "embed", "base")

    Loads().feed(page)
    assert found == []
    assert set(re.findall(r"https?://[^\s\"'<)]+", page)) <= {
        "http://www.w3.org/2000/svg",
        "http://www.w3.org/1999/xlink",
    }
    assert "@import" not in page
    assert not re.search(r"url\((?!#)", page)
    assert page.lstrip().startswith("<!doctype html>")


FIGURES = ["figure2", "figure3", "figure4", "figure8", "figure9", "noisy-labels", "sparse-labels", "table2", "table3"]


def test_the_same_records_give_the_same_bytes(tmp_path):
    specs = [load_spec(name) for name in ("figure4", "figure9")]
    for spec in specs:
        measured(tmp_path / "records", spec, lambda cell, mode: 0.8 if cell.dataset == "cora" else None)
    for name in ("one.html", "two.html"):
        write_report(tmp_path / "records", tmp_path / name, specs)
    assert (tmp_path / "one.html").read_bytes() == (tmp_path / "two.html").read_bytes()


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


def test_table_2_stands_beside_the_paper_and_flickr_structure_does_not(tmp_path):
    spec = load_spec("table2")
    text = markdown_tables(measured(tmp_path, spec, lambda c, m: {"accuracy": 0.8 + 0.001 * c.seed}), [spec])
    lines = {line.split(" | ")[0].strip("| "): line for line in text.splitlines()}
    assert "80.2 ± 0.2 (paper 48.42, +31.8 ≠)" in lines["random-connections: cora"]
    assert "80.2 ± 0.2 (paper 82.63, −2.4 ≠)" in lines["random-connections: cora"]
    assert "paper 72.26" in lines["information-sparsity, literal: cora"]
    assert "paper 72.26" in lines["information-sparsity, links-only: cora"]
    assert "paper 29.44" in lines["nettack: cora"]
    assert "paper" not in lines["nettack: flickr-structure"]
    assert "paper" not in lines["nettack: debian"]


def test_table_3_shows_the_papers_value_where_it_can_mean_the_mode(tmp_path):
    spec = load_spec("table3")
    text = markdown_tables(measured(tmp_path, spec, lambda c, m: 0.9 if c.method == "gvdn" else 0.8), [spec])
    lines = {line.split(" | ")[0].strip("| "): line for line in text.splitlines()}
    assert "paper 84.01" in lines["gvdn: recovered"]
    assert "paper" not in lines["gvdn: recovered, victims unseen"]
    assert "paper" not in lines["gvdn: afterwards"]
    assert "paper 69.47" in lines["gcn-jaccard: in training"]
    assert "**" in lines["gvdn: recovered"] + lines["gvdn: in training, recovered"] + lines["gvdn: afterwards"]
    assert "p 0.0625" in lines["gcn-jaccard"]
    assert "holds" in lines["4"]


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
