"""Commands that are killed at some of their file operations and run again; `make crash` kills them at all of them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

RUN = Path(__file__).with_name("run.py")
SCENARIOS = (
    *("train", "train-force", "recover", "recover-force", "perturb", "perturb-force", "nettack", "nettack-force"),
    *("tune", "bench"),
)
KILLS = 2
"""Of each command, at operations that are drawn with a seed."""


@pytest.fixture(scope="module")
def found():
    """A process of its own, since it forks and kills."""
    words = [sys.executable, str(RUN), "--sample", str(KILLS), "--seed", "1", "--json"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=False)
    assert done.stdout, done.stderr
    return json.loads(done.stdout)


def told(found, scenario, *what):
    problems = [one for one in found["problems"] if one["scenario"] == scenario and one["what"] in what]
    return [f"{one['what']} after a kill at {one['at']}: {one['detail']}; {one['repeat']}" for one in problems]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_killed_command_that_is_run_again_ends_with_the_same_bits(found, scenario):
    assert found["counts"][scenario]["kills"] == KILLS
    assert told(found, scenario, "different", "lost", "refused", "orphan") == []


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_killed_command_that_is_run_again_leaves_nothing_behind(found, scenario):
    assert told(found, scenario, "left") == []


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_what_is_replaced_is_deleted_only_after_the_new_is_on_the_disk(found, scenario):
    assert told(found, scenario, "order") == []
