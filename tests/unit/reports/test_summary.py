"""The sentences on the first screen of a page."""

from made_records import joined_of

from gvdn.reports.summary import MOST, summary
from gvdn.study import Mode

STUDY = """
title = "t"
datasets = ["debian"]
seeds = [0, 1, 2]
methods = ["gvdn", "gcn", "mlp"]
common = { modes = ["evasion", "recovered"] }
"""


def test_it_says_how_the_reference_fares_and_how_far_it_is_from_the_best_other(written):
    def say(cell, mode):
        best = {"gvdn": 0.9, "gcn": 0.7 + 0.01 * cell.seed, "mlp": 0.6}[cell.method]
        return {"accuracy": best if mode == Mode.RECOVERED else 0.5, "clean": 0.92}

    assert summary(joined_of(written(STUDY), say)) == [
        "debian under random-connections: gvdn has 92.0 % on the clean graph, 50.0 % on the perturbed graph as it is, "
        "90.0 % after recovery. gvdn minus the best other: recovered +19.0 points [+16.5, +21.5] (gcn, recovered), "
        "better."
    ]


def test_what_cannot_be_told_apart_is_said_to_be_so_and_one_seed_has_no_interval(written):
    def say(cell, mode):
        return {"accuracy": 0.8 + 0.01 * ((cell.seed % 2) if cell.method == "gvdn" else 0), "clean": 0.9}

    (words,) = summary(joined_of(written(STUDY), say))
    assert "recovered +0.3 points [−1.1, +1.8] (gcn, evasion), cannot be told apart." in words
    (words,) = summary(joined_of(written(STUDY.replace("[0, 1, 2]", "[0]")), say))
    assert "recovered +0.0 points (gcn, evasion), one seed, no interval." in words


def test_worse_is_said_too_and_three_equal_differences_are_not_sure(written):
    def say(wobble):
        return lambda cell, mode: {"accuracy": 0.5 + wobble * cell.seed if cell.method == "gvdn" else 0.6}

    (words,) = summary(joined_of(written(STUDY), say(0.001)))
    assert "recovered −9.9 points [−10.1, −9.7] (gcn, evasion), worse." in words
    (words,) = summary(joined_of(written(STUDY), say(0.0)))
    assert "recovered −10.0 points [−10.0, −10.0] (gcn, evasion), cannot be told apart." in words


def test_a_sweep_is_told_by_its_ends(sweep):
    words = summary(joined_of(sweep, lambda cell, mode: {"accuracy": 0.9 - 0.5 * cell.settings["noise_weight"]}))
    assert words[0] == "citeseer: gcn has 90.0 % at 0, 40.0 % at 1 of noise_weight."


def test_a_long_summary_is_cut_and_says_so_and_without_records_there_is_none(written):
    many = written(
        STUDY.replace('["debian"]', '["debian", "citeseer", "pubmed", "flickr"]')
        + 'perturbations = ["nettack", "prbcd"]\n'
    )
    words = summary(joined_of(many, lambda cell, mode: 0.8))
    assert (len(words), words[-1]) == (MOST + 1, "The tables have 2 more.")
    assert summary(joined_of(many, lambda cell, mode: None)) == []
