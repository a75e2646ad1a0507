import re

import numpy as np
import pytest

from gvdn.reports.diagnosis import ADVICE, score_picture, write_diagnosis

SUMMARY = {
    "graph": "accounts <today>",
    "perturbed": True,
    "p_value": 0.025,
    "false_alarm_rate": 0.05,
    "advice": "recover",
    "because": "there is more evidence than in 59 of 59 graphs with natural churn",
    "nodes": 3000,
    "new_nodes": 2,
    "vanished_nodes": 1,
    "links": 9000,
    "new_links": 800,
    "lost_links": 3,
    "changed_rows": 8,
    "changed_answers": 90,
    "suspicious_nodes": 120,
    "suspicious_links": 790,
    "nodes_ranked": [{"id": "bot <1>", "score": 812.4, "why": ["100 new links in one step (1 before)"]}],
    "links_ranked": [{"source": "bot <1>", "target": 17, "score": 9.1, "why": ["does not fit"]}],
    "new_ids": ["n1", "n2"],
    "vanished_ids": [4],
}
SCORES = np.concatenate([np.zeros(2880), np.linspace(5, 900, 120)])


def page(path, **changes):
    write_diagnosis(path / "page.html", SUMMARY | changes, SCORES, 4.6)
    return (path / "page.html").read_text()


def test_the_page_says_the_verdict_the_advice_and_the_reasons(tmp_path):
    html = page(tmp_path)
    for words in ("Is accounts &lt;today&gt; perturbed?", ">Perturbed<", ADVICE["recover"], "3,000", "n1, n2", "812.4"):
        assert words in html, words
    assert "bot &lt;1&gt;" in html
    assert "<1>" not in html
    assert "There is more evidence than in 59 of 59 graphs" in html


def test_a_graph_with_nothing_to_name_has_no_empty_lists(tmp_path):
    quiet = {"perturbed": False, "advice": "nothing", "nodes_ranked": [], "links_ranked": [], "new_ids": []}
    html = page(tmp_path, **quiet, vanished_ids=[])
    assert ">Not perturbed<" in html
    assert ADVICE["nothing"] in html
    assert "<ol" not in html
    assert "New nodes</h2>" not in html


def test_the_same_diagnosis_gives_the_same_bytes_and_asks_for_nothing_from_outside(tmp_path):
    html = page(tmp_path)
    assert html == page(tmp_path)
    assert not re.findall(r'(?:src|href)="?https?:', html)
    assert "<script" not in html


@pytest.mark.parametrize(("scores", "threshold"), [(np.zeros(3), 1e9), (np.zeros(0), 4.0), (SCORES, 4.6)])
def test_the_picture_shows_any_scores(scores, threshold):
    svg = score_picture(scores, threshold)
    assert svg.startswith("<svg role")
    assert "mathdefault" not in svg
