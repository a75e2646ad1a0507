"""How tables are printed: no number is cut, on a narrow terminal and where the output is no terminal."""

import pytest

from gvdn.cli.console import print_table

GRAPHS = ["cora", "citeseer", "pubmed", "a graph with a long name", "debian"]
NUMBERS = [[f"{row}{column}.5 ± 1.{column} / 1{row}" for column in range(5)] for row in range(3)]
ROWS = [["random-connections (recovered, withheld)"[: 40 - row], *cells] for row, cells in enumerate(NUMBERS)]


@pytest.fixture
def terminal(monkeypatch, capsys):
    """Prints on a terminal of so many columns and returns the lines; without a number, to no terminal."""

    def lines(columns, *table, **how):
        for name, value in {"COLUMNS": columns or 80, "LINES": 30, "TERM": "dumb", "NO_COLOR": 1}.items():
            monkeypatch.setenv(name, str(value))
        monkeypatch.delenv("FORCE_COLOR", raising=False)
        if columns:
            monkeypatch.setenv("FORCE_COLOR", "1")
        print_table(*table, **how)
        return [line.rstrip() for line in capsys.readouterr().out.splitlines()]

    return lines


@pytest.mark.parametrize("columns", [None, 200, 120, 80, 60, 40])
def test_no_number_is_cut_at_any_width(columns, terminal):
    lines = terminal(columns, "a title", ["", *GRAPHS], ROWS)
    text = "\n".join(lines)
    assert all(cell in text for row in NUMBERS for cell in row)
    assert "…" not in text
    assert max(map(len, lines)) <= (columns or 200)


def test_where_the_output_is_no_terminal_a_row_is_one_line(terminal):
    (line,) = (line for line in terminal(None, "a title", ["", *GRAPHS], ROWS) if "25.5" in line or "24.5" in line)
    assert line.split("  ")[0].strip().startswith(ROWS[2][0])
    assert all(cell in line for cell in NUMBERS[2])


def test_a_terminal_that_is_too_narrow_gets_several_tables_with_the_headings(terminal):
    lines = terminal(80, "a title", ["", *GRAPHS], ROWS, caption="a caption")
    text = "\n".join(lines)
    assert text.count(ROWS[0][0]) == 3
    assert [text.count(word) for word in ("a title", "a caption", "cora", "citeseer", "debian")] == [1] * 5
    assert lines[0] == "a title"
    assert lines[-1] == "a caption"


def test_text_is_broken_between_words_and_stays_in_its_table(terminal):
    words = "what a perturbation does in a sentence that is longer than the terminal is wide, to its end"
    lines = terminal(60, "", ["", "what it does", "runs"], [["nettack", words, "1,234"]], text=(1,))
    assert sum("nettack" in line for line in lines) == 1
    assert " ".join(" ".join(lines).replace("nettack", "").replace("1,234", "").split()).endswith(words)


def test_a_number_that_takes_the_whole_terminal_is_broken_between_words_and_not_cut(terminal):
    lines = terminal(30, "", ["", "cora"], [["a row", "+6.3 [+3.0, +9.6] p 0.095 (poisoning)"]])
    assert all(word in " ".join(lines) for word in ("+6.3", "[+3.0,", "+9.6]", "0.095", "(poisoning)"))
    assert max(map(len, lines)) <= 30
