import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from commands import write_tables

QUICK = ("--set", "epochs=6", "--set", "hidden=8", "--set", "recovery_epochs=4")


def test_from_tables_to_a_model_to_recovered_embeddings(gvdn, tables):
    trained = gvdn("train", ".", "-o", "model", *QUICK, "--json")
    assert trained.returncode == 0, trained.stderr
    told = {"select", "validation_score", "epoch", "training_nodes", "warnings", "output", "notes"}
    told |= {"test_accuracy", "test_entropy", "test"}
    assert set(json.loads(trained.stdout)) == told
    assert (
        gvdn("perturb", ".", "--kind", "random-connections", "--split", "model/split.csv", "-o", "hurt").returncode == 0
    )
    recovered = gvdn("recover", "model", "hurt", "-o", "healed", "--json")
    assert recovered.returncode == 0, recovered.stderr
    assert json.loads(recovered.stdout)["nodes_with_stored_embedding"] == 1.0
    assert gvdn("predict", "healed", "hurt", "-o", "answers.csv").returncode == 0
    answers = pacsv.read_csv(tables / "answers.csv")
    assert answers.column_names == ["id", "class", "p_left", "p_right", "entropy", "suspicious", "why"]
    assert gvdn("embed", "healed", "hurt", "-o", "embeddings.parquet", "--samples", "3").returncode == 0
    embeddings = pq.read_table(tables / "embeddings.parquet")
    assert embeddings.column_names[4:] == ["entropy", "mutual_information", *(f"h{number}" for number in range(8))]
    assert embeddings["id"].to_pylist()[:2] == ["p00", "p01"]


def test_a_folder_with_the_name_of_a_dataset_gets_the_defaults_and_not_the_settings_of_that_dataset(inside, tmp_path):
    (tmp_path / "cora").mkdir()
    write_tables(tmp_path / "cora")
    assert inside("train", "cora", "-o", "model", *QUICK).returncode == 0
    assert inside("train", "./cora", "-o", "other", *QUICK).returncode == 0
    found = [json.loads((tmp_path / name / "model.json").read_text())["settings"] for name in ("model", "other")]
    assert found[0] == found[1]


def test_a_class_without_a_training_node_and_an_epoch_that_nobody_chose_are_said(inside, tables):
    nodes = tables / "nodes.csv"
    nodes.write_text(nodes.read_text().replace("p39,right", "p39,rare"))
    parts = [f"p{number:02d},{'train' if number % 20 < 5 else 'test'}" for number in range(40)]
    (tables / "parts.csv").write_text("\n".join(["id,part", *parts]) + "\n")
    done = inside("train", ".", "-o", "model", "--split", "parts.csv", *QUICK, "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["training_nodes"] == {"left": 5, "rare": 0, "right": 5}
    assert "no training node has the class 'rare', so it is not learned" in " ".join(told["warnings"])
    assert "there is no validation node, so the last epoch was taken" in told["warnings"]


def test_of_a_poisoned_graph_no_node_uses_what_was_stored_of_it(gvdn, tables):
    gvdn("train", ".", "-o", "model", *QUICK)
    done = gvdn("recover", "model", ".", "-o", "healed", "--poisoned", "--json")
    assert done.returncode == 0, done.stderr
    told = json.loads(done.stdout)
    assert told["nodes_using_it"] == 0.0
    assert told["recovery"]["chosen"] in ("fitted again, judged in turn", "as it is")
    assert told["recovery"]["validation"] > 0
    assert "validation nodes" in told["recovery"]["sentence"]
    assert gvdn("predict", "healed", ".", "-o", "answers.csv").returncode == 0


def test_known_restricts_what_recovery_may_use(gvdn, tables):
    gvdn("train", ".", "-o", "model", *QUICK)
    (tables / "known.csv").write_text("id\np00\np01\np02\np03\n")
    done = gvdn("recover", "model", ".", "-o", "healed", "--known", "known.csv", "--json")
    assert json.loads(done.stdout)["nodes_with_stored_embedding"] == 0.1
    (tables / "known.csv").write_text("id\nnobody\n")
    done = gvdn("recover", "model", ".", "-o", "other", "--known", "known.csv")
    assert (done.returncode, "no node of" in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["train", ".", "-o", "out", "--set", "epcohs=3"], "unknown setting 'epcohs' of gvdn; did you mean 'epochs'"),
        (["train", ".", "-o", "out", "--set", "dropout=2"], "expected dropout in [0, 1), got 2"),
        (["train", ".", "-o", "out", "--set", "epochs=many"], "expected a whole number for epochs of gvdn, got 'many'"),
        (["train", ".", "-o", "out", "--device", "cuda:7"], "this machine has no device cuda:7"),
        (["train", ".", "-o", "out", "--device", "toaster"], "expected a device such as cpu, cuda or cuda:1"),
        (["recover", "nowhere", ".", "-o", "out"], "there is no model in nowhere"),
        (["predict", "nowhere", ".", "-o", "answers.xlsx"], "expected a table ending in .parquet, .csv, .csv.gz"),
        (["train", ".", "-o", "nodes.csv/out"], "cannot write nodes.csv/out"),
        (["demo", "--quick", "-o", "nodes.csv"], "expected a folder for the page, got the file nodes.csv"),
        (["train", "missing.csv", "-o", "out"], "expected a graph, got 'missing.csv'"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(gvdn, tables, words, sentence):
    before = sorted(path.name for path in tables.iterdir())
    done = gvdn(*words)
    assert done.returncode == 2
    assert sentence in done.stderr
    assert done.stderr.count("\n") == 1
    assert sorted(path.name for path in tables.iterdir()) == before


def test_a_setting_that_a_recovery_does_not_read_is_refused(inside, tables, trained):
    done = inside("recover", trained("gtrans"), ".", "-o", "healed", "--set", "epochs=5")
    assert done.returncode == 2
    assert done.stderr == (
        "error: expected a setting that the recovery of gtrans reads, got 'epochs'; did you mean 'recovery_epochs'? "
        "known: recovery_epochs, feature_rate, link_rate, edge_fraction, edge_dropout, block_size\n"
    )
    assert not (tables / "healed").exists()
    done = inside("recover", trained("gtrans"), ".", "-o", "healed", "--set", "recovery_epochs=5")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads((tables / "healed" / "model.json").read_text())["settings"]["recovery_epochs"] == 5


def test_damaged_weights_are_said_with_what_to_do(inside, tables, trained):
    shutil.copytree(trained("gcn"), tables / "broken")
    (tables / "broken" / "weights.safetensors").write_bytes(b"cut")
    done = inside("predict", "broken", ".", "-o", "x.csv")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "the file is damaged, or of another model" in done.stderr
    assert done.stderr.endswith("; copy or train the model again\n")


def test_a_model_that_needs_no_parts_is_not_joined(inside, tables, trained):
    done = inside("join", trained("gcn"), ".", "-o", "x")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "was not trained on parts, so that it can be used as it is" in done.stderr


def test_stopped_training_says_so_and_goes_on_where_it_was(gvdn, tables):
    words = ["train", ".", "-o", "model", "--set", "hidden=8", "--set", "epochs=4000"]
    ours = signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # a shell's background job inherits that it is ignored
    process = subprocess.Popen(
        [sys.executable, "-m", "gvdn", *words], cwd=tables, stderr=subprocess.PIPE, text=True, env=dict(os.environ)
    )
    signal.signal(signal.SIGINT, ours)
    patience = time.monotonic() + 120
    while not list(tables.glob(".model-*.progress.safetensors")) and time.monotonic() < patience:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopped" in errors
    assert "Traceback" not in errors
    assert not (tables / "model").exists()
    assert len(list(tables.glob(".model-*.progress.safetensors"))) == 1
    assert gvdn(*words).returncode == 0
    assert (tables / "model" / "model.json").exists()
    assert not list(tables.glob(".model-*"))


def test_recovery_never_replaces_the_model_it_starts_from(gvdn, tables):
    gvdn("train", ".", "-o", "model", *QUICK)
    done = gvdn("recover", "model", ".", "-o", "model", "--force")
    assert (done.returncode, "is the model itself" in done.stderr) == (2, True)
    assert (tables / "model" / "split.csv").exists()


def test_a_damaged_model_is_refused(gvdn, tables):
    gvdn("train", ".", "-o", "model", *QUICK)
    weights = tables / "model" / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-40] + b"\xff" * 40)
    done = gvdn("predict", "model", ".", "-o", "answers.csv")
    assert (done.returncode, done.stderr.count("\n"), (tables / "answers.csv").exists()) == (2, 1, False)


def test_the_progress_of_another_run_is_not_taken_up(tmp_path):
    from gvdn.files import progress_file

    names = {progress_file(tmp_path / "out", "run", part).name for part in (b"", b"train", b"val")}
    assert len(names) == 3
