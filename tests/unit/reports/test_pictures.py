import pytest
from made_records import joined_of

from gvdn.reports.pictures import curve, picture, swept, swept_settings


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


LEVEL = """
title = "A sweep and what does not sweep"
datasets = ["debian"]
seeds = [0, 1]
common = { method = "gcn", modes = ["evasion", "poisoning"] }
row = [
    { group = "few", sweep = { setting = "hidden", values = [8, 16] } },
    { method = "mlp", modes = ["evasion"] },
]
"""


def names(svg):
    return svg[svg.index("legend_1") :].count('id="text_')


def test_a_series_that_does_not_sweep_is_a_level_line_and_modes_are_told_apart(written):
    spec = written(LEVEL)
    assert swept_settings(spec) == ["hidden"]
    svg = picture(joined_of(spec, lambda cell, mode: 0.8))
    assert 'id="axes_2"' in svg  # accuracy and entropy
    assert names(svg) == 3  # gcn in two modes, mlp
    assert svg.count("stroke-dasharray: 5.18") == 3  # mlp in both panels and in the legend


def test_the_setting_that_is_swept_has_the_name_that_the_spec_gives_it(written):
    plain, named = (written(LEVEL + more) for more in ("", 'xlabel = "a rather long name of the width"\n'))
    drawn = [picture(joined_of(spec, lambda cell, mode: 0.8)) for spec in (plain, named)]
    assert drawn[0] != drawn[1]


def test_words_that_are_swept_are_bars(written):
    row = '[[row]]\nmethod = "gvdn"\nmodes = ["recovered"]\n[sweep]\nsetting = "sampler"\nvalues = ["none", "major"]'
    spec = written(f'title = "t"\ndatasets = ["debian"]\nseeds = [0]\n{row}')
    assert swept_settings(spec) == []
    assert names(picture(joined_of(spec, lambda cell, mode: 0.8))) == 2


@pytest.mark.parametrize(("labels", "panels"), [(4, 2), (5, 4)])
def test_a_group_is_a_panel_and_more_bars_than_colours_are_a_panel_for_each_mode(labels, panels, written):
    rows = [
        f'{{ group = "{group}", label = "{label}", method = "mlp", perturbation = "{group}" }}'
        for group in ("random-connections", "nettack")
        for label in range(labels)
    ]
    common = 'common = { modes = ["evasion", "poisoning"] }'
    spec = written(f'title = "t"\ndatasets = ["debian"]\nseeds = [0]\n{common}\nrow = [{", ".join(rows)}]')
    svg = picture(joined_of(spec, lambda cell, mode: 0.8))
    assert f'id="axes_{panels}"' in svg
    assert f'id="axes_{panels + 1}"' not in svg
    assert names(svg) == (8 if panels == 2 else 5)
