"""The tables and pictures of trust, in the docs, are what the committed records give."""

import collections
import itertools
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from benchmark_scripts import script

from gvdn.bench.code import is_present

HERE = Path(__file__).parents[2]


DRAWS = script("trust")


@pytest.fixture(scope="module")
def trust():
    return DRAWS.Trust(HERE / "results" / "trust")


@pytest.fixture(scope="module")
def tables(trust):
    return DRAWS.tables(trust)


def test_every_record_belongs_to_a_spec_and_none_failed(trust):
    found = records("trust/trust.jsonl"), records("trust/trust-front.jsonl")
    assert [len(trust.own.records), len(trust.front.records)] == [*map(len, found)] == [1550, 610]


def test_the_page_says_that_its_records_are_of_earlier_code_as_long_as_it_is_true(trust):
    earlier = {one.commit for one in (*trust.own.records, *trust.front.records) if not is_present(one)}
    said = "**These records are of earlier code" in (HERE / "docs" / "trust.md").read_text()
    assert said == bool(earlier), earlier


@pytest.mark.parametrize("page", DRAWS.PAGES)
def test_the_tables_of_a_page_are_drawn_again_byte_for_byte(page, tables):
    text = (HERE / page).read_bytes()
    assert DRAWS.drawn_pages.filled(text.decode(), tables).encode() == text


def test_every_table_stands_in_a_page(tables):
    places = [name for page in DRAWS.PAGES for name in re.findall(r"<!-- drawn: (.+?) -->", (HERE / page).read_text())]
    assert sorted(places) == sorted(tables)


def test_the_pictures_are_drawn_again_byte_for_byte(trust):
    drawn = DRAWS.pictures(trust)
    assert len(drawn) == 2
    for name, picture in drawn.items():
        assert picture.encode() == (HERE / "docs" / name).read_bytes(), name
        assert f"({name})" in (HERE / "docs" / "trust.md").read_text()


def test_numbers_in_the_text_stand_in_a_table_beside_it():
    """Every number with a decimal point in what a section of the page says stands in a table of that section."""
    text = (HERE / "docs" / "trust.md").read_text()
    reached = text[text.index("## What it reaches") : text.index("## What each witness")]
    found = 0
    for part in reached.split("\n### "):
        said = re.findall(r"(?<![\w.])\d+\.\d+(?![\w.])", DRAWS.drawn_pages.PLACE.sub("", part))
        drawn = set(re.findall(r"\d+\.\d+", "".join(place[0] for place in DRAWS.drawn_pages.PLACE.finditer(part))))
        assert [number for number in said if number not in drawn] == [], part.splitlines()[0]
        found += len(said)
    assert found > 20


def test_what_was_missed_is_marked(trust):
    judged = DRAWS._judged
    written = [judged(value, -3.0, DRAWS.signed).small for value in (-3.04, -3.06, None)]
    assert written == ["−3", f"−3 {DRAWS.MARK}", ""]
    marks = [line.entries[0].small.endswith(DRAWS.MARK) for line in DRAWS.wanted_table(trust).lines]
    assert marks == [True, False, True, False, False, False, False, False, False]


def test_every_run_of_both_specs_is_measured_and_one_graph_is_asked_about(trust):
    assert sum(len(run.missing) + len(run.errors) for run in (*trust.own.runs, *trust.front.runs)) == 0
    hashes = {(one.cell.graph_key(), one.graph) for one in (*trust.own.records, *trust.front.records)}
    assert len(hashes) == len({key for key, _ in hashes})
    assert trust.groups == tuple(row.group for row in trust.own.spec.rows)
    assert len(trust.groups) == 13


def below_the_floor(trust):
    """Each cell of the tables of floors that is marked."""
    tables = {state: DRAWS.floor_table(trust, state) for state in DRAWS.FLOORS}
    return [
        (state, line.heading, graph, entry.text)
        for state, table in tables.items()
        for line in table.lines
        for graph, entry in zip(table.columns, line.entries, strict=True)
        if entry.small == DRAWS.MARK
    ]


def test_what_fell_below_its_floor_is_marked_and_said(trust):
    assert below_the_floor(trust) == [("stored: recovered", DRAWS.THROUGH, "cora", "−0.8")]
    text = (HERE / "docs" / "trust.md").read_text()
    assert "one is more than half a point below: **PRBCD through trust, stored victims of Cora** (−0.8)" in text


def test_a_floor_is_the_highest_of_what_is_there_without_recovery(trust):
    """The stored victims of Cora under the attack through trust, from the lines of the file."""
    scores = collections.defaultdict(list)
    for record in records("trust/trust.jsonl"):
        cell = record["cell"]
        if cell["dataset"] == "cora" and cell.get("perturbation_settings", {}).get("through_trust"):
            scores[record["mode"]].append(100 * record["accuracy"])
            scores[record["mode"], "clean"].append(100 * record["clean"]["accuracy"])
    mean = {name: np.mean(values) for name, values in scores.items()}
    assert mean["evasion"] < mean["evasion", "clean"]
    above = trust.above(DRAWS.THROUGH, "stored: recovered", "cora")
    assert above == pytest.approx(mean["recovered"] - mean["evasion", "clean"])
    back = (mean["recovered, new"] - mean["new"]) / (mean["new", "clean"] - mean["new"])
    assert trust.returned(DRAWS.THROUGH, "new: recovered", "cora") == pytest.approx(100 * back)


def test_no_share_is_drawn_of_a_loss_that_is_small_or_was_not_measured(trust):
    assert trust.returned(DRAWS.NOTHING, "new: recovered", "cora") is None
    assert trust.returned("nettack, words", "new: recovered", "pubmed") is None
    assert trust.above("nettack, words", "new: recovered", "pubmed") is None


def test_a_page_with_an_unknown_table_is_refused():
    with pytest.raises(KeyError, match="nothing"):
        DRAWS.drawn_pages.filled("<!-- drawn: nothing -->\n<!-- end -->", {})


def table_below(heading: str) -> dict[str, list[float]]:
    """The first table of a section of the page: the numbers of each row by its name."""
    text = (HERE / "docs" / "trust.md").read_text()
    section = text[text.index(heading) :]
    rows = itertools.takewhile(lambda line: line.startswith("|"), section[section.index("\n|") + 1 :].splitlines())
    cells = [[cell.strip(" *`") for cell in row.strip("|").split("|")] for row in rows]
    return {name: [float(cell.replace("−", "-")) for cell in rest] for name, *rest in cells[2:]}


def records(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / "results" / name).read_text().splitlines()]


def test_the_table_of_witnesses_is_that_of_its_records():
    found = collections.defaultdict(list)
    for record in records("witnesses.jsonl"):
        found[record["attack"], record["dataset"], record["variant"]].append((record["seed"], 100 * record["accuracy"]))
    columns = [(attack, graph) for attack in ("wrong-links", "nettack") for graph in ("cora", "citeseer")]
    columns += [("prbcd", "cora")]
    table = table_below("## What each witness is worth")
    names = list(table)
    assert len(names) == 13
    for name, column in itertools.product(names, range(len(columns))):
        variant = name.removesuffix(", in the blend").removesuffix(" in place of three").removesuffix(" witnesses")
        scores, everything = (dict(found[*columns[column], one]) for one in (variant, "all"))
        assert sorted(scores) == [0, 1, 2]
        below = everything if names.index(name) > names.index("all witnesses") else dict.fromkeys(scores, 0.0)
        wanted = np.mean([score - below[seed] for seed, score in scores.items()])
        assert table[name][column] == pytest.approx(wanted, abs=0.051), (name, column)


def test_the_table_of_costs_is_that_of_its_records():
    table = table_below("## What it costs")
    assert max(table["all together / `fit"]) <= 1.5
    for column, graph in enumerate(("cora", "citeseer", "pubmed", "amazon-photo", "coauthor-cs")):
        runs = [one for one in records("trust-cost.jsonl") if one.get("dataset") == graph and one["what"] == "seconds"]
        rows = {"fit": "fit", "student": "the student, and what else is stored", "trust": "the trust model"}
        for stage, row in rows.items():
            assert table[row][column] == pytest.approx(np.median([one[stage]["cpu"] for one in runs]), abs=0.06), row
