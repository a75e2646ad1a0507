"""The pages that are made from the code: every command with its options, every method with its settings."""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def setup(app: Any) -> dict[str, bool]:
    app.connect("builder-inited", _write)
    return {"parallel_read_safe": True}


def _write(app: Any) -> None:
    folder = Path(app.srcdir) / "generated"
    folder.mkdir(exist_ok=True)
    for name, page in {"commands": commands_page(), "methods": methods_page()}.items():
        path = folder / f"{name}.md"
        if not path.exists() or path.read_text(encoding="utf-8") != page:
            path.write_text(page, encoding="utf-8")


def commands_page() -> str:
    """Every command of the command line, from its own help."""
    import typer

    from gvdn.cli.app import app

    root = typer.main.get_command(app)
    parts = ["# Commands", "Made from `gvdn --help` and the help of every command."]
    return "\n\n".join([*parts, *_commands("gvdn", root)]) + "\n"


def _commands(name: str, command: Any) -> Iterator[str]:
    for word, inner in getattr(command, "commands", {}).items():
        full = f"{name} {word}"
        if hasattr(inner, "commands"):
            yield from _commands(full, inner)
            continue
        arguments = [option for option in inner.params if option.param_type_name == "argument"]
        options = [option for option in inner.params if option.param_type_name == "option"]
        usage = " ".join([full, *(one.metavar or one.name.upper() for one in arguments), "[OPTIONS]"])
        yield f"## {full}\n\n```text\n{usage}\n```"
        yield _with_options_as_code(_prose(inner.help or ""))
        for one in (*arguments, *options):
            yield _option(one)


def _option(one: Any) -> str:
    words = ", ".join(f"`{word}`" for word in (one.opts if one.param_type_name == "option" else [one.metavar]))
    default = "" if one.default is None or one.default is False or one.required else f" Default: `{one.default}`."
    needed = " Required." if one.required and one.param_type_name == "option" else ""
    return f"{words}\n: {_with_options_as_code(_prose(one.help or ''))}{needed}{default}"


def _with_options_as_code(text: str) -> str:
    return re.sub(r"(?<!\S)(--[a-z-]+)", r"`\1`", text)


def methods_page() -> str:
    """Every method: what it can do, how it works, its settings, and those for the datasets of the catalogue."""
    from gvdn.data import DATASETS
    from gvdn.methods import METHODS

    parts = [
        "# Methods",
        "Made from the docstrings. `gvdn methods NAME` prints the same. Settings are dataclass fields: "
        '`gvdn.METHODS["rgcn"](hidden=64)`, or `gvdn train --method rgcn --set hidden=64`.',
    ]
    for name, kind in METHODS.items():
        can = kind.capabilities
        abilities = {"recovers": can.recovers, "embeds": can.embeds, "uncertainty": can.uncertainty}
        facts = [
            f"threat models: {', '.join(can.threat_models)}",
            *(word for word, there in abilities.items() if there),
        ]
        facts += ["uses what was computed on the clean graph"] if can.snapshot else []
        parts += [f"## {name}", f"*{'; '.join(facts)}*", _prose(inspect.cleandoc(kind.__doc__ or ""))]
        rows = [f"| `{field.name}` | `{field.default}` |" for field in dataclasses.fields(kind)]
        parts.append("\n".join(["| setting | default |", "|---|---|", *rows]))
        for dataset, known in DATASETS.items():
            if name in known.methods:
                changed = ", ".join(f"`{key}={value}`" for key, value in known.methods[name].items())
                parts.append(f"`{dataset}`: {changed}")
    return "\n\n".join(parts) + "\n"


def _prose(text: str) -> str:
    """A docstring as Markdown: only backticks keep their meaning, and arguments become a list."""
    text, _, arguments = text.partition("Args:\n")
    found = re.split(r"\n(?=    \S)", "\n" + arguments.rstrip()) if arguments else []
    items = [f"- {' '.join(_escaped(one).split())}" for one in found if one.strip()]
    return "\n\n".join([_escaped(text).strip(), "\n".join(items)]).strip()


def _escaped(text: str) -> str:
    spans = re.split(r"(`[^`]*`)", text)
    return "".join(one if one.startswith("`") else re.sub(r"([\\*_<>$|\[\]#~])", r"\\\1", one) for one in spans)
