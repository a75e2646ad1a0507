"""The settings that were tuned, in the catalogue, are the best of the committed trials; all methods had as many."""

from pathlib import Path

import pytest
from benchmark_scripts import script

from gvdn.bench.tuning.records import Trials
from gvdn.data import DATASETS
from gvdn.methods import make_method

HERE = Path(__file__).parents[2]
GRAPHS = ["amazon-photo", "citeseer", "coauthor-cs", "cora", "pubmed"]


TUNED = script("tuned")


@pytest.fixture(scope="module")
def found():
    return TUNED.searches()


@pytest.mark.parametrize("dataset", GRAPHS)
def test_the_tables_of_the_catalogue_are_written_again_byte_for_byte(dataset, found):
    text = (TUNED.CATALOGUE / f"{dataset}.toml").read_text()
    assert TUNED.filled(text, dataset, found) == text
    assert TUNED.MARK in text


def test_every_search_has_as_many_trials_and_those_of_one_method_are_on_all_graphs(found):
    assert {len(trials) for trials in found.values()} == {9}
    assert [trial.trial for trial in found["cora", "gcn"]] == list(range(9))
    methods = {method for _, method in found}
    assert len(methods) == 19
    unfinished = {(graph, method) for graph in GRAPHS for method in methods} - found.keys()
    assert unfinished == {(graph, "soft-median-gdc") for graph in ("amazon-photo", "coauthor-cs", "pubmed")}


def test_all_trials_are_of_validation_victims_of_a_seed_that_no_table_reports(found):
    trials = list(Trials(TUNED.RECORDS).by_key.values())
    assert {(one.seed, one.perturbation, one.mode, one.select) for one in trials} == {
        (100, "wrong-links", "new", "accuracy")
    }
    assert {one.graph for one in trials} == set(GRAPHS)


@pytest.mark.parametrize("dataset", GRAPHS)
def test_the_best_is_taken_and_is_at_least_as_good_as_what_stands(dataset, found):
    for (graph, method), trials in found.items():
        if graph == dataset:
            best = TUNED.best(trials)
            assert best.score == max(one.score for one in trials if one.error is None)
            assert best.score >= trials[0].score
            assert DATASETS[dataset].tuned[method] == best.settings
            chosen = make_method(method, dataset, tuned=True).get_params()
            assert {name: chosen[name] for name in best.settings} == best.settings


def test_a_search_that_did_not_end_is_left_out_and_one_trial_more_does_not_count(tmp_path):
    text = TUNED.RECORDS.read_text().splitlines()
    cora = [line for line in text if '"graph": "cora"' in line]
    of = {method: [line for line in cora if f'"method": "{method}"' in line] for method in ("gcn", "mlp")}
    more = of["mlp"][-1].replace('"trial": 8', '"trial": 9').replace('"key": "', '"key": "0')
    assert more != of["mlp"][-1]
    (tmp_path / "tuning.jsonl").write_text("\n".join([*of["gcn"][:8], *of["mlp"], more]) + "\n")
    (pair, trials), *others = TUNED.searches(tmp_path / "tuning.jsonl").items()
    assert (pair, others, [one.trial for one in trials]) == (("cora", "mlp"), [], list(range(9)))
