"""Which records were measured with other code than the present one."""

import ast
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from made_records import record

from gvdn.bench import code, sources
from gvdn.bench.code import code_of, code_status, is_present, methods_of, to_measure_again
from gvdn.data import DATASETS
from gvdn.methods import METHODS
from gvdn.perturbations import PERTURBATIONS
from gvdn.study import Cell, Mode, Record

CACHED = (sources.digest, sources.imported_by, sources._tree, code._hashed)
RGCN, GCN = "gvdn.methods.defences.rgcn", "gvdn.methods.references.gcn"


def cell(method: str = "rgcn", **asked) -> Cell:
    return Cell("cora", method, 0, **asked)


def forget() -> None:
    for one in CACHED:
        one.cache_clear()


@pytest.fixture
def edit(monkeypatch):
    """Change the source of a module, as this process reads it."""
    plain = sources.read_source

    def change(module: str, how) -> None:
        assert how(plain(module)) != plain(module)
        monkeypatch.setattr(sources, "read_source", lambda one: how(plain(one)) if one == module else plain(one))
        forget()

    forget()
    yield change
    monkeypatch.undo()
    forget()


def test_the_source_of_a_method_counts_for_its_records_and_not_for_those_of_another(edit):
    before = {name: code_of(cell(name), Mode.EVASION) for name in METHODS}
    edit(RGCN, lambda text: text + "\nMORE = 1\n")
    after = {name: code_of(cell(name), Mode.EVASION) for name in METHODS}
    assert [name for name in METHODS if before[name] != after[name]] == ["rgcn"]
    assert len(set(before.values())) == len(before)


def test_a_module_that_a_method_imports_through_another_counts(edit):
    before = {name: code_of(cell(name), Mode.EVASION) for name in ("rgcn", "mlp")}
    edit("gvdn.nn.gaussian", lambda text: text + "\nMORE = 1\n")
    assert code_of(cell("rgcn"), Mode.EVASION) != before["rgcn"]
    assert code_of(cell("mlp"), Mode.EVASION) == before["mlp"]


@pytest.mark.parametrize("how", [
    lambda text: text + "\n# a comment\n",
    lambda text: text.replace('"""', '"""Other words. ', 1),
    lambda text: "\n\n" + text,
])  # fmt: skip
def test_comments_and_docstrings_do_not_count(edit, how):
    before = code_of(cell(), Mode.EVASION)
    edit(RGCN, how)
    assert code_of(cell(), Mode.EVASION) == before


def test_the_perturbation_counts_where_it_is_asked_for_and_what_it_goes_through(edit):
    asked = {
        "plain": cell("mlp"),
        "attacked": cell("mlp", perturbation="nettack"),
        "through gcn": cell("mlp", perturbation="prbcd", perturbation_settings={"target": "gcn"}),
        "clean": cell("mlp", perturbation="none"),
    }
    before = {name: code_of(one, Mode.EVASION) for name, one in asked.items()}
    assert len(set(before.values())) == 4
    edit("gvdn.perturbations.nettack.greedy", lambda text: text + "\nMORE = 1\n")
    changed = [name for name, one in asked.items() if code_of(one, Mode.EVASION) != before[name]]
    assert changed == ["attacked"]
    edit(GCN, lambda text: text + "\nMORE = 1\n")
    changed = [name for name, one in asked.items() if code_of(one, Mode.EVASION) != before[name]]
    assert "through gcn" in changed
    assert not {"plain", "clean"} & set(changed)


def test_what_an_attack_sees_of_a_model_counts_for_attacks_through_one_alone(edit):
    attacks = {name: cell("mlp", perturbation=name) for name in PERTURBATIONS}
    before = {name: code_of(one, Mode.EVASION) for name, one in attacks.items()}
    edit(code.WHITE_BOX, lambda text: text + "\nMORE = 1\n")
    changed = {name for name, one in attacks.items() if code_of(one, Mode.EVASION) != before[name]}
    assert changed == {"nettack", "prbcd", "grbcd", "adaptive-prbcd"}


def test_methods_of_a_run_are_its_own_and_those_an_attack_goes_through():
    assert methods_of(cell("mlp", perturbation="nettack"), Mode.EVASION) == ("mlp", "gcn")
    assert methods_of(cell("mlp", perturbation="prbcd"), Mode.EVASION) == ("mlp", "gvdn")
    assert methods_of(cell("gvdn", perturbation="prbcd"), Mode.EVASION) == ("gvdn",)
    assert methods_of(cell("", perturbation="none"), Mode.COUNTS) == ()


def test_the_catalogues_settings_count_for_the_method_and_dataset_that_they_are_of(monkeypatch):
    asked = [cell("rgcn"), cell("mlp"), replace(cell("rgcn"), dataset="pubmed")]
    before = [code_of(one, Mode.EVASION) for one in asked]
    known = DATASETS["cora"]
    other = replace(known, methods={**known.methods, "rgcn": {"hidden": 7}})
    monkeypatch.setattr(code, "DATASETS", {**DATASETS, "cora": other})
    after = [code_of(one, Mode.EVASION) for one in asked]
    assert [a != b for a, b in zip(after, before, strict=True)] == [True, False, False]


def test_how_runs_are_measured_counts_and_what_a_mode_adds_for_that_mode(edit):
    before = {mode: code_of(cell("gvdn"), mode) for mode in (Mode.RECOVERED, Mode.MAPPED, Mode.NEW_TRUSTED)}
    edit("gvdn.bench.maps", lambda text: text + "\nMORE = 1\n")
    assert [code_of(cell("gvdn"), mode) != there for mode, there in before.items()] == [False, True, False]
    edit("gvdn.bench.experiment", lambda text: text + "\nMORE = 1\n")
    assert [code_of(cell("gvdn"), mode) != there for mode, there in before.items()] == [True, True, True]


@pytest.mark.parametrize("module", ["gvdn.bench.poisoned", "gvdn.methods.poisoned", "gvdn.trust.turns"])
def test_trust_in_front_of_a_method_in_poisoning_counts_for_that_mode_alone(edit, module):
    before = {mode: code_of(cell("gcn"), mode) for mode in (Mode.POISONING, Mode.POISONING_TRUSTED)}
    edit(module, lambda text: text + "\nMORE = 1\n")
    assert [code_of(cell("gcn"), mode) != there for mode, there in before.items()] == [False, True]


def test_every_module_that_measures_is_named():
    """A file that `measure` comes to import must be named in `code`, or here as one that moves no number."""
    named = {*code.MEASURING, *code.BESIDES.values(), "gvdn.bench.perturbed"}
    harmless = {"gvdn.bench.origin", "gvdn.bench.code"}
    measuring = ["gvdn.bench.measure", "gvdn.bench.poisoned"]
    found = {one for one in sources.with_imports(measuring) if one.startswith("gvdn.bench.")}
    assert found - named == harmless | {"gvdn.bench.sources", "gvdn.bench.modes"}
    assert all(sources.read_source(module) for module in (*named, *code.SCORING, code.TRUSTED, code.IN_TURN))
    below = {one for one in code.LEFT_OUT if not sources.read_source(one)}
    assert below == set()


def test_what_scores_imports_counts():
    tree = ast.parse(sources.read_source("gvdn.bench.experiment"))
    used = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    homes = {sources._defines("gvdn.metrics", name) for name in used & set(__import__("gvdn.metrics").metrics.__all__)}
    assert homes == {one for one in code.SCORING if one.startswith("gvdn.metrics")}


def test_a_record_is_of_present_other_or_unknown_code():
    asked = cell()
    present = record(asked, Mode.EVASION, code=code_of(asked, Mode.EVASION))
    assert is_present(present) is True
    assert is_present(replace(present, code="0" * 12)) is False
    assert is_present(replace(present, code=None)) is None
    assert is_present(replace(present, cell=cell("no-longer-there"), code="0" * 12)) is False


def test_runs_are_counted_by_their_code_and_chosen_to_be_measured_again():
    cells = [replace(cell(), seed=seed) for seed in range(5)]
    told = [
        record(cells[0], Mode.EVASION, code=code_of(cells[0], Mode.EVASION)),
        record(cells[1], Mode.EVASION, code="0" * 12),
        record(cells[2], Mode.EVASION),
        Record(cell=cells[3], mode=Mode.EVASION, error="broken"),
    ]
    there = {one.key: one for one in told}
    (line,) = code_status([(one, (Mode.EVASION,)) for one in cells], there)
    assert (line.runs, line.present, line.other, line.unknown, line.missing) == (5, 1, 1, 1, 2)
    assert line.commits == {"abc1234"}
    keys = [one.key for one in told]
    assert to_measure_again(there, other=True, unknown=False) == {keys[1]}
    assert to_measure_again(there, other=False, unknown=True) == {keys[2]}
    assert to_measure_again(there, other=False, unknown=False) == set()


def test_it_is_quick_and_imports_no_torch():
    words = "import sys, time; from gvdn.bench.code import code_of; from gvdn.study import Cell, Mode\n"
    words += "began = time.process_time(); code_of(Cell('cora', 'gvdn', 0), Mode.RECOVERED)\n"
    words += "print(time.process_time() - began); sys.exit('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", words], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout) < 2.0
    began = time.perf_counter()
    for seed in range(1000):
        code_of(replace(cell(), seed=seed), Mode.EVASION)
    assert time.perf_counter() - began < 2.0
