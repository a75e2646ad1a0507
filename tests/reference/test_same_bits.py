"""The same seed gives the same bits as when bits.json was written: a change of the house changes no number."""

import json
import os
import subprocess
import sys
from pathlib import Path

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
    assert json.loads(done.stdout) == json.loads((HERE / "bits.json").read_text())
