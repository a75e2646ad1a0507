"""Where a number comes from: memory, device, versions and the state of the code."""

import gc
import hashlib
import os
import platform
import resource
import subprocess
import sys
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

import torch

import gvdn

PACKAGE = Path(gvdn.__file__).parent
LENGTH = 8
"""Letters of the hash of the sources."""


def origin(device: str) -> dict[str, Any]:
    """Fields of a record; memory is the most that this process has held so far, in MiB."""
    on_gpu = device.startswith("cuda")
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return {
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1),
        "peak_gpu_mib": round(torch.cuda.max_memory_allocated() / 2**20, 1) if on_gpu else None,
        "device": torch.cuda.get_device_name() if on_gpu else f"cpu, {torch.get_num_threads()} threads",
        "gvdn": gvdn.__version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
        "commit": commit(),
    }


def forget_peaks() -> None:
    """Count the memory of this process anew, for records of what comes next; what is free is given back first.

    What is not given back still counts, and where there is no Linux all that was held in main memory does.
    """
    gc.collect()
    if torch.cuda.is_initialized():
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")  # resets the peak of resident memory (proc(5))


@cache
def commit() -> str:
    """The state of the code: GVDN_COMMIT, if it is set, else the commit of the package's folder.

    Where that folder has changes or new files since the commit, or git does not know it, a hash of the package's
    sources and catalogue is added: two states of the code never share a name.
    """
    said = os.environ.get("GVDN_COMMIT")
    if said:
        return said
    known = _git("rev-parse", "--short", "HEAD") if _git("ls-files", "__init__.py") else ""
    if not known:
        return f"unknown-{_of_sources()}"
    return f"{known}-dirty-{_of_sources()}" if _git("status", "--porcelain", "--", ".") else known


def _git(*words: str) -> str:
    """What git prints in the package's folder; nothing where it fails."""
    try:
        return subprocess.run(["git", *words], capture_output=True, text=True, check=False, cwd=PACKAGE).stdout.strip()
    except OSError:
        return ""


def _of_sources() -> str:
    """A hash of every source file of the package, and of its catalogue and specs."""
    found = hashlib.sha256()
    for path in sorted(path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".toml")):
        found.update(f"{path.relative_to(PACKAGE)}\n".encode() + path.read_bytes())
    return found.hexdigest()[:LENGTH]
