"""The same seed gives the same bits as when bits.json was written: a change of the house changes no number."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
PLAIN_CPU = {
    "ATEN_CPU_CAPABILITY": "default",
    "MKL_CBWR": "COMPATIBLE",
    "OPENBLAS_CORETYPE": "Nehalem",
    "OMP_NUM_THREADS": "1",
}
"""One thread and the oldest instructions, so that the last digits do not depend on the processor."""


def test_small_fits_recoveries_and_perturbations_give_the_same_bits_as_ever():
    environment = (
        os.environ | PLAIN_CPU | {"PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE.parents[1] / "src")])}
    )
    done = subprocess.run(
        [sys.executable, HERE / "bits.py"], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    found, known = json.loads(done.stdout), json.loads((HERE / "bits.json").read_text())
    assert found.keys() == known.keys()
    numbers = {name for name, value in known.items() if isinstance(value, list)}
    assert len(numbers) == 2
    for name in numbers:  # the last digit of a square root depends on the processor
        assert found[name] == pytest.approx(known[name], abs=1e-6), name
    assert {name: found[name] for name in known if name not in numbers} == {
        name: value for name, value in known.items() if name not in numbers
    }
