"""Small changes to `src`, each of which some test must notice: `python tools/mutants.py --number 200 --seed 0`.

A seeded sample of changes (mutations.py) is made in a copy of the repository, one at a time, and the nearest tests are
asked in the copy, stage by stage, until one fails: the test that mirrors the module, those that import it, those of its
folder, and the slower ones of its layer. Each stage is a fork of this process, which has imported torch and the other
libraries already. There is one JSON line per change; a second run goes on from there and asks again about those that no
test noticed.
"""

from __future__ import annotations

import argparse
import importlib
import json
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from mutations import HERE, Mutant, sample

CPU_SECONDS = 300
"""What one stage may take; a change that makes an endless loop is noticed by whoever waits."""

LIBRARIES = ("torch", "torch_geometric", "sklearn.metrics", "pyarrow.parquet", "matplotlib.figure", "networkx", "typer")
SLOW = ("contract/test_documentation.py", "contract/test_committed_report.py")
NOT_ASKED = ("fuzz", "crash", *SLOW)
SETTINGS = ("contract/test_protocol.py", "contract/test_capabilities.py", "contract/test_values.py")
NUMERICAL = ("reference/test_*.py", "contract/test_methods*.py")
OF_LAYER = {
    "": ("unit/test_*.py", "contract/test_*.py", "reference/test_same_bits.py"),
    "graph": (
        SETTINGS[2],
        "unit/perturbations/test_*.py",
        "contract/test_perturbations.py",
        "cli/test_data.py",
        *NUMERICAL,
    ),
    "data": (*SETTINGS, "contract/test_catalogue.py", "cli/test_data.py", "cli/test_perturb.py"),
    "perturbations": (*SETTINGS, "contract/test_perturbations.py", "reference/test_*.py", "cli/test_perturb.py"),
    "nn": (*SETTINGS, "unit/methods/**/test_*.py", *NUMERICAL),
    "metrics": ("unit/bench/test_*.py", *NUMERICAL),
    "training": ("unit/methods/**/test_*.py", *NUMERICAL),
    "trust": ("unit/methods/**/test_*.py", *NUMERICAL),
    "methods": (*SETTINGS, "unit/methods/**/test_*.py", *NUMERICAL, "cli/test_model.py", "cli/test_methods.py"),
    "study": (SETTINGS[2], "contract/test_specs.py", "unit/bench/test_*.py", "cli/test_bench.py", SLOW[1]),
    "bench": ("cli/test_bench.py", "contract/test_specs.py"),
    "reports": (SETTINGS[2], "unit/paper/test_*.py", "cli/test_bench.py", "cli/test_demo.py", SLOW[1]),
    "paper": ("contract/test_specs.py", "cli/test_bench.py", SLOW[1]),
    "testing": ("contract/test_methods_of_others.py", "contract/test_methods.py"),
    "cli": ("cli/test_*.py", SLOW[0]),
}
"""Layer -> the tests that are asked last."""


def main() -> int:
    given = parse()
    chosen = sample(given.number, given.seed)
    if given.list:
        print(*(f"{one.name}\n    {list(stages(one.path, HERE))}" for one in chosen.values()), sep="\n")
        return 0
    given.output.parent.mkdir(parents=True, exist_ok=True)
    done = {line["key"]: line for line in _lines(given.output) if line["by"]}
    for library in LIBRARIES:
        importlib.import_module(library)
    with tempfile.TemporaryDirectory(prefix="gvdn-mutants-") as scratch:
        copy = copied(Path(scratch))
        for number, (key, one) in enumerate(chosen.items(), start=1):
            if key in done:
                continue
            began = time.perf_counter()
            by = noticed_by(one, copy)
            done[key] = {"key": key, "name": one.name, "by": by, "seconds": round(time.perf_counter() - began, 1)}
            with given.output.open("a") as file:
                file.write(json.dumps(done[key]) + "\n")
            print(f"{number}/{len(chosen)} {one.name}: {by or 'NOT NOTICED'}", flush=True)
    return report({chosen[key].name: done[key]["by"] for key in chosen}, given.share)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=200, help="how many changes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=HERE / "build" / "mutants.jsonl")
    parser.add_argument("--share", type=float, default=0.9, help="exit 1 if fewer than this share is noticed")
    parser.add_argument("--list", action="store_true", help="only list the changes and their tests")
    return parser.parse_args()


def copied(scratch: Path) -> Path:
    """What tests need, without the virtual environment and the history."""
    copy = scratch / "gvdn"
    left_out = shutil.ignore_patterns(".venv", ".git", "__pycache__", "build", "dist", ".*_cache", "_build")
    shutil.copytree(HERE, copy, ignore=left_out, symlinks=True)
    return copy


def noticed_by(one: Mutant, copy: Path) -> str:
    """The first test that fails with the change, or nothing; the copy is as it was at the end."""
    path = copy / one.path
    text = path.read_text()
    path.write_text(one.changed(text))
    try:
        failed = next((failed for tests in stages(one.path, copy) if (failed := first_failure(tests, copy))), "")
    finally:
        path.write_text(text)
    if failed.startswith("tests/"):
        require_passing(failed, copy)
    return failed


@cache
def require_passing(test: str, copy: Path) -> None:
    """End if a test fails without any change: it would notice everything."""
    if first_failure([test], copy):
        raise SystemExit(f"{test} fails without a change; repair it first")


def stages(path: str, root: Path) -> Iterator[list[str]]:
    """The tests to ask about a file of src, nearest first; each test once, no stage empty."""
    asked: set[Path] = set()
    for stage in _stages(path, root / "tests"):
        new = [one for one in dict.fromkeys(stage) if one not in asked and one.exists()]
        asked.update(new)
        if new:
            yield [str(one.relative_to(root)) for one in new]


def _stages(path: str, tests: Path) -> Iterator[list[Path]]:
    inside = Path(path).relative_to("src/gvdn")
    folder, stem = inside.parent, inside.stem
    yield [tests / "unit" / folder / f"test_{stem}.py", tests / "unit" / folder.parent / f"test_{folder.name}.py"]
    if inside.suffix == ".toml":
        yield [tests / "contract" / "test_protocol.py", tests / "contract" / "test_catalogue.py"]
    yield [test for test in _importing(folder, stem, tests) if _asked(test, tests)]
    yield sorted((tests / "unit" / folder).glob("test_*.py")) if folder.parts else []
    last = OF_LAYER[folder.parts[0] if folder.parts else ""]
    yield [test for pattern in last for test in sorted(tests.glob(pattern)) if _asked(test, tests)]
    yield [tests / pattern for pattern in last if pattern in SLOW]


def _importing(folder: Path, stem: str, tests: Path) -> Iterator[Path]:
    """Tests that name the module, or import it from its package."""
    package = re.escape(".".join(["gvdn", *folder.parts]))
    named = rf"\b{package}\.{stem}\b(?!\.)|from {package} import [^\n]*\b{stem}\b"
    if stem == "__init__":
        named = rf"from {package} import"
    for test in sorted(tests.rglob("test_*.py")):
        if re.search(named, test.read_text()):
            yield test


def _asked(test: Path, tests: Path) -> bool:
    return not str(test.relative_to(tests)).startswith(NOT_ASKED)


def first_failure(tests: list[str], copy: Path) -> str:
    """The first test that fails, or nothing; "no end" if they take too long."""
    with tempfile.TemporaryFile("w+") as output:
        child = os.fork()
        if child == 0:
            _run(tests, copy, output.fileno())
        _, status = os.waitpid(child, 0)
        output.seek(0)
        said = output.read()
    if os.WIFSIGNALED(status):
        return "no end" if os.WTERMSIG(status) == signal.SIGXCPU else f"signal {os.WTERMSIG(status)}"
    if os.WEXITSTATUS(status) in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
        return ""
    if os.WEXITSTATUS(status) == pytest.ExitCode.USAGE_ERROR:
        raise SystemExit(said)
    failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", said, re.MULTILINE)
    return failed[1] if failed else said[-200:]


def _run(tests: list[str], copy: Path, output: int) -> None:
    """The tests in this process, which is a fork of its own; it ends here."""
    for number in (1, 2):
        os.dup2(output, number)
    os.chdir(copy)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 10))
    sys.path[:0] = [str(copy / "src"), str(copy / "tests")]
    sys.dont_write_bytecode = True
    os.environ |= {"PYTHONPATH": f"{copy / 'src'}{os.pathsep}{copy / 'tests'}", "PYTHONDONTWRITEBYTECODE": "1"}
    os.environ["OMP_NUM_THREADS"] = os.environ.get("OMP_NUM_THREADS", "1")
    code = 70
    try:
        code = int(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *tests]))
    finally:
        sys.stdout.flush()
        os._exit(code)


def report(noticed: dict[str, str], share: float) -> int:
    survivors = [name for name, by in noticed.items() if not by]
    found = 1 - len(survivors) / max(len(noticed), 1)
    print(f"{len(noticed)} changes, {found:.1%} noticed; those that no test noticed:", *survivors, sep="\n  ")
    return int(found < share)


def _lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


if __name__ == "__main__":
    sys.exit(main())
