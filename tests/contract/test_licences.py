"""What is bundled and what is downloaded says its licence."""

import json
from pathlib import Path

import pytest
from commands import run_inside

import gvdn
from gvdn.data import DATASETS

BUNDLED = Path(gvdn.__file__).parent / "data" / "bundled"


@pytest.mark.parametrize("name", list(DATASETS))
def test_every_dataset_of_the_catalogue_has_a_licence(name):
    assert DATASETS[name].licence


def test_the_bundled_files_have_a_card_that_states_their_licence_and_source():
    card = (BUNDLED / "README.md").read_text()
    licence = card.split("## Licence")[1].split("##")[0]
    files = sorted(path.name for path in BUNDLED.glob("*.npz"))
    assert len(files) == 2
    assert all(f"`{name}`" in licence for name in files)
    assert "MIT" in licence
    assert "package index of Debian" in licence


def test_data_info_prints_the_licence_of_a_named_graph(tmp_path):
    licence = DATASETS["debian"].licence
    assert json.loads(run_inside(tmp_path, "data", "info", "debian", "--json").stdout)["licence"] == licence
    assert licence in run_inside(tmp_path, "data", "info", "debian").stdout
