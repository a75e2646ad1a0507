"""Small changes to `src`: to a comparison, an operator, a number, a boolean, what is returned, the catalogue."""

from __future__ import annotations

import ast
import hashlib
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parents[1]
SRC = HERE / "src" / "gvdn"

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
        return f"{self.path}:{self.line} {self.kind} {self.old!r} -> {self.new!r}"

    def changed(self, text: str) -> str:
        """The text of the file with the change."""
        assert text[self.start : self.end] == self.old, self
        return text[: self.start] + self.new + text[self.end :]


def sample(number: int, seed: int) -> dict[str, Mutant]:
    """So many changes, by a hash of the changed file; an edit of one file does not exchange the changes of another."""
    ranked = sorted((_rank(seed, one, count), one) for one, count in _counted(all_mutants()))
    return dict(ranked[:number])


def _counted(mutants: Iterator[Mutant]) -> Iterator[tuple[Mutant, int]]:
    seen: Counter[tuple[str, ...]] = Counter()
    for one in mutants:
        yield one, seen[_words(one)]
        seen[_words(one)] += 1


def _rank(seed: int, one: Mutant, count: int) -> str:
    return hashlib.sha256(repr((seed, *_words(one), count)).encode()).hexdigest()


def _words(one: Mutant) -> tuple[str, ...]:
    return (one.path, _line_of(one), one.kind, one.old, one.new)


def _line_of(one: Mutant) -> str:
    text = (HERE / one.path).read_text()
    return text[text.rfind("\n", 0, one.start) + 1 : text.find("\n", one.end)]


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
