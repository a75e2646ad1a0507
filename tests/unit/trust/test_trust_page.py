"""The page about the trust model says what the code does."""

import importlib
import re
from pathlib import Path

import pytest

from gvdn.trust.scene import BY_ROW, OF_ROW, STRUCTURE

PAGE = (Path(__file__).parents[3] / "docs" / "trust.md").read_text()
CONSTANTS = re.findall(r"^\| `(\w+)\.(\w+)` \| ([\d.]+) \|", PAGE, re.MULTILINE)


@pytest.mark.parametrize(("module", "name", "value"), CONSTANTS)
def test_a_constant_has_the_value_of_the_page(module, name, value):
    assert getattr(importlib.import_module(f"gvdn.trust.{module}"), name) == float(value)


def test_there_are_constants():
    assert len(CONSTANTS) > 10


@pytest.mark.parametrize("name", [*STRUCTURE, *BY_ROW, *OF_ROW])
def test_every_number_of_a_link_or_row_is_explained(name):
    explained = {part.strip() for row in re.findall(r"^\| ([^|]+) \|", PAGE, re.MULTILINE) for part in row.split(",")}
    assert name in explained
