"""Build the wheel and the sdist and run the demo from the wheel, outside of the repository, on every supported Python.

`python tools/release_check.py [--python python3.11 --python python3.12]`; an interpreter that is not on this machine is
passed over, and said to be.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from pathlib import Path

HERE = Path(__file__).parents[1]
PYTHONS = ("python3.11", "python3.12")
PIP = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check")
IN_WHEEL = (
    "gvdn/py.typed",
    "gvdn/data/bundled/debian.npz",
    "gvdn/data/bundled/README.md",
    "gvdn/data/datasets/debian.toml",
    "gvdn/reports/map.js",
)
LICENCE = "dist-info/licenses/LICENSE"
IN_SDIST = ("pyproject.toml", "LICENSE", "README.md", "src/gvdn/__init__.py", "tests/conftest.py", "constraints.txt")


class Unavailable(Exception):
    """An interpreter that cannot be checked with here."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", action="append", help="an interpreter to check with; may be repeated")
    given = parser.parse_args()
    failed, ran = [], 0
    with tempfile.TemporaryDirectory(prefix="gvdn-release-") as name:
        folder = Path(name)
        wheel = build(folder)
        for python in given.python or PYTHONS:
            if not runs(python):
                say(f"{python}: not on this machine, passed over")
                continue
            try:
                problem = check(python, wheel, folder / Path(python).name)
            except Unavailable as reason:
                say(f"{python}: {reason}, passed over")
                continue
            say(f"{python}: {problem or 'the demo ran from the wheel'}")
            ran += problem is None
            if problem is not None:
                failed.append(python)
    if not ran and not failed:
        say("no interpreter to check with")
    return int(bool(failed) or not ran)


def build(folder: Path) -> Path:
    """The wheel, built from the sdist, so that the sdist is known to be enough."""
    tools = venv(sys.executable, folder / "tools")
    run(tools, *PIP, "build")
    run(tools, "-m", "build", "--outdir", str(folder / "dist"), str(HERE))
    (wheel,), (sdist,) = (list((folder / "dist").glob(ending)) for ending in ("*.whl", "*.tar.gz"))
    with zipfile.ZipFile(wheel) as archive:
        require((*IN_WHEEL, f"{wheel.name.split('-py')[0]}.{LICENCE}"), archive.namelist(), wheel)
    with tarfile.open(sdist) as archive:
        require(IN_SDIST, [entry.partition("/")[2] for entry in archive.getnames()], sdist)
    say(f"built: {wheel.name} ({wheel.stat().st_size:,} bytes), {sdist.name} ({sdist.stat().st_size:,} bytes)")
    return wheel


def check(python: str, wheel: Path, folder: Path) -> str | None:
    """Install the wheel and run the demo in an empty folder; returns what went wrong."""
    inside = venv(python, folder)
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    try:
        run(inside, *PIP, "-c", str(HERE / "constraints.txt"), "torch")
    except subprocess.CalledProcessError:
        raise Unavailable("the package index has no torch of constraints.txt for it") from None
    try:
        run(inside, *PIP, "-c", str(HERE / "constraints.txt"), str(wheel))
        where = run(inside, "-c", "import gvdn; print(gvdn.__file__)", cwd=elsewhere)
        if not where.startswith(str(folder)):
            return f"gvdn comes from {where.strip()}, not from the wheel"
        run(inside, "-m", "gvdn", "demo", "--quick", cwd=elsewhere)
    except subprocess.CalledProcessError as problem:
        last = (problem.stderr or problem.stdout).strip().splitlines()[-1:]
        return f"failed: {' '.join(map(str, problem.cmd[1:]))}: {''.join(last)}"
    return None


def venv(python: str, folder: Path) -> Path:
    run(Path(python), "-m", "venv", str(folder))
    return folder / "bin" / "python"


def runs(python: str) -> bool:
    try:
        return subprocess.run([python, "--version"], capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def run(python: Path, *words: str, cwd: Path | None = None) -> str:
    env = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "GVDN_DATA", "VIRTUAL_ENV")}
    done = subprocess.run([str(python), *words], cwd=cwd, env=env, capture_output=True, text=True, check=True)
    return done.stdout


def require(wanted: tuple[str, ...], there: list[str], archive: Path) -> None:
    missing = [name for name in wanted if name not in there]
    if missing:
        raise SystemExit(f"{archive.name} lacks {', '.join(missing)}")


def say(sentence: str) -> None:
    print(sentence, flush=True)


if __name__ == "__main__":
    sys.exit(main())
