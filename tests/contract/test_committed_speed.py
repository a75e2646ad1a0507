"""The tables and the picture of docs/speed.md are what the committed records give."""

import json
from pathlib import Path

import pytest
from benchmark_scripts import script

HERE = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def page():
    return script("speed_page")


@pytest.fixture(scope="module")
def speed(page):
    return page.Speed(HERE / "results" / "speed.jsonl")


def test_the_tables_and_the_picture_are_drawn_from_the_records(page, speed):
    text = (HERE / page.PAGE).read_text(encoding="utf-8")
    assert page.filled(text, page.tables(speed)) == text
    for name, picture in page.pictures(speed).items():
        assert picture.encode() == (HERE / "docs" / name).read_bytes()
        assert f"({name})" in text


def test_every_record_says_its_machine_and_none_is_left_out(speed):
    lines = [json.loads(line) for line in (HERE / "results" / "speed.jsonl").read_text().splitlines()]
    assert all({"device", "threads", "torch"} <= record.keys() for record in lines)
    assert len(speed.records) == len(lines)


def test_the_exponent_of_a_growth(page):
    made = [{"nodes": nodes, "s": 3 * nodes**1.5} for nodes in (10, 100, 1000)]
    assert page.slope(made, "s") == pytest.approx(1.5)


def test_a_record_of_fit_alone_has_a_point_in_the_growth_of_fit_and_none_in_that_of_recovery(page):
    made = [{"nodes": nodes, "epoch_s": nodes, "recovery_epoch_s": nodes**2} for nodes in (10, 100)]
    made.append({"nodes": 1000, "epoch_s": 1000})
    assert page.slope(made, "epoch_s") == pytest.approx(1)
    assert page.slope(made, "recovery_epoch_s") == pytest.approx(2)
    assert page.timed(made, "recovery_epoch_s") == made[:2]


def test_the_picture_and_the_tables_take_a_record_of_fit_alone(page, speed):
    alone = [one for one in speed.growth(gpu=True) if "recovery_epoch_s" not in one]
    assert [one["nodes"] for one in alone] == [3_000_000]
    row = page.growth_table(alone, gpu=True).splitlines()[-1].split(" | ")
    assert row[6] == "–"
    assert page.stages_table(alone).splitlines()[2:] == [
        "| an epoch | 0.13 |",
        "| graph | 5.15 |",
        "| hash | 4.46 |",
        "| split | 0.34 |",
    ]
    assert page.curve(page.timed(alone, "recovery_epoch_s"), "recovery_epoch_s") == ([], [], [])


def test_the_last_record_of_a_measurement_counts(page, tmp_path):
    record = {"what": "epoch", "dataset": "cora", "device": "x", "threads": 1}
    (tmp_path / "s.jsonl").write_text("\n".join(json.dumps(record | {"gvdn_ms": value}) for value in (1, 2)))
    assert [one["gvdn_ms"] for one in page.Speed(tmp_path / "s.jsonl").of("epoch")] == [2]
