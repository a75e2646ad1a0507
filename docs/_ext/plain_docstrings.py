"""Docstrings as prose: outside of backticks and doctests, no character has a special meaning."""

from __future__ import annotations

import re
from typing import Any


def setup(app: Any) -> dict[str, bool]:
    app.connect("autodoc-process-docstring", _escape, priority=100)  # before napoleon
    return {"parallel_read_safe": True}


def _escape(app: Any, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    inside = False
    for number, line in enumerate(lines):
        inside = (inside and bool(line.strip())) or line.lstrip().startswith(">>>")
        if not inside:
            lines[number] = re.sub(r"(`[^`]*`)|([|*_])", lambda found: found[1] or "\\" + found[2], line)
