"""A random generator that writes down what it was used for, and values that readers find hard."""

from __future__ import annotations

import random
from typing import Any

Note = str


class Chance(random.Random):
    """The generator of one case; `notes` says in words what was done to the valid input."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.notes: list[Note] = []

    def note(self, words: Note) -> None:
        self.notes.append(words)

    def one_in(self, number: int) -> bool:
        return self.randrange(number) == 0

    def number(self) -> int | float:
        return self.choice(NUMBERS)

    def word(self) -> str:
        return self.choice(WORDS)

    def json_value(self) -> Any:
        """A value of a kind that is probably not the one expected."""
        kind = self.randrange(8)
        if kind <= 2:
            return self.number()
        if kind <= 4:
            return self.word()
        return self.choice(
            [None, True, False, [], {}, [[]], [1, "a", None], {"a": 1}, [[1, 2]], {"": {}}, "7", ["x"] * 50]
        )


NUMBERS: list[int | float] = [
    *(0, 1, -1, 2, 3, 7, 100, 127, 128, 255, 256, 65536, 10**6, 10**9, 4_000_000),
    *(2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**53 + 1, 2**62, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**30),
    *(-2, -(2**31), -(2**31) - 1, -(2**63), -(2**63) - 1),
    *(0.0, -0.0, 0.5, 1.5, -0.5, 1e-320, 1e-9, 0.999999, 1e18, 1e38, 3.5e38, 1e39, 1e308),
    *(float("nan"), float("inf"), float("-inf")),
]

WORDS: list[str] = [
    *("", " ", "x", "0", "007", "-1", "1.5", "1e999", "0x10", "nan", "inf", "None", "true", "null"),
    *("[/b]", "a[/b]", "[bold red]x[/]", "[link=http://x]y", "[[", "]", "[/]", "\\[x]"),
    *("\x1b[2J\x1b[31mred", "\x1b]0;title\x07", "\x9b31m", "\x08\x08\x08", "a\rb", "a\nb", "a\tb", "\x7f", "a\x00b"),
    *("<script>alert(1)</script>", "$\\foo$", "$", "{{ 7 * 7 }}", "%s", "{0}", "a,b", '"', "'", "`id`", "=1+1"),
    *("é", "\u202eabc", "\U0001f600", "\u200b", "\ufeff", "ﬀ", "١"),
    *("../../x", "/dev/zero", "/etc/passwd", "C:\\x", "~", "-", "--help"),
    *("x" * 3000, "x" * 100_000, "é" * 5000, "\x1b" * 50),
]
