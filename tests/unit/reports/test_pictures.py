import pytest
from made_records import joined_of

from gvdn.reports.pictures import curve, picture, swept


def test_rows_that_sweep_a_number_are_drawn_as_curves_with_a_panel_per_dataset(sweep):
    svg = picture(joined_of(sweep, lambda cell, mode: 0.8))
    assert 'id="axes_2"' in svg
    assert 'id="axes_3"' not in svg
    assert svg[svg.index("legend_1") :].count('id="text_') == 2  # a name per series


def test_few_rows_are_drawn_as_bars(tiny):
    svg = picture(joined_of(tiny, lambda cell, mode: 0.8))
    assert svg[svg.index("legend_1") :].count('id="patch_') == 4  # a bar per row and mode


def test_many_rows_and_no_records_have_no_picture(tiny, written):
    assert picture(joined_of(tiny, lambda cell, mode: None)) is None
    rows = "".join(f'[[row]]\nmethod = "mlp"\nlabel = "{n}"\nmodes = ["clean"]\n' for n in range(9))
    many = written(f'title = "t"\ndatasets = ["debian"]\nseeds = [0]\n{rows}')
    assert picture(joined_of(many, lambda cell, mode: 0.8)) is None


def test_a_curve_runs_over_the_setting_that_its_rows_sweep(sweep):
    joined = joined_of(sweep, lambda cell, mode: {"accuracy": 0.9 - 0.5 * cell.settings["noise_weight"]})
    mine = [one for one in joined.runs if one.row.series == "gcn" and one.dataset == "debian"]
    assert curve(mine, "accuracy") == ([0.0, 0.5, 1.0], pytest.approx([90.0, 65.0, 40.0]), [0.0, 0.0, 0.0])


def test_rows_that_differ_in_two_settings_or_in_words_sweep_nothing(sweep, tiny):
    assert swept(sweep.rows[:3]) == "noise_weight"
    assert swept(sweep.rows[:1]) is None
    assert swept(tiny.rows) is None
