"""Settings that a search found are another cell, and another method."""

from dataclasses import replace
from pathlib import Path

import pytest

from gvdn.data import catalogue
from gvdn.errors import InvalidInput
from gvdn.methods import make_method
from gvdn.registry import Registry
from gvdn.study import Cell, Mode, Record, load_spec
from gvdn.study.cell import TUNED

SPEC = 'title = "A study"\ndatasets = ["cora"]\nseeds = [0]\nmethods = ["gcn"]\n'


@pytest.fixture
def tuned(monkeypatch) -> None:
    """A catalogue in which a search found a dropout for Cora."""
    datasets: Registry[catalogue.Dataset] = Registry("dataset")
    cora = replace(catalogue.DATASETS["cora"], methods={"gcn": {"hidden": 24}}, tuned={"gcn": {"dropout": 0.25}})
    datasets.add("cora", cora)
    for module in ("gvdn.methods.contract", "gvdn.methods.base"):
        monkeypatch.setattr(f"{module}.DATASETS", datasets)


def written(folder: Path, more: str) -> Path:
    path = folder / "study.toml"
    path.write_text(SPEC + more)
    return path


def test_a_spec_says_which_settings_its_cells_have(tmp_path):
    cells = [cell for more in ("", 'chosen = "tuned"\n') for cell, _ in load_spec(written(tmp_path, more)).tasks()]
    usual, tuned = cells
    assert (usual.is_tuned, tuned.is_tuned) == (False, True)
    assert usual.key(Mode.EVASION) != tuned.key(Mode.EVASION)
    assert usual.graph_key() != tuned.graph_key()  # attacks go through a method with the same kind of settings
    assert usual == Cell("cora", "gcn", 0)  # its key is what it was


def test_other_words_are_refused(tmp_path):
    with pytest.raises(InvalidInput, match="expected chosen as 'tuned' in the spec, got 'best'"):
        load_spec(written(tmp_path, 'chosen = "best"\n'))


def test_a_record_keeps_it():
    record = Record(cell=Cell("cora", "gcn", 0, chosen=TUNED), mode=Mode.EVASION, error="none")
    assert Record.from_json(record.to_json()) == record
    assert record.to_json()["cell"]["chosen"] == TUNED


def test_a_method_has_what_was_found_and_the_usual_settings_beside_it(tuned):
    usual, found, changed = (
        make_method("gcn", "cora", **how) for how in ({}, {"tuned": True}, {"tuned": True, "dropout": 0.75})
    )
    assert (usual.hidden, found.hidden) == (24, 24)
    assert (usual.dropout, found.dropout, changed.dropout) == (0.5, 0.25, 0.75)


@pytest.mark.parametrize(
    ("method", "dataset", "sentence"),
    [
        ("mlp", "cora", r"tuned on cora \(gcn\), got mlp; run gvdn tune, or leave tuned out"),
        ("gcn", "", r"tuned on a graph without a name \(none\), got gcn; give the name of the dataset"),
    ],
)
def test_the_papers_settings_and_tuned_ones_at_once_are_refused_and_so_is_what_was_not_tuned(
    tuned, method, dataset, sentence
):
    with pytest.raises(InvalidInput, match=sentence):
        make_method(method, dataset, tuned=True)
    with pytest.raises(InvalidInput, match="or those that were tuned, got both; leave one out"):
        make_method("gcn", "cora", tuned=True, paper=True)
