import re

from made_records import joined_of

from gvdn.reports.demo import demo_table, why_not_yesterday, write_demo


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
    assert page.count("<svg") == 4  # the rows of dots, the map, two panels of losses
    assert page.count('<div class="map" hidden>') == 1
    assert "<li>4,809 nodes in 62 seconds.</li>" in page
    assert page.index("4,809 nodes in 62") < page.index("<svg") < page.index("<table") < page.index("<nav")
    assert "Drawn from 6 records of 6 runs asked for." in page
    assert "Withheld: recovered without what was stored of the victims." in page
    heads = re.findall("<h3>(.*?)</h3>", page)
    assert heads[:2] == [
        "separation of the classes",
        "movement at the end, in % of the range",
    ]


def test_maps_and_losses_that_were_not_recorded_are_not_drawn(demo, tmp_path):
    joined = joined_of(demo, lambda cell, mode: say(cell, mode) if mode in ("evasion", "recovered") else None)
    write_demo(tmp_path / "report.html", joined, opening="")
    page = (tmp_path / "report.html").read_text()
    for words in ("separation of the classes", "movement at the end", '<div class="map"', "<script"):
        assert words not in page


NEW = """
title = "Demo"
datasets = ["debian"]
seeds = [0]
common = { method = "gvdn" }
row = [{ label = "spam", modes = ["evasion", "recovered"] }, { label = "new nodes", modes = ["new", "recovered, new"] }]
"""


def test_of_new_nodes_the_snapshot_says_nothing_and_the_page_says_why_that_matters(written, tmp_path):
    points = {"new": 0.4, "recovered, new": 0.79}
    joined = joined_of(written(NEW), lambda cell, mode: {"accuracy": points.get(mode, 0.81), "clean": 0.82})
    assert texts(demo_table(joined)) == {
        "spam": ["10", "82.0%", "81.0%", "81.0%", "–", "82.0%"],
        "new nodes": ["10", "82.0%", "40.0%", "79.0%", "–", "nothing"],
    }
    words = why_not_yesterday(joined)
    assert words.startswith("Why not return yesterday's predictions?")
    assert "10 nodes that arrived since, with hostile links, have none" in words
    assert "as it is has 40.0% right, the recovered model 79.0% (without the hostile links: 82.0%)" in words
    write_demo(tmp_path / "report.html", joined, opening="")
    assert "Why not return yesterday&#39;s predictions?" in (tmp_path / "report.html").read_text()


def test_without_new_nodes_the_question_is_not_asked(demo):
    assert why_not_yesterday(joined_of(demo, say)) == ""
