"""The whole story on generated accounts: two days, an attack, 3 % of fraud; results are compared with what is true."""

import json

import numpy as np
import pyarrow.csv as pacsv
import pytest

from gvdn.metrics import roc_auc
from gvdn.testing.accounts import Day, days, with_bots

TRAINED = ("--set", "epochs=60", "--set", "hidden=32", "--set", "recovery_epochs=60")
RARE = ("--select", "auc", "--class-weight", "balanced", "--train", "0.5", "--val", "0.3")


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> tuple[Day, Day, Day]:
    stream = days(seed=7, accounts=1200)
    first, second = next(stream), next(stream)
    return first, second, with_bots(second, bots=8, victims=60)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, world):
    folder = tmp_path_factory.mktemp("story")
    for name, day in zip(("day1", "day2", "attacked"), world, strict=True):
        day.write(folder / name)
    return folder


@pytest.fixture(scope="module")
def run(folder):
    from commands import run_inside

    def call(*words: str) -> dict:
        done = run_inside(folder, *words, "--json")
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    return call


@pytest.fixture(scope="module")
def trained(run) -> dict:
    return run("train", "day1", "-o", "model", *TRAINED, *RARE)


@pytest.fixture(scope="module")
def answers(run, folder, trained):
    """The table of `gvdn predict` for a model and a day, by column."""

    def ask(model: str, day: str) -> dict[str, np.ndarray]:
        run("predict", model, day, "-o", f"{model}-{day}.csv", "--force")
        table = pacsv.read_csv(folder / f"{model}-{day}.csv")
        return {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}

    return ask


def hidden(day: Day) -> np.ndarray:
    """The accounts whose label has not arrived: no model can have seen it."""
    return np.array([label is None for label in day.nodes["label"].to_pylist()])


def test_training_says_what_holds_for_three_percent(trained):
    test = trained["test"]
    assert test["positive"] == "fraud"
    assert test["majority_rate"] > 0.94
    assert test["roc_auc"] > 0.9
    assert {one["name"]: one["recall"] for one in test["classes"]}["fraud"] >= 0.5
    assert trained["training_nodes"]["fraud"] >= 2
    assert trained["warnings"] == []
    assert any("note" in note for note in trained["notes"]), "the text column is named"


def test_the_ranking_of_accounts_without_a_label_is_right(world, answers):
    for name, day in (("day1", world[0]), ("day2", world[1])):
        found = answers("model", name)
        assert roc_auc(found["p_fraud"][hidden(day)], day.fraud[hidden(day)]) > 0.88


def test_the_bots_are_named_and_nobody_is_accused_on_an_ordinary_day(run, world, trained):
    ordinary = run("diagnose", "model", "day2")
    assert not ordinary["perturbed"]
    assert ordinary["advice"] == "update"
    attacked = run("diagnose", "model", "attacked", "--top", "8")
    assert attacked["perturbed"]
    assert attacked["advice"] == "recover"
    assert {one["id"] for one in attacked["nodes_ranked"]} == {f"bot-{number}" for number in range(8)}
    assert all(any("norm" in why for why in one["why"]) for one in attacked["nodes_ranked"])


def test_recovery_brings_the_victims_back(run, world, answers, trained):
    _, second, attacked = world
    run("recover", "model", "attacked", "-o", "healed")
    asked = hidden(second)
    before, hurt, healed = (
        answers(model, day)["p_fraud"][: len(asked)]
        for model, day in (("model", "day2"), ("model", "attacked"), ("healed", "attacked"))
    )
    linked = set(attacked.edges["target"].to_pylist()[second.edges.num_rows :])
    victims = np.array([node in linked for node in second.nodes["id"].to_pylist()])
    moved = [np.abs(other - before)[victims].mean() for other in (hurt, healed)]
    assert moved[0] > 0.2
    assert moved[1] < 0.25 * moved[0]
    assert roc_auc(healed[asked], second.fraud[asked]) > 0.88


def test_an_update_takes_in_the_new_day(run, world, answers, trained):
    second = world[1]
    found = run("update", "model", "day2", "-o", "today", "--epochs", "10")
    assert found["labels_arrived"] > 0
    assert not run("diagnose", "today", "day2")["perturbed"]
    assert run("diagnose", "today", "day2")["new_nodes"] == 0
    asked = hidden(second)
    now = answers("today", "day2")["p_fraud"]
    assert roc_auc(now[asked], second.fraud[asked]) > 0.88


def test_a_threshold_finds_most_of_the_fraud_and_sets_hold_what_they_promise(run, world, folder, trained):
    second = world[1]
    chosen = run("threshold", "model", "-o", "strict", "--goal", "recall=0.9")
    assert 0 < chosen["threshold"] < 1
    told = run("predict", "strict", "day2", "-o", "strict.csv", "--abstain", "0.9", "--curve", "risk.svg")
    assert 0 < told["risk_coverage_area"] < 0.1
    assert "errors among them" in (folder / "risk.svg").read_text()
    table = pacsv.read_csv(folder / "strict.csv")
    asked, named = hidden(second), table["class"].to_numpy(zero_copy_only=False)
    assert (named[asked & second.fraud] == "fraud").mean() >= 0.7
    truth = np.where(second.fraud, "fraud", "legit")
    held = [label in words.split("|") for label, words in zip(truth, table["set"].to_pylist(), strict=True)]
    assert np.mean(np.array(held)[asked]) > 0.82
