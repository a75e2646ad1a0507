import re

from made_records import joined_of

from gvdn.reports.demo import demo_table, write_demo


def say(cell, mode):
    points = {"evasion": 0.4, "recovered, withheld": 0.7}
    return {"accuracy": points.get(mode, 0.81), "clean": 0.82}


def texts(table):
    return {line.heading: [entry.text for entry in line.entries] for line in table.lines}


def test_the_table_has_a_line_per_perturbation(demo):
    table = demo_table(joined_of(demo, say))
    assert table.columns == ["victims", "clean", "perturbed", "recovered", "withheld", "snapshot"]
    assert texts(table) == {
        "random connections": ["10", "82.0%", "40.0%", "81.0%", "70.0%", "82.0%"],
        "again": ["10", "82.0%", "40.0%", "81.0%", "–", "82.0%"],
        "sparsity": ["10", "82.0%", "40.0%", "81.0%", "–", "82.0%"],
    }


def test_without_records_the_table_is_empty(demo):
    assert texts(demo_table(joined_of(demo, lambda cell, mode: None)))["random connections"] == ["–"] * 6


def test_the_page_has_the_table_first_then_the_maps_and_the_losses(demo, tmp_path):
    write_demo(tmp_path / "report.html", joined_of(demo, say), opening="4,809 nodes in 62 seconds.")
    page = (tmp_path / "report.html").read_text()
    assert page.count("<svg") == 2
    assert page.count('<div class="map" hidden>') == 1
    assert "<p>4,809 nodes in 62 seconds. Drawn from 6 records of 6 runs asked for.</p>" in page
    assert "Withheld: recovered without what was stored of the victims." in page
    heads = re.findall("<h3>(.*?)</h3>", page)
    assert heads[:3] == [
        "Perturbed, and recovered",
        "separation of the classes",
        "movement at the end, in % of the range",
    ]


def test_maps_and_losses_that_were_not_recorded_are_not_drawn(demo, tmp_path):
    joined = joined_of(demo, lambda cell, mode: say(cell, mode) if mode in ("evasion", "recovered") else None)
    write_demo(tmp_path / "report.html", joined, opening="")
    page = (tmp_path / "report.html").read_text()
    for words in ("separation of the classes", "movement at the end", '<div class="map"', "<script"):
        assert words not in page
