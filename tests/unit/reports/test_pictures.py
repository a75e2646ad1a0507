import re

import pytest
from made_records import joined_of

from gvdn.reports.pictures import curve, picture, swept, swept_settings


def panels(svg):
    """Title of each panel -> the number of names in its legend."""
    found = re.findall(r'<svg [^>]*aria-label="[^":]*: ([^"]*)"(.*?)</svg>', svg, flags=re.DOTALL)
    return {title: panel[panel.index("legend_1") :].count('id="text_') for title, panel in found}


def test_rows_that_sweep_a_number_are_drawn_as_curves_with_a_panel_per_dataset(sweep):
    assert panels(picture(joined_of(sweep, lambda cell, mode: 0.8))) == {"citeseer": 2, "debian": 2}


def test_rows_are_drawn_as_rows_of_dots_with_a_mark_per_mode(tiny):
    assert panels(picture(joined_of(tiny, lambda cell, mode: 0.8))) == {"citeseer": 3, "debian": 2}


def test_without_a_record_there_is_no_picture_and_many_rows_have_one(tiny, written):
    assert picture(joined_of(tiny, lambda cell, mode: None)) is None
    rows = "".join(f'[[row]]\nmethod = "mlp"\nlabel = "{n}"\nmodes = ["clean"]\n' for n in range(9))
    many = written(f'title = "t"\ndatasets = ["debian"]\nseeds = [0]\n{rows}')
    assert panels(picture(joined_of(many, lambda cell, mode: 0.8))) == {"debian": 1}


def test_many_datasets_and_few_modes_have_a_panel_per_mode_and_a_mark_per_row(written):
    spec = written(
        'title = "t"\ndatasets = ["citeseer", "pubmed", "debian"]\nseeds = [0]\n'
        'methods = ["gcn", "mlp"]\ncommon = { modes = ["evasion"] }\n'
    )
    assert panels(picture(joined_of(spec, lambda cell, mode: 0.8))) == {"evasion": 2}


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


def test_a_series_that_does_not_sweep_is_a_level_line_and_modes_are_told_apart(written):
    spec = written(LEVEL)
    assert swept_settings(spec) == ["hidden"]
    svg = picture(joined_of(spec, lambda cell, mode: 0.8))
    assert panels(svg) == {"accuracy": 3, "entropy": 3}  # gcn in two modes, mlp
    assert svg.count("stroke-dasharray: 5.18") == 4  # mlp in both panels and in their legends


def test_the_setting_that_is_swept_has_the_name_that_the_spec_gives_it(written):
    plain, named = (written(LEVEL + more) for more in ("", 'xlabel = "a rather long name of the width"\n'))
    drawn = [picture(joined_of(spec, lambda cell, mode: 0.8)) for spec in (plain, named)]
    assert drawn[0] != drawn[1]


def test_words_that_are_swept_are_rows(written):
    row = '[[row]]\nmethod = "gvdn"\nmodes = ["recovered"]\n[sweep]\nsetting = "sampler"\nvalues = ["none", "major"]'
    spec = written(f'title = "t"\ndatasets = ["debian"]\nseeds = [0]\n{row}')
    assert swept_settings(spec) == []
    assert panels(picture(joined_of(spec, lambda cell, mode: 0.8))) == {"debian": 1}


def test_a_group_is_a_panel(written):
    spec = written(
        'title = "t"\ndatasets = ["debian"]\nseeds = [0]\nmethods = ["gcn", "mlp"]\n'
        'perturbations = ["random-connections", "nettack"]\ncommon = { modes = ["evasion", "poisoning"] }\n'
    )
    found = panels(picture(joined_of(spec, lambda cell, mode: 0.8)))
    assert found == {"random-connections": 2, "nettack": 2}
