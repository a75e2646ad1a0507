import json

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest


@pytest.fixture
def hurt(inside, tables):
    """The tables after one person made friends with everybody on the other side."""
    edges = (tables / "edges.csv").read_text()
    (tables / "later").mkdir()
    (tables / "later" / "nodes.csv").write_text((tables / "nodes.csv").read_text())
    (tables / "later" / "edges.csv").write_text(edges + "".join(f"p00,p{other}\n" for other in range(20, 40)))
    return tables / "later"


def test_the_clean_graph_is_not_perturbed(inside, tables, trained):
    done = inside("diagnose", trained("gvdn"), ".", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["perturbed"], found["advice"], found["suspicious_nodes"]) == (False, "nothing", 0)


@pytest.mark.parametrize("word", ["gvdn", "snapshot"])
def test_a_hub_is_named_with_its_reasons(inside, hurt, trained, word):
    done = inside("diagnose", trained(word), hurt)
    assert done.returncode == 0, done.stderr
    assert "later is perturbed, with 5% of false alarms under natural churn" in done.stdout
    assert "20 new links in one step (4 before)" in done.stdout
    assert "what to do: recover: gvdn recover" in done.stdout
    found = json.loads(inside("diagnose", trained(word), hurt, "--json", "--top", "1").stdout)
    assert found["nodes_ranked"][0]["id"] == "p00"
    assert len(found["nodes_ranked"]) == 1


def test_a_model_that_was_recovered_on_the_graph_is_not_to_be_recovered_again(inside, hurt, tables, trained):
    assert inside("recover", trained("gvdn"), "later", "-o", "healed").returncode == 0
    done = inside("diagnose", "healed", "later", "-o", "found")
    assert (done.returncode, done.stderr) == (0, "")
    told = " ".join(done.stdout.split())
    assert "later is perturbed, with 5% of false alarms under natural churn" in told
    assert (
        "what to do: nothing more: the model was recovered on this graph, and gvdn predict healed later answers with it"
    ) in told
    for found in (
        json.loads((tables / "found" / "diagnosis.json").read_text()),
        json.loads(inside("diagnose", "healed", "later", "--json").stdout),
    ):
        assert (found["perturbed"], found["advice"], found["recovered_on_it"]) == (True, "nothing", True)
        assert found["because"].endswith("; the model was recovered on this graph")
    with (hurt / "edges.csv").open("a") as edges:
        edges.writelines(f"p01,p{other}\n" for other in range(20, 40))
    assert "what to do: recover: gvdn recover healed" in inside("diagnose", "healed", "later").stdout
    assert json.loads(inside("diagnose", "healed", "later", "--json").stdout)["recovered_on_it"] is False


def test_a_damaged_note_of_a_recovery_is_a_sentence(inside, hurt, tables, trained):
    assert inside("recover", trained("gvdn"), "later", "-o", "healed").returncode == 0
    for damage, sentence in (("{", "not whole JSON"), ('{"graph": 3}', "expected text as graph of")):
        (tables / "healed" / "recovered.json").write_text(damage)
        done = inside("diagnose", "healed", "later")
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
        assert sentence in done.stderr


def test_tables_and_a_page_are_written(inside, hurt, tables, trained):
    done = inside("diagnose", trained("gvdn"), hurt, "-o", "found", "--page", "found.html")
    assert done.returncode == 0, done.stderr
    nodes, links = (pq.read_table(tables / "found" / name) for name in ("nodes.parquet", "links.parquet"))
    assert (nodes.num_rows, links.num_rows) == (40, 20)
    assert nodes["id"][0].as_py() == "p00"
    assert json.loads((tables / "found" / "diagnosis.json").read_text())["perturbed"]
    assert "Is later perturbed?" in (tables / "found.html").read_text()
    again = inside("diagnose", trained("gvdn"), hurt, "-o", "found")
    assert (again.returncode, "is not empty" in again.stderr) == (2, True)
    assert inside("diagnose", trained("gvdn"), hurt, "-o", "found", "--force").returncode == 0


def test_a_file_gets_the_table_of_the_nodes(inside, hurt, tables, trained):
    assert inside("diagnose", trained("gvdn"), hurt, "-o", "nodes-found.csv").returncode == 0
    assert pacsv.read_csv(tables / "nodes-found.csv").num_rows == 40
    for words in (("-o", "nodes-found.csv"), ("--page", "nodes-found.csv")):
        done = inside("diagnose", trained("gvdn"), hurt, *words)
        assert (done.returncode, "is there already" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["nowhere", "."], "there is no model in nowhere"),
        (["MODEL", "missing.csv"], "expected a graph, got 'missing.csv'"),
        (["MODEL", ".", "--page", "."], "expected a file to write into, got the folder ."),
        (["MODEL", ".", "-o", "nodes.csv/out"], "cannot write nodes.csv/out"),
    ],
)
def test_a_mistake_is_one_line(inside, tables, trained, words, sentence):
    done = inside("diagnose", *(trained("gvdn") if word == "MODEL" else word for word in words))
    assert (done.returncode, sentence in done.stderr) == (2, True), done.stderr


def test_a_method_that_stores_nothing_names_those_that_do(inside, tables, trained):
    done = inside("diagnose", trained("gcn"), ".")
    assert done.returncode == 2
    assert "the method gcn stores nothing of the clean graph" in done.stderr
    assert "train one of these: gvdn, snapshot" in done.stderr


def test_predictions_say_who_is_suspicious_and_why(inside, hurt, tables, trained):
    assert inside("predict", trained("gvdn"), hurt, "-o", "answers.parquet").returncode == 0
    rows = {row["id"]: row for row in pq.read_table(tables / "answers.parquet").to_pylist()}
    assert rows["p00"]["suspicious"]
    assert "20 new links in one step (4 before)" in rows["p00"]["why"]
    assert (rows["p10"]["suspicious"], rows["p10"]["why"]) == (False, "")
