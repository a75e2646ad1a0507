"""What an attack made is kept for everybody."""

from pathlib import Path

import numpy as np
import pytest

import gvdn
from gvdn.experiments import measure as measuring
from gvdn.experiments.cell import Cell
from gvdn.experiments.encounter import Encounter
from gvdn.experiments.protocol import Meeting
from gvdn.experiments.shared import shared


def test_what_is_there_is_taken_and_not_made_again(ring, tmp_path):
    made = Meeting(ring, np.array([3, 5]))
    first = shared(tmp_path, "one", lambda: made)
    second = shared(tmp_path, "one", lambda: pytest.fail("made again"))
    for meeting in (first, second):
        assert meeting.graph.hash == ring.hash
        assert meeting.scored.tolist() == [3, 5]


def test_of_two_that_make_it_at_once_the_first_counts(ring, tmp_path):
    def overtaken() -> Meeting:
        shared(tmp_path, "one", lambda: Meeting(ring, np.array([1])))
        return Meeting(ring, np.array([2]))

    assert shared(tmp_path, "one", overtaken).scored.tolist() == [1]
    assert [path.name for path in tmp_path.iterdir()] == ["one"]


def test_a_folder_that_cannot_be_made_is_an_error(ring, tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(OSError):
        shared(tmp_path / "file", "one", lambda: Meeting(ring, np.array([1])))


@pytest.fixture
def kept(tmp_path) -> Path:
    (tmp_path / "kept").mkdir()
    return tmp_path / "kept"


def test_every_method_takes_the_graph_that_the_first_one_met(dataset, kept):
    small, given = {"hidden": 4, "epochs": 3}, {"link_flips": 1, "feature_flips": 0, "degree_test": False}
    first = Encounter(Cell(dataset, "mlp", 0, "nettack", given, small), "cpu", kept)
    assert len(list(kept.iterdir())) == 1
    second = Encounter(Cell(dataset, "gcn", 0, "nettack", given, small), "cpu", kept)
    assert len(list(kept.iterdir())) == 1
    assert second.perturbed.hash == first.perturbed.hash != first.clean.hash
    Encounter(Cell(dataset, "gcn", 1, "nettack", given, small), "cpu", kept)
    assert len(list(kept.iterdir())) == 2


def test_what_is_kept_is_kept_for_one_state_of_the_code(dataset, kept, monkeypatch):
    given = {"link_flips": 1, "feature_flips": 0, "degree_test": False}
    cell = Cell(dataset, "mlp", 0, "nettack", given, {"hidden": 4, "epochs": 3})
    for state in ("one", "one", "another"):
        monkeypatch.setattr(measuring, "commit", lambda state=state: state)
        list(measuring.measure(cell, ("afterwards",), kept=kept))
    assert sorted(folder.name for folder in kept.iterdir()) == [
        f"{gvdn.__version__}-another",
        f"{gvdn.__version__}-one",
    ]


def test_what_is_no_attack_is_not_kept(dataset, kept):
    Encounter(Cell(dataset, "mlp", 0, settings={"hidden": 4, "epochs": 3}), "cpu", kept)
    assert not list(kept.iterdir())


def test_an_attack_that_is_stopped_leaves_nothing(kept):
    def stopped() -> Meeting:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shared(kept, "one", stopped)
    assert not list(kept.iterdir())
