import os
import subprocess
import sys
from collections.abc import Callable

import pytest


@pytest.fixture
def gvdn(tmp_path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs the command line as a user would: a process of its own, in an empty folder."""

    def run(*words: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "gvdn", *map(str, words)],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "COLUMNS": "120", "NO_COLOR": "1", **(env or {})},
            timeout=300,
            check=False,
        )

    return run
