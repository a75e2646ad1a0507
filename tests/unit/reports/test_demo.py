from made_records import joined_of

from gvdn.reports.demo import demo_table, write_demo


def say(cell, mode):
    points = {"evasion": 0.4, "recovered, withheld": 0.7}
    return {"accuracy": points.get(mode, 0.81), "clean": 0.82}


def test_the_table_has_a_line_per_perturbation(demo):
    columns, rows = demo_table(joined_of(demo, say))
    assert columns == ["perturbation", "victims", "clean", "perturbed", "recovered", "withheld", "snapshot"]
    assert rows == [
        ["random connections", "10", "82.0%", "40.0%", "81.0%", "70.0%", "82.0%"],
        ["again", "10", "82.0%", "40.0%", "81.0%", "–", "82.0%"],
        ["sparsity", "10", "82.0%", "40.0%", "81.0%", "–", "82.0%"],
    ]


def test_without_records_the_table_is_empty(demo):
    _, rows = demo_table(joined_of(demo, lambda cell, mode: None))
    assert rows[0] == ["random connections", *["–"] * 6]


def test_the_page_has_the_table_the_losses_and_the_maps_and_loads_nothing(demo, tmp_path):
    write_demo(tmp_path / "report.html", joined_of(demo, say), facts={"nodes": "4,809"}, seconds=61.6)
    page = (tmp_path / "report.html").read_text()
    assert page.count("<svg") == 2
    for words in ("<dd>4,809</dd>", "62 seconds", "<td>81.0%</td>", "<b>Withheld</b>", "<b>gvdn</b>", "<b>debian</b>"):
        assert words in page
    for outside in ("<script", "<link", "<img", 'href="http', "url(http"):
        assert outside not in page


def test_what_was_not_recorded_is_not_drawn(demo, tmp_path):
    joined = joined_of(demo, lambda cell, mode: say(cell, mode) if mode in ("evasion", "recovered") else None)
    write_demo(tmp_path / "report.html", joined, facts={}, seconds=1.0)
    assert "<svg" not in (tmp_path / "report.html").read_text()
