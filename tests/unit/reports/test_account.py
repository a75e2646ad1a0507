import pytest
from made_records import joined_of

from gvdn.reports.account import graphs_left_out, missing_runs, remark
from gvdn.reports.grids import grid


def rows(written, number, *, name="mine", datasets='["debian"]'):
    """A spec of so many rows, each with one mode."""
    lines = ", ".join(f'{{ label = "row {n}", settings = {{ hidden = {n + 1} }} }}' for n in range(number))
    common = 'common = { method = "gcn", modes = ["clean"] }'
    return written(f'title = "t"\ndatasets = {datasets}\nseeds = [0, 1]\n{common}\nrow = [{lines}]', name)


@pytest.mark.parametrize(("missing", "dots"), [(7, ""), (8, ""), (9, " …")])
def test_up_to_eight_of_the_rows_without_a_record_are_named(written, missing, dots):
    joined = joined_of(rows(written, 10), lambda cell, mode: 0.8 if cell.settings["hidden"] > missing else None)
    (line,) = missing_runs({"mine": joined}).lines
    names = ", ".join(f"row {number}" for number in range(min(missing, 8)))
    assert [entry.text for entry in line.entries] == [f"{2 * missing} of 20", names + dots]


def test_where_no_row_has_a_record_none_is_named(written):
    (line,) = missing_runs({"mine": joined_of(rows(written, 3), lambda cell, mode: None)}).lines
    assert [entry.text for entry in line.entries] == ["6 of 6", "all rows"]


def test_nothing_is_missing_where_every_run_has_a_record(written):
    assert missing_runs({"mine": joined_of(rows(written, 2), lambda cell, mode: 0.8)}) is None


def test_a_dataset_of_another_spec_is_left_out(written):
    both = rows(written, 1, name="both", datasets='["debian", "citeseer"]')
    one = rows(written, 1, name="one")
    study = {spec.name: joined_of(spec, lambda cell, mode: 0.8) for spec in (both, one)}
    (line,) = graphs_left_out(study).lines
    assert (line.heading, line.entries[0].text) == ("one", "citeseer")
    assert graphs_left_out({"both": study["both"]}) is None


def test_seeds_that_differ_are_remarked(written):
    names = '["debian", "citeseer", "flickr-structure"]'
    plain = rows(written, 1, datasets=names)
    assert remark(joined_of(plain, lambda cell, mode: 0.8)) == ""
    spec = rows(written, 1, datasets=names + "\nseeds_on = { citeseer = [0, 1, 2] }")
    joined = joined_of(spec, lambda cell, mode: 0.8)
    assert remark(joined) == "Number of seeds: 2 on debian and flickr-structure, 3 on citeseer."
    table = grid(joined, "accuracy", folded=False)
    assert table.heads == ["debian", "citeseer", "flickr-structure (simulated features)"]
    assert all("n " not in entry.small for entry in table.lines[0].entries)  # all have the seeds that were asked for
