"""`gvdn tune`, as a user sees it."""

import json

import pytest

WORDS = ["tune", ".", "--method", "mlp", "--trials", "3", "--set", "epochs=3"]


@pytest.fixture
def parts(tables):
    """The tables, with a split that has enough validation nodes."""
    parts = [f"p{n:02d},{('train', 'val', 'val', 'test')[n % 4]}" for n in range(40)]
    (tables / "parts.csv").write_text("\n".join(["id,part", *parts]) + "\n")
    return tables


def test_the_best_settings_are_printed_ready_to_copy_and_train_takes_them(inside, parts):
    done = inside(*WORDS, "--split", "parts.csv")
    assert (done.returncode, done.stderr) == (0, "")
    assert "mlp on here, accuracy in % on 20 validation nodes" in done.stdout
    assert "as it stands" in done.stdout
    assert "[methods.mlp]\nlearning_rate = " in done.stdout
    assert "written: tuning.jsonl" in done.stdout
    (options,) = (line for line in done.stdout.splitlines() if line.startswith("--set"))
    assert options.count("--set") == 4  # epochs was given, and is not searched
    done = inside("train", ".", "-o", "model", "--method", "mlp", *options.split(), "--set", "epochs=3")
    assert done.returncode == 0, done.stderr


def test_json_has_all_trials_and_a_second_run_runs_nothing(inside, parts, monkeypatch):
    words = [*WORDS, "--split", "parts.csv", "--perturbation", "wrong-links", "-o", "mine.jsonl", "--json"]
    first = json.loads(inside(*words).stdout)
    assert len(first["trials"]) == 3
    assert first["best"]["score"] == max(trial["score"] for trial in first["trials"])
    assert (first["best"]["perturbation"], first["best"]["mode"], first["best"]["nodes"]) == ("wrong-links", "new", 5)
    assert first["as_it_stands"]["trial"] == 0
    assert len((parts / "mine.jsonl").read_text().splitlines()) == 4
    monkeypatch.setattr("gvdn.bench.tuning.search.Search.trial", lambda *words: pytest.fail("ran"))
    assert json.loads(inside(*words).stdout) == first


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--method", "mpl"], "unknown method 'mpl'; did you mean 'mlp'?"),
        (["--mode", "afterward"], "expected --mode new, evasion or poisoning, got 'afterward'"),
        (["--perturbation", "nettack"], "unknown perturbation 'nettack' to tune; known: none, wrong-links"),
        (["--set", "epoch=3"], "unknown setting 'epoch' of gvdn; did you mean 'epochs'?"),
        (["-o", "parts.csv/x.jsonl"], "cannot write parts.csv/x.jsonl"),
    ],
)
def test_a_mistake_is_one_line(inside, parts, words, sentence):
    done = inside("tune", ".", "--split", "parts.csv", *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert sentence in done.stderr
    assert not (parts / "tuning.jsonl").exists()
