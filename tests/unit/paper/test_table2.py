import pytest
from made_records import joined_of

from gvdn.paper import load
from gvdn.paper.table2 import compact_table2, table2

SPEC = load("table2")


@pytest.fixture
def joined():
    return joined_of(SPEC, lambda cell, mode: {"accuracy": 0.8 + 0.001 * cell.seed})


def entries(table):
    """(group, line) -> column -> entry."""
    return {(line.group, line.heading): dict(zip(table.columns, line.entries, strict=True)) for line in table.lines}


def test_gvdn_stands_beside_the_paper(joined):
    found = entries(table2(joined)[0])
    cora = found["random-connections", "cora"]
    assert (cora["perturbed"].text, cora["perturbed"].small) == ("80.5 ± 0.3", "paper 48.42, +32.0")
    assert cora["recovered"].small == "paper 82.63, −2.2 ▼"
    assert cora["withheld"].small == ""
    for reading in ("literal", "links-only"):
        assert "paper 72.26" in found[f"information-sparsity, {reading}", "cora"]["perturbed"].small
    assert "paper 29.44" in found["nettack", "cora"]["perturbed"].small


def test_what_is_ours_has_no_paper_value_and_what_was_not_asked_no_line(joined):
    found = entries(table2(joined)[0])
    for line in [("nettack", "debian"), ("random-connections", "flickr-structure")]:
        assert all(entry.small == "" for entry in found[line].values())
    assert ("nettack", "flickr-structure") not in found


def test_the_gcn_is_trained_anew_instead_of_recovered_and_has_no_paper_value(joined):
    gcn = entries(table2(joined)[0])["nettack, gcn instead of gvdn", "cora"]
    texts = {state: entry.text for state, entry in gcn.items()}
    shown = {"clean": "82.0 ± 0.0", "perturbed": "80.5 ± 0.3", "poisoning": "80.5 ± 0.3"}
    assert texts == shown | {"recovered": "not asked", "withheld": "not asked"}
    assert all(entry.small == "" for entry in gcn.values())


def test_gvdn_is_not_trained_anew(joined):
    assert entries(table2(joined)[0])["nettack", "cora"]["poisoning"].text == "not asked"


def test_entropy_has_its_own_table_beside_the_papers_entropy(joined):
    entropy = table2(joined)[1]
    assert "paper 5.98" in entries(entropy)["random-connections", "cora"]["perturbed"].small
    assert entropy.folded


def test_the_compact_table_has_gvdn_alone_with_the_papers_value(joined):
    table = compact_table2(joined)
    found = entries(table)
    assert table.heads == [*SPEC.datasets[:-1], "flickr-structure (simulated features)"]
    cora = {line: cells["cora"] for (group, line), cells in found.items() if group == "random-connections"}
    assert {line: (cell.text, cell.small) for line, cell in cora.items()} == {
        "clean": ("82.0 ± 0.0", "81.43"),
        "perturbed": ("80.5 ± 0.3", "48.42"),
        "recovered": ("80.5 ± 0.3", "82.63"),
        "withheld": ("80.5 ± 0.3", ""),
    }
    assert found["information-sparsity, literal", "recovered"]["debian"].small == ""
    assert ("information-sparsity, literal", "withheld") not in found
    assert found["nettack", "recovered"]["flickr-structure (simulated features)"].text == ""
    assert not any("gcn" in group for group, _ in found)


def test_the_compact_table_leaves_out_a_dataset_that_is_not_finished():
    def say(cell, mode):
        return 0.8 if cell.dataset == "cora" or (cell.dataset == "pubmed" and cell.seed == 0) else None

    assert compact_table2(joined_of(SPEC, say)).columns == ["cora"]


def test_where_no_dataset_is_finished_the_compact_table_has_what_there_is():
    table = compact_table2(joined_of(SPEC, lambda c, mode: 0.8 if c.dataset == "cora" and c.seed == 0 else None))
    assert table.columns == ["cora"]
    assert "(n 1, 82.63)" in table.markdown()
    assert compact_table2(joined_of(SPEC, lambda cell, mode: None)).lines == []


def test_clean_is_that_of_the_fit_that_recovered():
    say = lambda cell, mode: {"accuracy": 0.8, "clean": 0.9 if mode == "recovered" else 0.5}  # noqa: E731
    found = entries(table2(joined_of(SPEC, say))[0])
    assert found["random-connections", "cora"]["clean"].text.startswith("90.0")
    assert found["nettack, gcn instead of gvdn", "cora"]["clean"].text.startswith("50.0")
