"""Three thousand mutated inputs, the same every time: refused in a sentence, or accepted and valid."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).with_name("run.py")
KINDS = ("npz", "tables", "parquet", "receipt", "model", "parts", "records", "spec", "training", "attack", "published")


@pytest.fixture(scope="module")
def found():
    """In a process of its own: it forks, and the type checks of the tests would be findings."""
    words = [sys.executable, str(RUN), "--cases", "3000", "--seed", "12", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def test_every_kind_is_tried(found):
    assert tuple(found["counts"]) == KINDS
    assert sum(sum(counts.values()) for counts in found["counts"].values()) >= 2990


@pytest.mark.parametrize("kind", KINDS)
def test_a_changed_file_is_refused_in_a_sentence_or_valid(found, kind):
    defects = [one for one in found["defects"] if one["kind"] == kind]
    told = [f"{one['outcome']}, {one['what']} in {one['where']}: {one['message']}; {one['repeat']}" for one in defects]
    assert not told, "\n".join(told)


@pytest.mark.parametrize("kind", KINDS)
def test_some_are_refused_and_some_are_valid(found, kind):
    """A reader that refused everything would not be tested, nor one that accepted everything."""
    assert found["counts"][kind].get("refused", 0) > 0
    assert found["counts"][kind].get("valid", 0) > 0


def test_a_case_depends_on_its_kind_seed_and_number_alone(tmp_path):
    def files(folder: str) -> dict[str, bytes]:
        words = [sys.executable, str(RUN), "--seed", "5", "--only", "records:7", "--keep", str(tmp_path / folder)]
        subprocess.run(words, capture_output=True, check=True)
        return {path.name: path.read_bytes() for path in (tmp_path / folder).iterdir()}

    assert files("once") == files("twice")
