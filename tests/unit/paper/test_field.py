"""The table of the field, on a spec of its form with five methods, two graphs and four groups."""

import re
from dataclasses import replace

import pytest
from drawn_marks import signs
from made_records import joined_of

from gvdn.paper import field_words
from gvdn.paper.field import Field, Who, on_all_graphs, on_shared_graphs
from gvdn.paper.field_tables import attacked_table, dataset_table, overall_table, picture, pictures, pieces
from gvdn.study import Mode, load_spec

SMALL = """
title = "The field: small"
datasets = ["cora", "citeseer"]
seeds = [0, 1]
row = [
    { group = "wrong links", method = "gvdn", perturbation = "wrong-links", modes = ["recovered, new"] },
    { group = "wrong links", method = "gcn", perturbation = "wrong-links", modes = ["new", "new, trusted"] },
    { group = "wrong links", method = "mlp", perturbation = "wrong-links", modes = ["new"] },
    { group = "wrong links", method = "rgcn", perturbation = "wrong-links", modes = ["new", "new, trusted"] },
    { group = "wrong links", method = "gtrans", perturbation = "wrong-links", modes = ["recovered, new"] },
    { group = "PRBCD of a GCN", method = "gcn", perturbation = "prbcd", modes = ["new", "new, trusted"] },
    { group = "PRBCD of a GCN", method = "mlp", perturbation = "prbcd", modes = ["new"] },
    { group = "PRBCD of a GCN", method = "gvdn", perturbation = "prbcd", modes = ["recovered, new"] },
    { group = "PRBCD of a GCN", method = "rgcn", perturbation = "prbcd", modes = ["new"] },
    { group = "PRBCD of a GCN", method = "gtrans", perturbation = "prbcd", modes = ["recovered, new"] },
    { group = "PRBCD of the method", method = "gvdn", perturbation = "prbcd", perturbation_settings = { target = "gvdn" }, modes = ["recovered, new"] },
    { group = "PRBCD of the method", method = "gcn", perturbation = "prbcd", perturbation_settings = { through_trust = true }, modes = ["new, trusted"] },
    { group = "PRBCD of the method", method = "rgcn", perturbation = "prbcd", perturbation_settings = { target = "rgcn" }, modes = ["new"] },
    { group = "PRBCD of the method", method = "gtrans", perturbation = "prbcd", perturbation_settings = { target = "gtrans" }, modes = ["recovered, new"] },
    { group = "poisoning", method = "gvdn", perturbation = "metattack", modes = ["poisoning, recovered"] },
    { group = "poisoning", method = "gcn", perturbation = "metattack", modes = ["poisoning"] },
    { group = "poisoning", method = "mlp", perturbation = "metattack", modes = ["poisoning"] },
    { group = "poisoning", method = "rgcn", perturbation = "metattack", modes = ["poisoning"] },
]
"""  # noqa: E501
RUNS = 4 * (7 + 6 + 4 + 4)

CLEAN = {"gvdn": 0.84, "gcn": 0.82, "mlp": 0.64, "rgcn": 0.82, "gtrans": 0.81}
ATTACKED = {"gvdn": 0.80, "gcn": 0.50, "mlp": 0.60, "rgcn": 0.55, "gtrans": 0.70}
POISONED = {"gvdn": 0.40, "gcn": 0.60, "mlp": 0.60, "rgcn": 0.75}
OVERALL = ["clean", "wrong links", "wrong links, trust in front", "PRBCD of a GCN", "PRBCD of the method"]
OVERALL += ["poisoning", "mean rank", "mean rank, evasion", "given"]


@pytest.fixture
def spec(tmp_path):
    (tmp_path / "field.toml").write_text(SMALL)
    return load_spec(tmp_path / "field.toml", own=False)


def say(cell, mode):
    """The same on both graphs; seeds differ by two points."""
    if "poisoning" in mode:
        accuracy = POISONED[cell.method]
    else:
        accuracy = 0.78 if mode == Mode.NEW_TRUSTED else ATTACKED[cell.method]
    return {"accuracy": accuracy + 0.02 * cell.seed, "clean": CLEAN[cell.method]}


@pytest.fixture
def field(spec):
    return Field(joined_of(spec, say))


def said(field):
    """The paragraph under the table."""
    return field_words.paragraph(on_all_graphs(field.joined), on_shared_graphs(field.joined))


def lines(table):
    """Name of a line -> column -> entry."""
    return {line.heading: dict(zip(table.columns, line.entries, strict=True)) for line in table.lines}


def test_columns_are_clean_and_the_groups_and_what_several_methods_have_in_front(field):
    assert overall_table(field).columns == OVERALL
    assert len(field.pairs) == 2 * 5
    assert len(field.evasion()) == 2 * 3


def test_a_method_with_trust_in_front_under_every_evasion_attack_is_a_line_of_its_own(field):
    assert [who.name for who in field.who] == ["gvdn", "gcn", "mlp", "rgcn", "gtrans", "gcn with trust in front"]


def test_numbers_are_the_means_of_the_records(field):
    found = lines(overall_table(field))
    assert [found["gvdn"][column].text for column in OVERALL[:2]] == ["84.0", "81.0"]
    assert found["gcn"]["wrong links, trust in front"].text == "79.0"
    assert found["gcn with trust in front"]["wrong links"].text == "79.0"
    assert found["gvdn"]["poisoning"].text == "41.0"
    one = lines(dataset_table(field, "cora"))
    assert one["gvdn"]["wrong links"].text == "81.0 ± 1.4"
    assert one["gvdn"]["wrong links"].best
    assert not one["gcn"]["wrong links"].best


def test_the_attack_of_a_gcn_is_that_of_the_method_for_a_gcn_and_an_mlp_but_not_with_trust_in_front(field):
    found = lines(overall_table(field))
    for name in ("gcn", "mlp"):
        assert found[name]["PRBCD of the method"].text == found[name]["PRBCD of a GCN"].text != "–"
    bare = replace(field.joined, runs=[one for one in field.joined.runs if not one.row.setting("through_trust")])
    assert Field(bare).runs(Who("gcn", "trust in front"), field.columns[3], "cora") is None


def test_equal_means_share_a_rank(field):
    """Clean: gvdn 1, gcn, the same with trust in front, and rgcn 3, gtrans 5, mlp 6.

    Poisoning: rgcn 1, gcn and mlp 2.5, gvdn 4.
    """
    placed = {title: field.mean_ranks([pair for pair in field.pairs if pair[1].title == title]) for title in OVERALL}
    clean = {name: rank.mean for name, rank in placed["clean"].items()}
    assert clean == {"gvdn": 1, "gcn": 3, "rgcn": 3, "gcn with trust in front": 3, "gtrans": 5, "mlp": 6}
    poisoned = {name: rank.mean for name, rank in placed["poisoning"].items()}
    assert poisoned == {"rgcn": 1, "gcn": 2.5, "mlp": 2.5, "gvdn": 4}


def test_mean_ranks_by_hand(field):
    """Clean and poisoning as above; under three evasion attacks each: gvdn 1, gcn with trust 2, gtrans 3, mlp 4, rgcn
    5, gcn 6."""
    found = {name: (rank.mean, rank.n) for name, rank in field.overall.items()}
    assert found == {
        "gvdn": (pytest.approx((1 + 3 * 1 + 4) / 5), 10),
        "gcn": (pytest.approx((3 + 3 * 6 + 2.5) / 5), 10),
        "mlp": (pytest.approx((6 + 3 * 4 + 2.5) / 5), 10),
        "rgcn": (pytest.approx((3 + 3 * 5 + 1) / 5), 10),
        "gtrans": (pytest.approx((5 + 3 * 3) / 4), 8),
        "gcn with trust in front": (pytest.approx((3 + 3 * 2) / 4), 8),
    }


def test_who_does_not_support_a_column_is_marked_and_stands_below_the_others(field):
    table = overall_table(field)
    assert [line.heading for line in table.lines] == ["gvdn", "rgcn", "mlp", "gcn", "gcn with trust in front", "gtrans"]
    found = lines(table)
    assert found["gtrans"]["poisoning"].text == "n/a"
    assert (found["gtrans"]["mean rank"].text, found["gtrans"]["mean rank"].small) == ("3.50", "8 of 10")
    assert found["gvdn"]["mean rank"].small == ""
    assert [name for name, entries in found.items() if entries["mean rank"].best] == ["gvdn"]


def test_what_was_given_stands_in_every_line(field):
    given = {name: entries["given"].text for name, entries in lines(overall_table(field)).items()}
    assert {name: given[name] for name in ("gvdn", "gcn", "mlp")} == {"gvdn": "G S T", "gcn": "G", "mlp": "F"}
    assert given["gcn with trust in front"] == "G S"


def test_missing_runs_are_dashes_and_the_others_are_ranked(spec):
    def some(cell, mode):
        if cell.method == "rgcn" and (cell.dataset == "citeseer" or "trusted" in mode):
            return None
        return None if cell.method == "mlp" and cell.seed == 1 else say(cell, mode)

    field = Field(joined_of(spec, some))
    assert field.counts("cora") == [1, 2]  # the MLP lacks a seed, and is not in every group
    found = lines(overall_table(field))
    assert (found["rgcn"]["wrong links"].text, found["rgcn"]["wrong links"].small) == ("55.0", "1 of 2 graphs")
    assert found["rgcn"]["wrong links, trust in front"].text == "–"
    assert found["rgcn"]["mean rank"].small == "5 of 10"
    one = lines(dataset_table(field, "citeseer"))
    assert one["rgcn"]["clean"].text == "–"
    assert one["rgcn"]["mean rank"].text == "–"
    assert (one["mlp"]["clean"].text, one["mlp"]["clean"].small) == ("64.0", "n 1")
    alone = field.mean_ranks([pair for pair in field.pairs if pair[0] == "citeseer" and pair[1].title == "poisoning"])
    assert {name: rank.mean for name, rank in alone.items()} == {"gcn": 1.5, "mlp": 1.5, "gvdn": 3}
    missing = 2 * (2 + 1 + 1 + 1) + 2 + 2 * 3
    assert f"{RUNS - missing} of {RUNS} runs were made; shown are the seeds" in said(field)


def test_a_seed_that_one_method_lacks_in_one_column_is_shown_in_the_others(spec):
    def some(cell, mode):
        return None if (cell.method, cell.perturbation, cell.seed) == ("mlp", "metattack", 1) else say(cell, mode)

    field = Field(joined_of(spec, some))
    assert field.counts("cora") == [1, 2]
    one = lines(dataset_table(field, "cora"))
    assert (one["gcn"]["poisoning"].text, one["gcn"]["poisoning"].small) == ("60.0", "n 1")
    assert (one["mlp"]["wrong links"].text, one["mlp"]["wrong links"].small) == ("61.0 ± 1.4", "")
    assert "mean over 1 or 2 seeds, then over cora and citeseer." in pieces(field.joined)["overall"]


def test_a_graph_with_other_seeds_than_the_rest_is_named(spec):
    joined = joined_of(
        spec, lambda cell, mode: None if (cell.dataset, cell.seed) == ("citeseer", 1) else say(cell, mode)
    )
    assert "mean over 2 seeds (1 on citeseer), then over cora and citeseer." in pieces(joined)["overall"]


def test_a_mean_over_fewer_graphs_is_not_the_highest_of_a_column(spec):
    def better(cell, mode):
        if cell.method != "rgcn":
            return say(cell, mode)
        return None if cell.dataset == "citeseer" else {"accuracy": 0.9}

    field = Field(joined_of(spec, better))
    assert "of gcn in poisoning; of mlp in poisoning." in said(field)
    found = lines(overall_table(field))
    assert float(found["rgcn"]["wrong links"].text) > float(found["gvdn"]["wrong links"].text)
    assert found["gvdn"]["wrong links"].best
    assert not found["rgcn"]["wrong links"].best


def test_a_run_that_failed_is_said(spec):
    field = Field(joined_of(spec, lambda c, m: {"error": "no memory"} if c.method == "rgcn" else say(c, m)))
    assert lines(dataset_table(field, "cora"))["rgcn"]["clean"].text == "failed"
    assert lines(overall_table(field))["rgcn"]["clean"].text == "failed"
    assert "rgcn" not in field.overall


def test_the_paragraph_says_who_is_first_and_where_ours_is_not(field):
    text = said(field)
    assert "Of the 4 lines that have all 10 comparisons (a graph and a column), gvdn has the best mean" in text
    assert "(1.60), before rgcn (3.80) and mlp (4.10)." in text
    assert (
        "Under evasion alone, 6 comparisons and 6 lines, gvdn has the best mean rank (1.00), before gcn with trust"
        in text
    )
    assert "Graph by graph gvdn is number 1 on cora and 1 on citeseer." in text
    assert "gvdn has the highest mean in 8 of the 10 comparisons" in text
    led = "of gvdn in clean, wrong links, PRBCD of a GCN and PRBCD of the method; of rgcn in poisoning."
    assert f"The highest mean over the graphs is that {led}" in text
    assert "over cora and citeseer, the mean is higher for 2 of 2 methods under wrong links (+25.5 points" in text
    assert text.endswith(f"All {RUNS} runs of the table were made.")


def test_a_plain_gcn_with_trust_in_front_under_every_attack_is_ranked_among_them(tmp_path):
    """In poisoning it is 10 points above the best of the others, under evasion 2 below ours."""
    alone = 'method = "gcn", perturbation = "metattack", modes = ["poisoning"'
    (tmp_path / "field.toml").write_text(SMALL.replace(alone, f'{alone}, "poisoning, trusted"'))

    def ahead(cell, mode):
        return say(cell, mode) | ({"accuracy": 0.85} if mode == Mode.POISONING_TRUSTED else {})

    found = Field(joined_of(load_spec(tmp_path / "field.toml", own=False), ahead))
    trusted = lines(overall_table(found))["gcn with trust in front"]
    assert trusted["poisoning"].text == "85.0"
    assert trusted["clean"].text == "82.0", "that of the method alone"
    first = "gcn with trust in front has the best mean rank (1.75), before gvdn (2.00) and mlp (3.88)."
    assert f"Under attack alone, 8 comparisons and 5 lines, {first}" in said(found)


def test_the_paragraph_says_where_the_lines_with_trust_are_ahead(spec):
    def say_so(ahead):
        of = {Mode.NEW_TRUSTED: 0.9, Mode.RECOVERED_NEW: 0.9}
        return lambda cell, mode: say(cell, mode) | ({"accuracy": of[mode]} if ahead(cell) and mode in of else {})

    start = "columns, the highest means are those of gvdn and gcn with trust in front, the lines with trust."
    everywhere = say_so(lambda cell: cell.method != "gtrans")
    assert f"Under attack, in 3 of 4 {start}" in said(Field(joined_of(spec, everywhere))), "trust is not in poisoning"
    once = say_so(lambda cell: cell.method == "gtrans" and cell.perturbation == "wrong-links")
    assert f"Under attack, in 2 of 4 {start}" in said(Field(joined_of(spec, once)))
    assert "the lines with trust" not in said(Field(joined_of(spec, lambda cell, mode: {"accuracy": 0.5})))


def test_the_paragraph_says_that_another_is_first(spec):
    def worse(cell, mode):
        return say(cell, mode) | ({"accuracy": 0.1, "clean": 0.1} if cell.method == "gvdn" else {})

    text = said(Field(joined_of(spec, worse)))
    assert "rgcn has the best mean rank (" in text
    assert "; gvdn is number 4 with " in text
    assert "gvdn has the highest mean in 0 of the 10 comparisons" in text


def test_two_that_are_first_share_it(spec):
    def equal(cell, mode):
        return {"accuracy": 0.7, "clean": 0.7} if cell.method in ("gvdn", "mlp") else {"accuracy": 0.6, "clean": 0.6}

    text = said(Field(joined_of(spec, equal)))
    assert "gvdn and mlp share the best mean rank (1.50), before " in text
    assert "gvdn has the highest mean in 10 of the 10 comparisons that it has with another method." in text
    columns = "clean, wrong links, PRBCD of a GCN, PRBCD of the method and poisoning"
    assert f"The highest mean over the graphs is that of gvdn in {columns}; of mlp in {columns}." in text


@pytest.mark.parametrize(
    ("trusted", "judged"),
    [
        ({0: 0.805, 1: 0.819}, "−0.3 points (95 % interval over 4 seeds"),
        ({0: 0.90, 1: 0.92}, "it is better"),
        ({0: 0.70, 1: 0.72}, "it is worse"),
        ({0: 0.70, 1: 0.92}, "which of the two is better cannot be told"),
    ],
)
def test_whether_a_plain_gcn_with_trust_is_level(spec, trusted, judged):
    def front(cell, mode):
        seed = cell.seed % 2
        if mode == Mode.NEW_TRUSTED and cell.method == "gcn":
            return {"accuracy": trusted[seed] + 0.001 * (cell.seed // 2)}
        return say(replace(cell, seed=seed), mode)

    text = said(Field(joined_of(replace(spec, seeds=(0, 1, 2, 3)), front)))
    (sentence,) = re.findall(
        r"Over the 8 comparisons that both have, gcn with trust in front minus gvdn is .*?\. ", text
    )
    assert judged in sentence
    assert ("the two are level, within 1 point" in sentence) == judged.startswith("−0.3")


def test_one_seed_gives_no_interval_and_no_verdict(spec):
    text = said(Field(joined_of(replace(spec, seeds=(0,)), say)))
    assert "minus gvdn is −2.0 points (no interval: one seed is there on all graphs)" in text


def test_pieces_of_pages(spec, field):
    found = pieces(field.joined)
    assert set(found) == {
        "summary",
        "overall",
        "picture",
        "differences",
        "shared",
        "certainty",
        "attacked",
        "cora",
        "citeseer",
    }
    rows = [line for line in found["overall"].splitlines() if line.startswith("|")]
    assert len(rows) == 2 + 6
    assert {row.count(" | ") for row in rows} == {len(OVERALL)}
    start = (
        "**5 methods under 4 attacks**: accuracy in % on the victims, mean over 2 seeds, then over cora and citeseer."
    )
    assert found["overall"].startswith(start)
    assert found["overall"].endswith(said(field))
    assert [line for line in found["summary"].splitlines() if line.startswith("|")] == rows
    short = found["summary"].rsplit("\n\n", 1)[1]
    assert set(short.split(". ")) < set(said(field).split(". ")), "the first page says less, and nothing else"
    shown, table = found["cora"].split("\n\n")
    assert (shown, table[:12]) == ("![cora: accuracy under every attack](field-cora.svg)", "|  | clean |")
    assert "field.svg" in found["picture"]


def test_a_method_that_was_run_on_fewer_graphs_is_compared_on_those_alone(spec):
    fewer = [replace(row, datasets=("cora",)) if row.method == "rgcn" else row for row in spec.rows]
    joined = joined_of(
        replace(spec, rows=tuple(fewer)), lambda c, m: {"accuracy": 0.99} if c.method == "rgcn" else say(c, m)
    )
    everywhere, shared = on_all_graphs(joined), on_shared_graphs(joined)
    assert (everywhere.datasets, shared.datasets) == (["cora", "citeseer"], ["cora"])
    assert "rgcn" not in {who.method for who in everywhere.who}
    assert lines(overall_table(shared))["rgcn"]["wrong links"].text == "99.0"
    assert everywhere.title == "4 methods under 4 attacks"
    found = pieces(joined)
    assert "| rgcn |" not in found["overall"]
    assert "| rgcn |" in found["shared"]
    assert found["shared"].startswith("**5 methods under 4 attacks**: accuracy in % on the victims, mean over 2 seeds,")
    assert ", then over cora.\n" in found["shared"]
    assert "With trust in front, over cora, the mean is higher for 1 of 2 methods under wrong links" in found["overall"]


def test_a_column_of_fewer_graphs_is_shown_on_those_alone(spec):
    fewer = [replace(row, datasets=("cora",)) if row.group == "poisoning" else row for row in spec.rows]
    joined = joined_of(replace(spec, rows=tuple(fewer)), say)
    assert [column.title for column in on_all_graphs(joined).columns] == ["clean", *OVERALL[1:2], *OVERALL[3:5]]
    assert "poisoning" not in dataset_table(Field(joined), "citeseer").columns
    assert "poisoning" in dataset_table(Field(joined), "cora").columns
    assert "poisoning" in overall_table(Field(joined)).columns


def test_what_an_attack_went_through_stands_beside_the_number_also_where_runs_are_missing(spec):
    def some(cell, mode):
        return None if cell.method == "gtrans" and cell.dataset == "citeseer" else say(cell, mode)

    entry = lines(overall_table(Field(joined_of(spec, some))))["gtrans"]["PRBCD of the method"]
    assert entry.small == "1 of 2 graphs, †"


def test_without_a_record_a_page_says_so(spec):
    joined = joined_of(spec, lambda cell, mode: None)
    found = pieces(joined)
    for name in ("summary", "overall"):
        assert found.pop(name).endswith(f"is not measured yet: none of its {RUNS} runs is there.")
    assert set(found.values()) == {""}
    assert picture(Field(joined)) == ""


def test_the_settings_of_the_attacked_gcn_are_those_of_its_records(spec):
    def tuned(cell, mode):
        rate = {"cora": 0.03, "citeseer": 0.0005}[cell.dataset]
        settings = {"hidden": 16, "dropout": 0.5, "learning_rate": rate, "weight_decay": 0.0, "epochs": 200}
        return say(cell, mode) | ({"settings": settings} if cell.method == "gcn" else {"settings": {"hidden": 7}})

    table = attacked_table(joined_of(spec, tuned))
    assert table.columns == ["width", "dropout", "learning rate", "weight decay", "epochs"]
    found = {line.heading: [entry.text for entry in line.entries] for line in table.lines}
    assert found == {"cora": ["16", "0.5", "0.03", "0", "200"], "citeseer": ["16", "0.5", "0.0005", "0", "200"]}


def test_there_is_a_picture_over_the_graphs_and_one_for_each(field):
    found = pictures(field.joined)
    assert list(found) == ["field.svg", "field-cora.svg", "field-citeseer.svg"]
    assert [svg.count('<svg role="img"') for svg in found.values()] == [1, 1, 1]


def test_a_column_has_the_same_mark_in_every_picture_whichever_columns_it_shows(spec):
    """PRBCD of a GCN, a column in the middle, is on one graph alone, and so not in the picture over all graphs."""
    fewer = [replace(row, datasets=("citeseer",)) if row.group == "PRBCD of a GCN" else row for row in spec.rows]
    found = [signs(svg) for svg in pictures(joined_of(replace(spec, rows=tuple(fewer)), say)).values()]
    assert [len(shown) for shown in found] == [4, 4, 5]
    everywhere = found[-1]
    assert (
        len({outline for outline, _ in everywhere.values()}) == len({colour for _, colour in everywhere.values()}) == 5
    )
    for shown in found:
        assert shown == {name: everywhere[name] for name in shown}


def test_a_single_record_is_enough(spec):
    (first, modes), *_ = spec.tasks()
    joined = joined_of(spec, lambda cell, mode: say(cell, mode) if (cell, mode) == (first, modes[0]) else None)
    drawn = overall_table(Field(joined))
    clean = {name: entries["clean"] for name, entries in lines(drawn).items()}
    assert [name for name, entry in clean.items() if entry.text not in ("–", "n/a")] == ["gvdn"]
    assert (clean["gvdn"].text, clean["gvdn"].small) == ("84.0", "1 of 2 graphs")
    assert {line.entries[-2].text for line in drawn.lines} == {"–"}
    assert (
        said(Field(joined))
        == f"1 of {RUNS} runs were made; shown are the seeds that everybody has who has any in a column on a graph."
    )
