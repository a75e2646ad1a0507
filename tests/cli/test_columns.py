"""A user's real columns, from one command to the next."""

import json

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from commands import write_accounts

from gvdn.data import load_graph

QUICK = ("--set", "epochs=4", "--set", "hidden=8", "--set", "recovery_epochs=2")


@pytest.fixture
def accounts(tmp_path):
    return write_accounts(tmp_path)


def test_data_info_prints_what_becomes_of_each_column(inside, accounts):
    shown = inside("data", "info", ".").stdout
    for words in (
        "what becomes of it",
        "category",
        "age in days and weekday",
        "left out: nearly every value is differ",
    ):
        assert words in shown
    assert "note: the links of 2 relations are joined (device 60, transfer 60)" in shown
    told = json.loads(inside("data", "info", ".", "--json").stdout)
    columns = {one["name"]: one for one in told["columns"]}
    assert {name: one["kind"] for name, one in columns.items()} == {
        "row": "number", "age": "number", "city": "category", "joined": "date", "vip": "boolean", "bio": "text",
    }  # fmt: skip
    assert (columns["age"]["missing"], columns["age"]["features"]) == (1, ["age", "age=missing"])
    assert any("suspicious: the column 'row': it counts the rows" in note for note in told["notes"])
    assert told["edge_weights"] == {"smallest": 0.5, "largest": 3.0}


def test_a_column_can_be_left_out_and_a_relation_chosen(inside, accounts):
    told = json.loads(inside("data", "info", ".", "--column", "row=ignore", "--relation", "device", "--json").stdout)
    assert not any("counts the rows" in note for note in told["notes"])
    assert "only the 60 links of the relation 'device' are used, of 120" in told["notes"]
    assert inside("data", "info", "debian", "--relation", "device").stderr.startswith(
        "error: --relation is for a graph of"
    )


def test_a_model_reads_every_later_table_as_the_first(inside, accounts):
    done = inside("train", ".", "-o", "model", "--column", "row=ignore", "--relation", "transfer", *QUICK)
    assert done.returncode == 0, done.stderr
    assert inside("predict", "model", ".", "-o", "first.csv").returncode == 0
    table = pacsv.read_csv(accounts / "nodes.csv")
    turned = table.select(table.column_names[::-1]).set_column(0, "bio", table["bio"])
    pq.write_table(turned, accounts / "turned.parquet")
    done = inside("predict", "model", "turned.parquet", "--edges", "edges.csv", "-o", "turned.csv")
    assert done.returncode == 0, done.stderr
    assert (accounts / "turned.csv").read_text() == (accounts / "first.csv").read_text()
    pq.write_table(table.drop_columns(["city"]), accounts / "less.parquet")
    done = inside("predict", "model", "less.parquet", "--edges", "edges.csv", "-o", "less.csv")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "less.parquet: expected the column 'city', which was there when the columns were learned" in done.stderr
    pq.write_table(table.append_column("more", table["age"]), accounts / "more.parquet")
    done = inside("predict", "model", "more.parquet", "--edges", "edges.csv", "-o", "more.csv")
    assert "note: the column 'more' is new since the columns were learned and not used" in done.stdout
    assert (accounts / "more.csv").read_text() == (accounts / "first.csv").read_text()


def test_one_day_without_labels_can_be_predicted_and_recovered(inside, accounts):
    assert inside("train", ".", "-o", "model", *QUICK).returncode == 0
    table = pacsv.read_csv(accounts / "nodes.csv")
    pq.write_table(table.drop_columns(["label"]), accounts / "today.parquet")
    today = ("today.parquet", "--edges", "edges.csv")
    assert inside("predict", "model", *today, "-o", "answers.csv").returncode == 0
    assert inside("recover", "model", *today, "-o", "healed").returncode == 0


@pytest.mark.parametrize("format", ["npz", "csv", "parquet"])
def test_a_perturbed_graph_is_written_in_any_format_and_is_the_same(inside, accounts, format):
    assert inside("train", ".", "-o", "model", *QUICK).returncode == 0
    how = ("--kind", "random-connections", "--format", format)
    told = json.loads(inside("perturb", ".", *how, "-o", "hurt", "--json").stdout)
    assert load_graph(accounts / "hurt").hash == told["perturbed_hash"]
    assert inside("replay", ".", "hurt", "-o", "again", "--format", format).returncode == 0
    assert load_graph(accounts / "again").hash == told["perturbed_hash"]
    done = inside("recover", "model", "hurt", "-o", "healed")
    assert done.returncode == 0, done.stderr


def test_an_unknown_format_is_refused_before_the_work(inside, accounts):
    done = inside("perturb", ".", "--kind", "random-connections", "--format", "xlsx", "-o", "hurt")
    assert (done.returncode, "expected --format npz, csv or parquet, got 'xlsx'" in done.stderr) == (2, True)
    assert not (accounts / "hurt").exists()


def test_a_graph_without_features_is_trained_on_its_links_and_so_are_later_ones(inside, accounts):
    table = pacsv.read_csv(accounts / "nodes.csv")
    pacsv.write_csv(table.select(["id", "label"]), accounts / "nodes.csv")
    done = inside("train", ".", "-o", "model", *QUICK)
    assert "note: the nodes have no features; they got those of their links" in done.stdout
    (accounts / "nodes.csv").write_text((accounts / "nodes.csv").read_text() + "new,\n")
    links = "acc-01,acc-30,1,device\nnew,acc-30,1,device\n"
    (accounts / "edges.csv").write_text((accounts / "edges.csv").read_text() + links)
    for words in (
        ("predict", "model", ".", "-o", "answers.csv"),
        ("diagnose", "model", ".", "-o", "found"),
        ("recover", "model", ".", "-o", "healed"),
        ("predict", "healed", ".", "-o", "healed.csv"),
        ("embed", "healed", ".", "-o", "embeddings.csv"),
        ("update", "model", ".", "-o", "tomorrow", "--epochs", "2"),
        ("predict", "tomorrow", ".", "-o", "tomorrow.csv"),
    ):
        done = inside(*words)
        assert done.returncode == 0, done.stderr
    rows = pacsv.read_csv(accounts / "tomorrow.csv")
    assert rows["id"].to_pylist()[-1] == "new"
