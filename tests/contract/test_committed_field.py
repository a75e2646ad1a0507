"""The table of the field, in README and docs, is what the committed records give."""

import re
from pathlib import Path

import pytest
from benchmark_scripts import script

from gvdn.bench.code import is_present
from gvdn.methods import METHODS, make_method
from gvdn.methods.base import Base
from gvdn.paper.field import ALSO, RECOVERING
from gvdn.study import records_by_key

HERE = Path(__file__).parents[2]


DRAWS = script("field")
GRAPHS = ["cora", "citeseer", "pubmed", "amazon-photo", "coauthor-cs"]


def places(page: str) -> list[str]:
    return [found[1] for found in DRAWS.drawn_pages.place(DRAWS.MARK).finditer((HERE / page).read_text())]


def test_every_piece_has_its_place():
    assert places("README.md") == places("docs/index.md") == ["summary"]
    of_all = ["overall", "picture", "differences", "shared", "certainty", "stronger", "attacked"]
    assert places("docs/field.md") == [*of_all, *GRAPHS]


def test_a_page_with_an_unknown_piece_is_refused():
    with pytest.raises(KeyError, match="nothing"):
        DRAWS.drawn_pages.filled("<!-- field: nothing -->\n<!-- end -->", {}, DRAWS.MARK)


@pytest.fixture(scope="module")
def joined():
    return DRAWS.joined()


@pytest.mark.parametrize("page", DRAWS.PAGES)
def test_the_tables_of_a_page_are_drawn_again_byte_for_byte(page, joined):
    assert DRAWS.drawn(page, joined).encode() == (HERE / page).read_bytes()


def test_the_pictures_are_drawn_again_byte_for_byte(joined):
    drawn = DRAWS.drawn_pictures(joined)
    assert list(drawn) == ["docs/field.svg", *(f"docs/field-{name}.svg" for name in GRAPHS)]
    assert [path for path, svg in drawn.items() if svg.encode() != (HERE / path).read_bytes()] == []
    assert [path for path in drawn if Path(path).name not in (HERE / "docs" / "field.md").read_text()] == []


def test_every_run_of_the_stronger_attacks_is_there():
    joined = DRAWS.joined("stronger")
    assert len(joined.records) == 18 * 2 * 3
    assert set(records_by_key(HERE / "results" / "stronger")) == joined.keys
    assert [one.errors for one in joined.runs if one.errors or one.missing] == []


def test_the_groups_have_the_names_that_the_drawing_knows(joined):
    groups = {row.group for row in joined.spec.rows}
    assert {name for pair in ALSO.items() for name in (pair[0][0], pair[1])} <= groups
    assert list(joined.spec.datasets) == GRAPHS


def test_no_number_of_the_page_is_typed():
    text = DRAWS.drawn_pages.place(DRAWS.MARK).sub("", (HERE / "docs" / "field.md").read_text())
    assert re.findall(r"\d+\.\d+", re.sub(r"arXiv \S+", "", text)) == []


def test_all_methods_had_the_same_graph_and_no_run_failed(joined):
    hashes: dict[str, set[str]] = {}
    for record in joined.records:
        hashes.setdefault(record.cell.graph_key(), set()).add(record.graph)
    assert [key for key, found in hashes.items() if len(found) > 1] == []
    assert [one.errors for one in joined.runs if one.errors] == []


def test_every_run_has_a_record(joined):
    assert [(one.dataset, one.name, one.mode, one.missing) for one in joined.runs if one.missing] == []


def test_the_page_says_that_all_is_of_the_code_as_it_is_as_long_as_it_is_true(joined):
    other = {one.commit for one in joined.records if not is_present(one)}
    said = "All records are of the code as it is" in (HERE / "docs" / "field.md").read_text()
    assert said == (not other), other


def test_every_record_belongs_to_the_spec_and_has_the_settings_that_were_tuned(joined):
    assert set(records_by_key(HERE / "results" / "field")) <= joined.keys
    for record in joined.records:
        cell = record.cell
        given = make_method(cell.method, cell.dataset, tuned=True, **cell.settings).get_params()
        assert {name: value for name, value in record.settings.items() if name != "device"} == {
            name: value for name, value in given.items() if name != "device"
        }


def test_every_defence_is_attacked_through_itself_and_the_signs_are_at_those_that_recover():
    opaque = {name for name in METHODS if METHODS[name].why_opaque not in ("", Base.why_opaque)}
    assert opaque == {"mlp", "snapshot"}
    recovering = {name for name in METHODS if METHODS[name].capabilities.recovers} - {"gvdn", "gcn-retrained"}
    assert recovering == set(RECOVERING)
