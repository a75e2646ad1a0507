"""Small changes to `src`, each of which some test must notice: `python tools/mutants.py --number 200`.

A seeded sample of changes (a comparison, an operator, a number, a boolean, what is returned) is made in a copy of the
repository, one at a time, and the nearest tests are run there: those that mirror the module's path, and those that name
the module or import from it. What they noticed is written as one JSON line per change; a second run goes on from there.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

HERE = Path(__file__).parents[1]
SRC = HERE / "src" / "gvdn"
TESTS = HERE / "tests"
TIMEOUT_S = 300
NOT_MIRRORED = ("fuzz", "crash")
"""Tests that are too slow to be asked about every change."""

COMPARISONS = {
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.In: "not in",
    ast.NotIn: "in",
    ast.Is: "is not",
    ast.IsNot: "is",
}
OPERATORS = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.FloorDiv: "*",
    ast.Mod: "*",
    ast.BitAnd: "|",
    ast.BitOr: "&",
    ast.Pow: "*",
}
WRITTEN = {
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.And: "and",
    ast.Or: "or",
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.FloorDiv: "//",
    ast.Mod: "%",
    ast.BitAnd: "&",
    ast.BitOr: "|",
    ast.Pow: "**",
}


@dataclass(frozen=True)
class Mutant:
    """One change: the characters from `start` to `end` of a file become `new`."""

    path: str
    line: int
    kind: str
    old: str
    new: str
    start: int
    end: int

    @property
    def name(self) -> str:
        return f"{self.path}:{self.line} {self.kind} {self.old!r} -> {self.new!r} at {self.start}"


def main() -> int:
    given = parse()
    every = sorted(all_mutants(), key=lambda one: one.name)
    chosen = random.Random(given.seed).sample(every, min(given.number, len(every)))
    if given.list:
        print(*(f"{one.name}\t{' '.join(nearest_tests(one.path))}" for one in chosen), sep="\n")
        return 0
    given.output.parent.mkdir(parents=True, exist_ok=True)
    done = {line["name"]: line for line in _lines(given.output)}
    with tempfile.TemporaryDirectory(prefix="gvdn-mutants-") as scratch:
        copy = copied(Path(scratch))
        for number, one in enumerate(chosen, start=1):
            if one.name in done:
                continue
            done[one.name] = tried(one, copy, everything=given.all)
            with given.output.open("a") as file:
                file.write(json.dumps(done[one.name]) + "\n")
            print(f"{number}/{len(chosen)} {done[one.name]['outcome']}: {one.name}", flush=True)
    return report([done[one.name] for one in chosen], given.share)


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--number", type=int, default=200, help="how many changes")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=HERE / "build" / "mutants.jsonl")
    parser.add_argument("--all", action="store_true", help="ask all tests about what the nearest did not notice")
    parser.add_argument("--share", type=float, default=0.9, help="exit 1 if fewer than this share is noticed")
    parser.add_argument("--list", action="store_true", help="only list the changes and their tests")
    return parser.parse_args()


# ---- changes


def all_mutants() -> Iterator[Mutant]:
    for path in sorted(SRC.rglob("*.py")):
        yield from mutants_of(path)
    for path in sorted((SRC / "data" / "datasets").glob("*.toml")):
        yield from _numbers_of_toml(path)


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Every change of a module that the rules know; annotations, docstrings and texts are left alone."""
    text = path.read_text()
    starts = [0]
    for line in text.splitlines(keepends=True):
        starts.append(starts[-1] + len(line))
    lines = text.splitlines(keepends=True)

    def offset(line: int, column: int) -> int:
        """Columns of the syntax tree count bytes."""
        return starts[line - 1] + len(lines[line - 1].encode()[:column].decode())

    def between(left: ast.expr, right: ast.expr, old: str, new: str, kind: str) -> Iterator[Mutant]:
        first = offset(left.end_lineno or 0, left.end_col_offset or 0)
        last = offset(right.lineno, right.col_offset)
        words = r"\s+".join(map(re.escape, old.split()))
        found = re.search(
            rf"(?<![<>=!*/]){words}(?![<>=*/])" if not old[0].isalpha() else rf"\b{words}\b", text[first:last]
        )
        if found:
            yield Mutant(where, left.end_lineno or 0, kind, old, new, first + found.start(), first + found.end())

    where = str(path.relative_to(HERE))
    for node in _code(ast.parse(text)):
        if isinstance(node, ast.Compare):
            for left, sign, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
                yield from between(left, right, WRITTEN[type(sign)], COMPARISONS[type(sign)], "comparison")
        elif isinstance(node, ast.BinOp) and type(node.op) in OPERATORS and not _is_text(node):
            yield from between(node.left, node.right, WRITTEN[type(node.op)], OPERATORS[type(node.op)], "operator")
        elif isinstance(node, ast.BoolOp):
            other = "or" if isinstance(node.op, ast.And) else "and"
            for left, right in zip(node.values, node.values[1:], strict=False):
                yield from between(left, right, WRITTEN[type(node.op)], other, "boolean")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            start = offset(node.lineno, node.col_offset)
            yield Mutant(where, node.lineno, "boolean", "not ", "", start, start + len("not "))
        elif isinstance(node, ast.Constant) and type(node.value) in (int, float, bool):
            start, end = offset(node.lineno, node.col_offset), offset(node.end_lineno or 0, node.end_col_offset or 0)
            kind = "boolean" if isinstance(node.value, bool) else "number"
            yield Mutant(where, node.lineno, kind, text[start:end], _other(node.value), start, end)
        elif isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
            start = offset(node.value.lineno, node.value.col_offset)
            end = offset(node.value.end_lineno or 0, node.value.end_col_offset or 0)
            if text[start:end].count("\n") == 0:
                yield Mutant(where, node.lineno, "return", text[start:end], "None", start, end)


def _code(tree: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run: no annotations, no formatted text, nothing for type checkers alone."""
    for name, value in ast.iter_fields(tree):
        if name in ("annotation", "returns", "type_comment"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, ast.JoinedStr) or _for_checkers(child):
                continue
            yield child
            yield from _code(child)


def _for_checkers(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
    alias = isinstance(node, ast.AnnAssign) and ast.unparse(node.annotation).endswith("TypeAlias")
    return alias or (
        isinstance(node, ast.Assign) and isinstance(node.value, ast.BinOp) and "|" in ast.unparse(node.value)
    )


def _is_text(node: ast.BinOp) -> bool:
    """Whether an operator joins texts, where another one is only an error."""
    parts = (node.left, node.right)
    return any(isinstance(part, ast.JoinedStr | ast.List | ast.Tuple | ast.Dict) or _is_string(part) for part in parts)


def _is_string(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _other(value: float) -> str:
    if isinstance(value, bool):
        return str(not value)
    if isinstance(value, int):
        return str(value + 1)
    return repr(value * 1.5 if value else 0.5)


def _numbers_of_toml(path: Path) -> Iterator[Mutant]:
    """Numbers of the catalogue."""
    text = path.read_text()
    for found in re.finditer(r"^\w+ = ([\d.]+|true|false)$", text, re.MULTILINE):
        old = found[1]
        new = {"true": "false", "false": "true"}.get(old) or _other(float(old) if "." in old else int(old))
        line = text.count("\n", 0, found.start()) + 1
        yield Mutant(str(path.relative_to(HERE)), line, "catalogue", old, new, found.start(1), found.end(1))


# ---- tests


def nearest_tests(path: str) -> list[str]:
    """The mirror of a module first, then the tests that import it or from its room, then those of its room."""
    inside = Path(path).relative_to("src/gvdn")
    room, stem = inside.parent, inside.stem
    module = ".".join(["gvdn", *room.parts, *([] if stem == "__init__" else [stem])])
    mirror = [TESTS / "unit" / room / f"test_{stem}.py", TESTS / "unit" / room.parent / f"test_{room.name}.py"]
    found = [one for one in mirror if one.exists()]
    named = re.compile(rf"\b{re.escape(module)}\b(?!\.)" if stem != "__init__" else rf"from {re.escape(module)} import")
    package = re.compile(rf"from {re.escape('.'.join(['gvdn', *room.parts]))} import [^\n]*\b{re.escape(stem)}\b")
    for test in sorted(TESTS.rglob("test_*.py")):
        text = test.read_text()
        if test.relative_to(TESTS).parts[0] not in NOT_MIRRORED and (named.search(text) or package.search(text)):
            found.append(test)
    if room.parts:
        first = room.parts[0]
        found += sorted((TESTS / "unit" / room).glob("test_*.py"))
        found += sorted((TESTS / "contract").glob(f"test_{first}*.py")) + sorted(
            (TESTS / "cli").glob(f"test_{stem}.py")
        )
        if first == "cli" and not (TESTS / "cli" / f"test_{stem}.py").exists():
            found += sorted((TESTS / "cli").glob("test_*.py"))
    if path.endswith(".toml"):
        found += [TESTS / "unit" / "data" / "test_catalogue.py", TESTS / "contract" / "test_catalogue.py"]
    if not found:
        found = sorted((TESTS / "unit").glob("test_*.py"))
    return list(dict.fromkeys(str(one.relative_to(HERE)) for one in found if one.exists()))


def copied(scratch: Path) -> Path:
    """What tests need, without the virtual environment and the history."""
    copy = scratch / "gvdn"
    left_out = shutil.ignore_patterns(".venv", ".git", "__pycache__", "build", "dist", ".*_cache", "_build")
    shutil.copytree(HERE, copy, ignore=left_out, symlinks=True)
    return copy


def tried(one: Mutant, copy: Path, *, everything: bool) -> dict[str, object]:
    """The change, made in the copy, and whether a test noticed it; the copy is as it was at the end."""
    path = copy / one.path
    text = path.read_text()
    assert text[one.start : one.end] == one.old, one
    tests, began = nearest_tests(one.path), time.perf_counter()
    try:
        path.write_text(text[: one.start] + one.new + text[one.end :])
        outcome, said = _noticed(copy, tests)
        if outcome == "survived" and everything:
            outcome, said = _noticed(copy, ["tests"], *(f"--ignore=tests/{name}" for name in NOT_MIRRORED))
    finally:
        path.write_text(text)
    seconds = round(time.perf_counter() - began, 1)
    return {"name": one.name, "outcome": outcome, "by": said, "seconds": seconds, "tests": tests} | asdict(one)


def _noticed(copy: Path, tests: list[str], *options: str) -> tuple[str, str]:
    env = os.environ | {"PYTHONPATH": f"{copy / 'src'}:{copy / 'tests'}", "PYTHONDONTWRITEBYTECODE": "1"}
    env |= {"OMP_NUM_THREADS": env.get("OMP_NUM_THREADS", "1")}
    words = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *options, *tests]
    try:
        done = subprocess.run(words, cwd=copy, env=env, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    except subprocess.TimeoutExpired:
        return "noticed", "no end"
    if done.returncode in (0, 5):
        return "survived", ""
    failed = re.search(r"^(?:FAILED|ERROR) (.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
    return "noticed", failed[1] if failed else done.stdout[-200:]


def report(lines: list[dict[str, object]], share: float) -> int:
    survived = [line for line in lines if line["outcome"] == "survived"]
    noticed = 1 - len(survived) / max(len(lines), 1)
    print(f"{len(lines)} changes, {noticed:.0%} noticed; those that no test noticed:")
    for line in survived:
        print(f"  {line['path']}:{line['line']} {line['kind']} {line['old']} -> {line['new'] or 'nothing'}")
    return int(noticed < share)


def _lines(path: Path) -> list[dict[str, str]]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


if __name__ == "__main__":
    sys.exit(main())
