"""What holds for every spec of the paper: it parses, everything it names exists, and none is forgotten."""

import dataclasses
import subprocess
import sys

import pytest

from gvdn.bench.contents import with_contents
from gvdn.bench.modes import supported_modes, with_modes
from gvdn.bench.named import require_known
from gvdn.data import DATASETS
from gvdn.errors import InvalidInput
from gvdn.graph import write_npz
from gvdn.methods.contract import METHODS, make_method
from gvdn.paper import SPECS, TABLE3, load, spec_names
from gvdn.perturbations import PERTURBATIONS
from gvdn.study import Mode, load_spec

NAMES = [
    "adaptive",
    "additions",
    "calibration",
    "datasets",
    "figure2",
    "figure3",
    "figure4",
    "figure5",
    "figure6",
    "figure7",
    "figure8",
    "figure9",
    "noisy-labels",
    "rivals",
    "sparse-labels",
    "streaming",
    "table2",
    "table3",
    "withheld",
]


def test_nineteen_specs_are_there():
    assert spec_names() == NAMES
    assert len(NAMES) == 19


@pytest.fixture(params=NAMES)
def spec(request):
    return load(request.param)


def test_every_name_in_it_is_registered(spec):
    assert spec.rows
    assert set(spec.datasets) <= set(DATASETS)
    for row in spec.rows:
        assert set(row.datasets) <= set(spec.datasets)
        if row.modes != (Mode.COUNTS,):
            assert row.method in METHODS
            make_method(row.method, "cora", **row.settings)  # refuses what it does not know
        if row.perturbation != "none":
            known = PERTURBATIONS[row.perturbation].settings | {"target": None}
            assert set(row.perturbation_settings) <= set(known)


def test_its_methods_support_its_modes(spec):
    assert with_modes(spec) == spec


def test_all_that_it_names_is_known(spec):
    require_known(spec)


def test_no_two_of_its_runs_are_the_same(spec):
    keys = [cell.key(mode) for cell, modes in spec.tasks() for mode in modes]
    assert len(keys) == len(set(keys)) > 0


def test_the_first_comment_is_the_command_that_runs_it(spec):
    assert (SPECS / f"{spec.name}.toml").read_text().startswith(f"# gvdn bench run {spec.name}\n")


def test_the_rows_of_table_3_are_methods_in_every_mode_that_they_support():
    rows = {row.method: row.modes for row in load("table3").rows}
    assert tuple(rows) == TABLE3
    assert set(TABLE3) <= set(METHODS)
    assert rows == {method: supported_modes(method) for method in TABLE3}


def test_a_defence_that_is_registered_adds_no_run_to_the_paper():
    """Specs name their methods: those of the paper's Table 3 and the references."""
    named = {row.method for name in NAMES for row in load(name).rows if row.method}
    assert named == set(TABLE3)
    assert len(TABLE3) == 14 < len(METHODS)


def test_table_3_holds_what_the_paper_prints_for_its_ten_methods():
    paper = load("table3").published
    assert paper["cora"]["gvdn"] == [84.01, 29.57, 21.3]
    assert {len(row) for dataset in paper.values() for row in dataset.values()} == {3}
    assert {len(dataset) for dataset in paper.values()} == {10}


def test_only_some_of_it_can_be_asked_for():
    spec = load("table3")
    tasks = list(spec.on(["cora"]).tasks(methods=["gvdn", "mlp"], seeds=[7]))
    assert [(cell.dataset, cell.method, cell.seed) for cell, _ in tasks] == [("cora", "gvdn", 7), ("cora", "mlp", 7)]


def test_a_dataset_that_is_not_its_own_is_passed_over_and_a_graph_of_ones_own_is_not(tmp_path, barbell):
    spec = load("figure9")
    assert list(spec.on(["debian"]).tasks()) == []
    write_npz(barbell, tmp_path / "mine.npz")
    tasks = list(with_contents(spec.on(["cora", str(tmp_path / "mine.npz")])).tasks())
    assert {(cell.dataset, cell.content) for cell, _ in tasks} == {("cora", ""), ("mine", barbell.hash[:12])}


def test_a_spec_that_leaves_graphs_out_says_why(spec):
    seven = load("table3").datasets
    assert set(spec.datasets) <= set(seven)
    assert bool(spec.left_out) == (set(spec.datasets) < set(seven))


def test_a_sweep_is_one_row_for_each_value():
    rows = [row for row in load("figure4").rows if not row.group]
    assert [row.settings for row in rows] == [
        {"trust": False, "sampler": name} for name in ("none", "random", "major", "degree")
    ]
    assert rows[0].label == "gvdn, sampler none"


def test_planning_imports_no_torch():
    code = (
        "import sys; from gvdn.paper import load, spec_names; from gvdn.study.plan import outlook;"
        "lines = [line for name in spec_names() for line in outlook(load(name).tasks(), {})];"
        "sys.exit('torch' in sys.modules or not lines)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# ---- specs of somebody's own


GOOD = 'title = "t"\ndatasets = ["debian"]\nseeds = [0]\nmethods = ["mlp"]\n'


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (GOOD + "colour = 1", "unknown key 'colour' in the spec"),
        (GOOD.replace("title", "titel"), "unknown key 'titel' in the spec; did you mean 'title'?"),
        ('title = "t"', "expected datasets in the spec, got title"),
        (GOOD + '[[row]]\nmethod = "gcn"\nmodes = ["recoverd"]', "unknown mode 'recoverd'; did you mean 'recovered'"),
        (GOOD + '[[row]]\nlabel = "gcn"', "expected a method in every row"),
        (GOOD + '[[row]]\nmethod = "gcn"\nsetting = 1', "unknown key 'setting' in a row; did you mean 'settings'?"),
        ("title = ", "not a TOML file"),
    ],
)
def test_a_spec_that_is_wrong_is_named_with_its_file(text, sentence, tmp_path):
    (tmp_path / "mine.toml").write_text(text)
    with pytest.raises(InvalidInput, match=r"mine.toml: .*" + sentence.replace("?", r"\?")):
        load_spec(tmp_path / "mine.toml")


def test_a_spec_of_ones_own_is_read_from_its_file(tmp_path):
    (tmp_path / "mine.toml").write_text(GOOD)
    spec = load_spec(tmp_path / "mine.toml")
    assert spec.name == "mine"
    assert [dataclasses.asdict(cell)["method"] for cell, _ in spec.tasks()] == ["mlp"]


def test_withheld_and_calibration_ask_table_3_for_its_runs_and_add_none_but_under_attack():
    there = {cell.key(mode) for cell, modes in load("table3").tasks() for mode in modes}
    added = [
        cell.perturbation
        for name in ("withheld", "calibration")
        for cell, modes in load(name).tasks()
        for mode in modes
        if cell.key(mode) not in there
    ]
    assert set(added) == {"nettack"}


def test_the_papers_dataset_table_and_streaming_seconds_are_inside():
    assert load("datasets").published["cora"]["avg_degree_test"] == 4.99
    assert load("streaming").published["gvdn"]["coauthor-cs"] == 9.31


def test_the_papers_printed_settings_are_its_preset():
    rows = [row for row in load("additions").rows if row.setting("dropout") is not None]
    assert [row.settings for row in rows] == [dict(METHODS["gvdn"].paper_settings)] * 2


def test_rows_of_a_sweep_have_one_series_and_differ_in_one_setting():
    rows = [row for row in load("figure2").rows if row.series == "gat" and row.datasets == ("cora",)]
    assert [row.setting("noise_weight") for row in rows] == [*(n / 10 for n in range(10)), 0.95, 1.0]
    assert {row.setting("aggregator") for row in rows} == {"gat"}


def test_rows_of_one_method_are_told_apart_by_perturbation_and_settings(tmp_path):
    rows = """
[[row]]
method = "gcn"
[[row]]
method = "gcn"
perturbation = "nettack"
[[row]]
method = "gcn"
perturbation = "nettack"
settings = { hidden = 8 }
[[row]]
method = "mlp"
"""
    (tmp_path / "mine.toml").write_text('title = "t"\ndatasets = ["debian"]\nseeds = [0]\n' + rows)
    found = [(row.group, row.label) for row in load_spec(tmp_path / "mine.toml").rows]
    assert found == [
        ("random-connections", "gcn"),
        ("nettack", "gcn"),
        ("nettack", "gcn, hidden 8"),
        ("", "mlp"),
    ]
