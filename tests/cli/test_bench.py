"""`gvdn bench` on a spec of one's own over a folder of tables."""

import json

import pytest

SPEC = """
title = "mine"
datasets = ["."]
seeds = [0, 1]

[[row]]
method = "mlp"
settings = { epochs = 3, hidden = 4 }
modes = ["evasion", "poisoning"]
"""

FAILING = SPEC + "perturbation_settings = { victim_fraction = 1.0 }\n"
"""There is no room for perturbators, which only the run finds out."""
FAILS = "expected at least 29 candidates for 28 victims and 1 perturbators, got 28; lower victim_fraction or rate"


@pytest.fixture
def spec(tables):
    (tables / "mine.toml").write_text(SPEC)
    return tables / "mine.toml"


def test_the_specs_are_listed(inside):
    names = [one["name"] for one in json.loads(inside("bench", "list", "--json").stdout)]
    assert {"table2", "table3", "figure2"} <= set(names)
    assert "Table 3: ten methods" in inside("bench", "list").stdout


def test_a_spec_is_planned_run_shown_and_not_run_twice(inside, spec):
    before = json.loads(inside("bench", "plan", "mine.toml", "--json").stdout)
    assert [(one["runs"], one["measured"]) for one in before] == [(4, 0)]
    done = inside("bench", "run", "mine.toml", "--workers", "2")
    assert (done.returncode, done.stderr) == (0, "")
    assert "4 runs in" in done.stdout
    assert "0 failed; written: runs/mine.jsonl" in done.stdout
    after = json.loads(inside("bench", "plan", "mine.toml", "--json").stdout)
    assert [(one["runs"], one["measured"], one["failed"], one["seconds_left"]) for one in after] == [(4, 4, 0, 0.0)]
    shown = json.loads(inside("bench", "show", "mine.toml", "--json").stdout)["means"]
    assert [(one["mode"], one["runs"]) for one in shown] == [("evasion", 2), ("poisoning", 2)]
    content = (spec.parent / "runs" / "mine.jsonl").read_bytes()
    assert "0 runs in" in inside("bench", "run", "mine.toml").stdout
    assert (spec.parent / "runs" / "mine.jsonl").read_bytes() == content


def test_records_of_other_and_of_unknown_code_are_told_and_measured_again_when_asked(inside, spec):
    def status():
        (line,) = json.loads(inside("bench", "status", "mine.toml", "--json").stdout)
        return line["present"], line["other"], line["unknown"], line["missing"]

    assert status() == (0, 0, 0, 4)
    inside("bench", "run", "mine.toml")
    assert status() == (4, 0, 0, 0)
    assert "measured with" not in inside("bench", "status", "mine.toml").stdout
    path = spec.parent / "runs" / "mine.jsonl"
    old, older, *rest = [json.loads(line) for line in path.read_text().splitlines()]
    old["code"] = "0" * 12
    del older["code"]
    path.write_text("".join(json.dumps(one) + "\n" for one in (old, older, *rest)))
    assert status() == (2, 1, 1, 0)
    told = inside("bench", "status", "mine.toml").stdout
    assert "measured with other code: 1 run, with unknown code: 1; gvdn bench run mine.toml with --changed" in told
    assert "0 runs in" in inside("bench", "run", "mine.toml").stdout
    assert "1 run in" in inside("bench", "run", "mine.toml", "--changed").stdout
    assert status() == (3, 0, 1, 0)
    assert "1 run in" in inside("bench", "run", "mine.toml", "--unknown", "--changed").stdout
    assert status() == (4, 0, 0, 0)
    assert len(path.read_text().splitlines()) == 6


def test_a_sample_of_other_code_is_measured_and_the_rest_holds_where_it_agrees(inside, spec):
    inside("bench", "run", "mine.toml")
    path = spec.parent / "runs" / "mine.jsonl"
    before = [json.loads(line) | {"code": "0" * 12} for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(one) + "\n" for one in before))
    told = inside("bench", "run", "mine.toml", "--changed", "--sample", "1").stdout
    assert (
        "of other code 2 were measured again, 0 with other numbers; records that hold for the present code: 2 more"
        in told
    )
    assert inside("bench", "status", "mine.toml").stdout.count("measured with") == 0
    kept = [json.loads(line) for line in path.read_text().splitlines()][6:]
    assert [(one["cell"]["seed"], one["measured_with"]) for one in kept] == [(1, "0" * 12)] * 2
    path.write_text("".join(json.dumps(one | {"entropy": 0.5}) + "\n" for one in before))
    told = inside("bench", "run", "mine.toml", "--changed", "--sample", "1").stdout
    assert "2 were measured again, 2 with other numbers; records that hold for the present code: 0 more" in told
    refused = inside("bench", "run", "mine.toml", "--sample", "1")
    assert (refused.returncode, refused.stderr) == (
        2,
        "error: --sample is for --changed; give that too, or leave it out\n",
    )


def test_several_specs_are_one_command_and_a_run_that_both_ask_for_is_measured_once(inside, spec):
    (spec.parent / "yours.toml").write_text(SPEC.replace("seeds = [0, 1]", "seeds = [1, 2]"))
    done = inside("bench", "run", "mine.toml", "yours.toml")
    assert (done.returncode, done.stderr) == (0, "")
    assert [line.partition(" runs")[0] for line in done.stdout.splitlines()] == ["4", "2"]
    assert len((spec.parent / "runs" / "yours.jsonl").read_text().splitlines()) == 2


def test_all_specs_are_planned_at_once_with_a_total(inside):
    lines = json.loads(inside("bench", "plan", "all", "--datasets", "debian", "--json").stdout)
    assert {"table2", "table3", "streaming"} <= {line["spec"] for line in lines}
    assert {line["dataset"] for line in lines} == {"debian"}
    told = inside("bench", "plan", "all", "--datasets", "debian").stdout
    runs = sum(line["runs"] for line in lines)
    assert f"all specs: {runs:,} runs, 0 measured, 0 failed, time left unknown" in " ".join(told.split())


def test_all_methods_are_asked_on_the_graph_that_an_attack_made_also_by_a_later_command(inside, spec):
    attack = """
[common]
perturbation = "nettack"
perturbation_settings = { link_flips = 1, feature_flips = 0, degree_test = false }
"""
    spec.write_text(SPEC.replace("\n[[row]]", attack + "\n[[row]]"))
    (spec.parent / "yours.toml").write_text(spec.read_text().replace("mlp", "gcn"))
    for name in ("mine", "yours"):
        done = inside("bench", "run", f"{name}.toml", "--seeds", "0")
        assert (done.returncode, done.stderr) == (0, "")
    runs = spec.parent / "runs"
    assert len(list((runs / "attacked").glob("*/[!.]*"))) == 1
    records = [json.loads(line) for path in runs.glob("*.jsonl") for line in path.read_text().splitlines()]
    assert [len(records), len({record["graph"] for record in records})] == [4, 1]


def test_a_spec_says_where_its_records_are_and_an_option_says_it_louder(inside, spec):
    (spec.parent / "specs").mkdir()
    text = SPEC.replace('["."]', '[".."]\nrecords = "../results/mine"').replace(', "poisoning"', "")
    (spec.parent / "specs" / "mine.toml").write_text(text)
    done = inside("bench", "run", "specs/mine.toml")
    assert (done.returncode, done.stderr) == (0, "")
    assert "2 runs in" in done.stdout
    assert "written: results/mine/mine.jsonl" in done.stdout
    assert not (spec.parent / "specs" / "runs").exists()
    assert json.loads(inside("bench", "plan", "specs/mine.toml", "--json").stdout)[0]["measured"] == 2
    assert json.loads(inside("bench", "status", "specs/mine.toml", "--json").stdout)[0]["present"] == 2
    assert json.loads(inside("bench", "show", "specs/mine.toml", "--json").stdout)["records"] == "results/mine"
    assert inside("bench", "report", "specs/mine.toml").stdout == "written: specs/mine.html\n"
    other = ("bench", "run", "specs/mine.toml", "--seeds", "0", "--records", "other")
    assert "1 run in" in inside(*other).stdout
    told = " ".join(inside("bench", "show", "specs/mine.toml", "--records", "other").stdout.split())
    assert "1 run is missing and 0 failed: gvdn bench run specs/mine.toml --records other runs what is missing" in told


def test_records_that_a_spec_says_with_no_word_are_refused(inside, spec):
    spec.write_text(SPEC.replace('["."]', '["."]\nrecords = 3'))
    done = inside("bench", "plan", "mine.toml")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "expected text as records of the spec, got 3" in done.stderr


def test_a_failure_is_told_counted_and_tried_again_when_asked(inside, spec):
    spec.write_text(FAILING)
    done = inside("bench", "run", "mine.toml", "--seeds", "0")
    assert done.returncode == 1
    assert "2 runs in" in done.stdout
    assert "2 failed" in done.stdout
    assert FAILS in " ".join(done.stdout.split())
    assert inside("bench", "run", "mine.toml", "--seeds", "0").returncode == 0  # it is there, as a failure
    again = inside("bench", "run", "mine.toml", "--seeds", "0", "--retry")
    assert again.returncode == 1
    assert "2 runs in" in again.stdout
    assert len((spec.parent / "runs" / "mine.jsonl").read_text().splitlines()) == 2  # a failure is told once


def test_a_seed_that_only_some_graphs_have_is_run_on_these(inside, spec):
    spec.write_text(SPEC.replace('["."]', '[".", "debian"]').replace("seeds =", "seeds_on = { debian = [5] }\nseeds ="))
    lines = json.loads(inside("bench", "plan", "mine.toml", "--seeds", "5", "--json").stdout)
    assert [(line["dataset"], line["runs"]) for line in lines] == [("debian", 2)]
    refused = inside("bench", "plan", "mine.toml", "--seeds", "7")
    assert "expected a seed of mine.toml (0, 1 on here; 5 on debian), got 7; name one of these" in refused.stderr
    refused = inside("bench", "plan", "mine.toml", "--seeds", "0", "--datasets", "debian")
    assert "expected a seed of mine.toml (5), got 0; name one of these, or add it there" in refused.stderr


@pytest.mark.parametrize("command", ["show", "report"])
def test_where_all_runs_failed_the_first_error_and_the_way_to_try_again_are_told(command, inside, spec):
    spec.write_text(FAILING)
    inside("bench", "run", "mine.toml", "--seeds", "0")
    done = inside("bench", command, "mine.toml")
    assert (done.returncode, done.stderr) == (
        2,
        f"error: expected scores of mine in runs, got 2 runs that failed, the first with: {FAILS}; repair that, and "
        "gvdn bench run mine.toml --retry tries again\n",
    )


def test_one_run_is_one_run(inside, spec):
    spec.write_text(SPEC.replace(', "poisoning"', ""))
    assert inside("bench", "run", "mine.toml", "--seeds", "1").stdout.startswith("1 run in")
    told = " ".join(inside("bench", "show", "mine.toml").stdout.split())
    assert "1 run is missing and 0 failed: gvdn bench run mine.toml runs what is missing" in told
    with spec.open("a") as row:
        row.write('[[row]]\nmethod = "mlp"\nmodes = ["evasion"]\nperturbation_settings = { victim_fraction = 1.0 }\n')
    inside("bench", "run", "mine.toml", "--seeds", "1")
    told = " ".join(inside("bench", "show", "mine.toml").stdout.split())
    assert "2 runs are missing and 1 failed: gvdn bench run mine.toml runs what is missing, with --retry also" in told


@pytest.mark.parametrize("command", ["plan", "run"])
@pytest.mark.parametrize(
    ("row", "sentence"),
    [
        ('perturbation = "nope"', "mine: unknown perturbation 'nope'; known: dice,"),
        (
            "perturbation_settings = { foo = 1 }",
            "mine: unknown setting 'foo' of random-connections; known: rate,",
        ),
        ('perturbation_settings = { rate = "5" }', "mine: expected a number for rate of random-connections, got '5'"),
        ("settings = { hidden = 0 }", "mine: expected hidden of at least 1, got 0"),
        (
            "perturbation_settings = { rate = 5 }",
            "mine: expected rate of random-connections above 0 and at most 1, got 5",
        ),
        ("settings = { epoch = 3 }", "mine: unknown setting 'epoch' of mlp; did you mean 'epochs'? known: hidden,"),
        ("split = { trian = 0.1 }", "mine: unknown setting 'trian' of the split; did you mean 'train'? known: kind,"),
        (
            'perturbation = "prbcd"\nperturbation_settings = { target = "snapshot" }',
            "mine: expected a target with a gradient into links, got snapshot: its answers are stored ones, and no",
        ),
        (
            'perturbation = "grbcd"\nperturbation_settings = { target = "gcnn" }',
            "mine: unknown method 'gcnn'; did you mean 'gcn'?",
        ),
        (
            'perturbation = "none"\nperturbation_settings = { rate = 0.1 }',
            "mine: expected no settings of the perturbation none, got rate; leave it out",
        ),
    ],
)
def test_what_a_spec_names_is_checked_before_anything_runs(command, row, sentence, inside, spec):
    spec.write_text(SPEC.replace("settings = { epochs = 3, hidden = 4 }", row))
    done = inside("bench", command, "mine.toml")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert sentence in done.stderr
    assert not (spec.parent / "runs").exists()


@pytest.mark.parametrize("command", ["plan", "run"])
def test_settings_that_were_never_tuned_are_refused_before_anything_runs(command, inside, spec):
    spec.write_text(SPEC.replace('["."]', '["."]\nchosen = "tuned"'))
    done = inside("bench", command, "mine.toml")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert "got mlp on here (tuned there: none); run gvdn tune . --method mlp, write what it finds" in done.stderr
    assert not (spec.parent / "runs").exists()


@pytest.mark.parametrize("command", ["plan", "run", "status"])
@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["mine.toml", "--seeds", "77"], "expected a seed of mine.toml (0, 1), got 77; name one of these, or add it"),
        (["mine.toml", "--seeds", "0", "--seeds", "-1"], "expected a seed of mine.toml (0, 1), got -1"),
        (
            ["table3", "--seeds", "99"],
            "expected a seed of table3 (0, 1, 2, 3, 4, 5, 6, 7, 8, 9 on cora, citeseer, pubmed, amazon-photo, "
            "coauthor-cs, debian; 0, 1, 2, 3, 4 on flickr-structure), got 99; name one of these",
        ),
        (
            ["table3", "--datasets", ".", "--seeds", "99"],
            "expected a seed of table3 (0, 1, 2, 3, 4, 5, 6, 7, 8, 9), got 99",
        ),
        (["mine.toml", "--methods", "gcn"], "expected a method of mine.toml (mlp), got gcn; name one of these"),
        (["bound.toml", "--datasets", "."], "no run of bound.toml has all of what was named"),
    ],
)
def test_what_is_not_in_a_spec_is_named_and_nothing_runs(command, words, sentence, inside, spec):
    (spec.parent / "bound.toml").write_text(SPEC.replace('["."]', '[".", "debian"]') + 'datasets = ["debian"]\n')
    done = inside("bench", command, *words)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert sentence in done.stderr
    assert not (spec.parent / "runs").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["run", "tabel2"], "unknown spec 'tabel2'; did you mean 'table2'?"),
        (["run", "mine.toml", "--datasets", "kora"], "unknown dataset 'kora'; did you mean 'cora'?"),
        (["run", "mine.toml", "--methods", "mpl"], "unknown method 'mpl'; did you mean 'mlp'?"),
        (["run", "mine.toml", "--device", "abacus"], "expected a device such as cpu"),
        (["run", "figure9", "--datasets", "debian"], "figure9 is not run on debian; its datasets: cora"),
        (["run", "mine.toml", "--records", "mine.toml"], "expected a folder to write into, got the file mine.toml"),
        (["plan", "figure9", "tabel2"], "unknown spec 'tabel2'; did you mean 'table2'?"),
        (["report", "--records", "nowhere"], "nowhere is not a folder of records; run gvdn bench run SPEC first"),
        (["run", "nowhere.toml"], "there is no file nowhere.toml; give a .toml file"),
        (["report", "--datasets", "."], "--datasets needs a spec; name one"),
        (
            ["report", "mine.toml"],
            "no scores of mine in runs, which does not exist; run gvdn bench run mine.toml first",
        ),
        (["report", "mine.toml", "-o", "mine.toml"], "cannot write mine.toml/report.html"),
        (["show", "mine.toml"], "no scores of mine in runs, which does not exist; run gvdn bench run mine.toml first"),
        (["show", "figure9"], "or give the folder of its records with --records (the paper's are in results/runs of a"),
    ],
)
def test_a_mistake_is_one_line_and_leaves_nothing(words, sentence, inside, spec):
    done = inside("bench", *words)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert sentence in done.stderr
    assert not (spec.parent / "results").exists()
    assert not (spec.parent / "runs").exists()


def test_the_report_is_one_page_with_what_is_there_and_what_is_not(inside, tmp_path):
    (tmp_path / "results" / "runs").mkdir(parents=True)
    done = inside("bench", "report", "-o", "page.html")
    assert (done.returncode, done.stderr) == (0, "")
    page = (tmp_path / "page.html").read_text()
    assert "Table 3: ten methods" in page
    assert "not run" in page.lower()


def test_the_report_of_all_specs_one_by_one_names_what_has_no_records(inside, tmp_path):
    (tmp_path / "results" / "runs").mkdir(parents=True)
    done = inside("bench", "report", "all")
    assert (done.returncode, "no scores of adaptive in results/runs" in " ".join(done.stderr.split())) == (2, True)


def test_markdown_and_pictures_can_be_asked_for_at_once(inside, spec, tmp_path):
    inside("bench", "run", "mine.toml")
    done = inside("bench", "report", "--markdown", "--pictures", "pictures", "--records", "runs")
    assert done.returncode == 0
    assert "### The paper's claims" in done.stdout
    assert not (tmp_path / "results" / "report.html").exists()


def test_a_spec_of_ones_own_over_a_folder_of_ones_own_is_drawn_with_the_same_command(inside, spec, tmp_path):
    inside("bench", "run", "mine.toml")
    done = inside("bench", "report", "mine.toml", "-o", "mine.html")
    assert (done.returncode, done.stderr, done.stdout) == (0, "", "written: mine.html\n")
    page = (tmp_path / "mine.html").read_text()
    assert "mlp" in page
    assert "poisoning" in page
    assert "GVDN" not in page


def test_a_row_without_modes_is_run_in_all_that_its_method_supports(inside, spec):
    spec.write_text(SPEC.replace('modes = ["evasion", "poisoning"]', ""))
    planned = json.loads(inside("bench", "plan", "mine.toml", "--json").stdout)
    assert [one["runs"] for one in planned] == [4]


def test_a_mode_that_a_method_does_not_support_is_refused_before_anything_runs(inside, spec):
    spec.write_text(SPEC.replace("poisoning", "recovered"))
    done = inside("bench", "run", "mine.toml")
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "the method mlp does not support the mode 'recovered'; it supports 'evasion', 'poisoning'" in done.stderr
    assert not (spec.parent / "results").exists()
