"""The lock of CI is that of the pins, and the pins fit the ranges that users get."""

import re
import tomllib
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

HERE = Path(__file__).parents[2]
PIN = re.compile(r"^([\w.-]+)==([\w.+!-]+)", re.MULTILINE)


def pins(name: str) -> dict[str, str]:
    found = PIN.findall((HERE / name).read_text())
    assert len(found) > 90
    return {canonicalize_name(package): version for package, version in found}


def test_the_lock_has_every_pin_and_no_other():
    assert pins("requirements-lock.txt") == pins("constraints.txt")


def test_every_pin_of_the_lock_has_a_hash():
    blocks = PIN.split((HERE / "requirements-lock.txt").read_text())[3::3]
    assert len(blocks) == len(pins("constraints.txt"))
    assert all(re.match(r"( \\\n    --hash=sha256:[0-9a-f]{64})+\n", block) for block in blocks)


def test_what_pyproject_asks_for_is_pinned_within_its_range():
    content, known = tomllib.loads((HERE / "pyproject.toml").read_text()), pins("constraints.txt")
    project = content["project"]
    wanted = [*project["dependencies"], *content["build-system"]["requires"]]
    for extra in project["optional-dependencies"].values():
        wanted += extra
    assert len(wanted) > 20
    for one in map(Requirement, wanted):
        assert one.specifier.contains(known[canonicalize_name(one.name)]), one
