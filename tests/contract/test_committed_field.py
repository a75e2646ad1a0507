"""The table of the field, in README and docs, is what the committed records give."""

import importlib.util
import re
import sys
from pathlib import Path

import pytest

from gvdn.paper import spec_names
from gvdn.paper.field import ALSO

HERE = Path(__file__).parents[2]


def script():
    """`benchmarks/field.py`, which is no part of the package, with the modules beside it."""
    sys.path.append(str(HERE / "benchmarks"))
    spec = importlib.util.spec_from_file_location("field_of_benchmarks", HERE / "benchmarks" / "field.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DRAWS = script()
GRAPHS = ["cora", "citeseer", "pubmed", "amazon-photo", "coauthor-cs"]
measured = pytest.mark.skipif("field" not in spec_names(), reason="there is no spec called field yet")


def places(page: str) -> list[str]:
    return [found[1] for found in DRAWS.drawn_pages.place(DRAWS.MARK).finditer((HERE / page).read_text())]


@measured
def test_every_piece_has_its_place():
    assert places("README.md") == places("docs/index.md") == ["overall"]
    assert places("docs/field.md") == ["overall", "reading", "picture", *GRAPHS]


@measured
def test_what_another_script_draws_is_left_as_it_is():
    text = (HERE / "README.md").read_text()
    pieces = dict.fromkeys(places("README.md"), "NEW")
    drawn = DRAWS.drawn_pages.filled(text, pieces, DRAWS.MARK)
    assert drawn.count("NEW") == 1
    other = DRAWS.drawn_pages.place("drawn")
    assert other.findall(drawn) == other.findall(text) == ["headline"]
    assert other.search(drawn)[0] == other.search(text)[0]


def test_a_page_with_an_unknown_piece_is_refused():
    with pytest.raises(KeyError, match="nothing"):
        DRAWS.drawn_pages.filled("<!-- field: nothing -->\n<!-- end -->", {}, DRAWS.MARK)


@pytest.fixture(scope="module")
def joined():
    return DRAWS.joined()


@measured
@pytest.mark.parametrize("page", DRAWS.PAGES)
def test_the_tables_of_a_page_are_drawn_again_byte_for_byte(page, joined):
    assert DRAWS.drawn(page, joined).encode() == (HERE / page).read_bytes()


@measured
def test_the_picture_is_drawn_again_byte_for_byte(joined):
    picture = DRAWS.drawn_picture(joined).encode()
    committed = HERE / DRAWS.PICTURE
    assert picture == (committed.read_bytes() if committed.exists() else b"")


@measured
def test_the_groups_have_the_names_that_the_drawing_knows(joined):
    groups = {row.group for row in joined.spec.rows}
    assert {name for pair in ALSO.items() for name in (pair[0][0], pair[1])} <= groups
    assert list(joined.spec.datasets) == GRAPHS


def test_no_number_of_the_page_is_typed():
    text = DRAWS.drawn_pages.place(DRAWS.MARK).sub("", (HERE / "docs" / "field.md").read_text())
    assert re.findall(r"\d+\.\d+", text) == []
