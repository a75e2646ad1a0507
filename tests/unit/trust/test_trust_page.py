"""The page about the trust model says what the code does."""

import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType

import pytest

from gvdn.methods.gvdn.choice import WAYS
from gvdn.trust.scene import BY_ROW, OF_ROW, SIGNS, STRUCTURE
from gvdn.trust.simulation import REGIMES

PAGE = (Path(__file__).parents[3] / "docs" / "trust.md").read_text()
CONSTANTS = re.findall(r"^\| `(\w+)\.(\w+)` \| ([\d.]+) \|", PAGE, re.MULTILINE)


def imported(module: str) -> ModuleType:
    room = "methods.gvdn" if module == "choice" else "trust"
    return importlib.import_module(f"gvdn.{room}.{module}")


@pytest.mark.parametrize(("module", "name", "value"), CONSTANTS)
def test_a_constant_has_the_value_of_the_page(module, name, value):
    assert getattr(imported(module), name) == float(value)


@pytest.mark.parametrize(
    "module", ["scene", "regression", "model", "simulation", "choice", "fitting", "front", "sample", "turns"]
)
def test_every_number_with_a_name_is_on_the_page(module):
    code = imported(module)
    lines = re.findall(r"^([A-Z][A-Z_0-9, ]*) = ", inspect.getsource(code), re.MULTILINE)
    names = {name.strip() for line in lines for name in line.split(",")}
    numbers = {name for name in names if isinstance(getattr(code, name), int | float)}
    assert numbers
    assert numbers == {name for where, name, _ in CONSTANTS if where == module}


@pytest.mark.parametrize("name", [*STRUCTURE, *BY_ROW, *OF_ROW, *SIGNS])
def test_every_number_of_a_link_or_row_is_explained(name):
    explained = {part.strip() for row in re.findall(r"^\| ([^|]+) \|", PAGE, re.MULTILINE) for part in row.split(",")}
    assert name in explained


@pytest.mark.parametrize("way", WAYS)
def test_every_way_of_recovery_is_explained(way):
    assert re.search(rf"^\d\. \*{way}\*", PAGE, re.MULTILINE)


def test_the_page_knows_how_many_episodes_there_are():
    assert len(REGIMES) == 12
    assert "There are twelve episodes" in PAGE
