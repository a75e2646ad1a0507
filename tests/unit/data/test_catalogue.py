import pytest

from gvdn.data.catalogue import read_dataset
from gvdn.errors import InvalidInput

GOOD = {"about": '"mine"', "source": '"graphsaint"', "stem": '"mine"', "row_normalise": "false"}


def write(folder, **changes):
    path = folder / "mine.toml"
    path.write_text("\n".join(f"{key} = {value}" for key, value in (GOOD | changes).items() if value))
    return path


def test_a_file_is_a_dataset_of_its_name(tmp_path):
    dataset = read_dataset(write(tmp_path, pyg='["Reddit"]', perturbations="{nettack = {victim_fraction = 0.5}}"))
    assert (dataset.name, dataset.pyg) == ("mine", ("Reddit",))
    assert dataset.perturbations == {"nettack": {"victim_fraction": 0.5}}
    assert read_dataset(write(tmp_path)).pyg == ()


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"row_normalize": "true"}, "mine.toml: unknown key 'row_normalize'; did you mean 'row_normalise'"),
        ({"name": '"other"'}, "mine.toml: unknown key 'name'"),
        ({"stem": None}, "mine.toml: expected the key 'stem', got none"),
        (
            {"source": '"ftp"'},
            "expected source as one of bundled, generated, planetoid, .*, ogb, platonov, got 'ftp'",
        ),
    ],
)
def test_a_mistake_in_a_file_is_a_sentence(tmp_path, changes, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        read_dataset(write(tmp_path, **changes))
