"""Source files as values: what a module computes, without comments and texts, and which modules it imports.

Nothing is imported to find this out; the files are read and parsed, each once per process.
"""

import ast
import hashlib
from collections.abc import Collection, Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import gvdn

PACKAGE = Path(gvdn.__file__).parent


def with_imports(roots: Collection[str], left_out: Collection[str] = ()) -> frozenset[str]:
    """These modules and all that they import, directly or through others, inside their own packages and gvdn.

    A name that a package only passes on leads to the module that defines it: `from gvdn.graph import Split` means
    `gvdn.graph.split`. Modules that are left out, and packages of modules, are not followed.
    """
    found: set[str] = set()
    waiting = list(roots)
    while waiting:
        module = waiting.pop()
        if module not in found and not _among(module, left_out):
            found.add(module)
            waiting += imported_by(module)
    return frozenset(found)


@cache
def digest(module: str) -> str:
    """A hash of what a module computes: the same for any comments, docstrings, layout and texts of errors."""
    return hashlib.sha256(normalised(_tree(module)).encode()).hexdigest()


def normalised(tree: ast.Module) -> str:
    """A syntax tree as text, without what moves no number.

    That is docstrings (and any other text that stands alone), comments and layout, the arguments of an error that is
    raised, and loops that put names of modules into a registry (`add_lazily`), since one more member
    of a family changes none of the others.
    """
    return " ".join(_words(tree))


@cache
def imported_by(module: str) -> tuple[str, ...]:
    """The modules of gvdn and of its own package that a module imports anywhere in its file, but for types alone."""
    return tuple(dict.fromkeys(_imports(module)))


@cache
def read_source(module: str) -> str:
    """The text of a module's file; empty where there is none, as for a package without an __init__ file."""
    path = _path(module)
    return path.read_text(encoding="utf-8") if path else ""


@cache
def _path(module: str) -> Path | None:
    """The file of a module, found without importing it where it is one of gvdn."""
    first, *rest = module.split(".")
    if first == "gvdn":
        stem = PACKAGE.joinpath(*rest)
        candidates = [stem / "__init__.py", *([stem.with_suffix(".py")] if rest else [])]
        return next((path for path in candidates if path.is_file()), None)
    try:
        spec = find_spec(module)
    except (ImportError, ValueError):
        return None
    return Path(spec.origin) if spec and spec.origin and spec.origin.endswith(".py") else None


def _is_package(module: str) -> bool:
    path = _path(module)
    return path is not None and path.name == "__init__.py"


@cache
def _tree(module: str) -> ast.Module:
    return ast.parse(read_source(module))


def _imports(module: str) -> Iterator[str]:
    inside = ("gvdn", module.partition(".")[0])
    for node in _without_types(_tree(module)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if _among(alias.name, inside))
        elif isinstance(node, ast.ImportFrom) and _among(source := _absolute(node, module), inside):
            yield from (_defines(source, alias.name) for alias in node.names)


def _without_types(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes but those below `if TYPE_CHECKING`."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"):
            yield node
            yield from _without_types(node)


def _absolute(node: ast.ImportFrom, module: str) -> str:
    """The module that names are imported from, also where it is given relative to this one."""
    if not node.level:
        return node.module or ""
    package = module.split(".") if _is_package(module) else module.split(".")[:-1]
    package = package[: len(package) - node.level + 1]
    return ".".join([*package, *([node.module] if node.module else [])])


def _defines(source: str, name: str) -> str:
    """The module that defines a name which is imported from another one."""
    if not _is_package(source):
        return source
    for node in _tree(source).body:
        if isinstance(node, ast.ImportFrom) and (home := _absolute(node, source)) != source:
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    return _defines(home, alias.name)
    below = f"{source}.{name}"
    return below if _path(below) else source


def _among(module: str, packages: Collection[str]) -> bool:
    return any(module == one or module.startswith(f"{one}.") for one in packages)


def _words(node: object) -> Iterator[str]:
    """A tree as words, each node with its fields; what is empty is left out, so that versions of Python agree."""
    if isinstance(node, ast.Raise):
        node = ast.Raise(exc=node.exc.func if isinstance(node.exc, ast.Call) else node.exc)
    if isinstance(node, ast.AST):
        yield f"({type(node).__name__}"
        for name in node._fields:
            value = getattr(node, name, None)
            if isinstance(value, list):
                value = [one for one in value if not _says_nothing(one)] or None
            if value is not None:
                yield name
                yield from _words(value)
        yield ")"
    elif isinstance(node, list):
        yield "["
        for one in node:
            yield from _words(one)
        yield "]"
    else:
        yield repr(node)


def _says_nothing(node: object) -> bool:
    """Whether a statement is a text, `pass`, or a loop that puts names into a registry."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
    return isinstance(node, ast.Pass) or (isinstance(node, ast.For) and _registers(node))


def _registers(loop: ast.For) -> bool:
    """Whether a loop does nothing but put names of modules into a registry."""
    return all(
        isinstance(one, ast.Expr)
        and isinstance(one.value, ast.Call)
        and isinstance(one.value.func, ast.Attribute)
        and one.value.func.attr == "add_lazily"
        for one in loop.body
    )
