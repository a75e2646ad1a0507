"""A search over settings: what is drawn, what is scored, what is recorded, and how it goes on."""

import dataclasses
import json

import numpy as np
import pytest

from gvdn.bench.tuning import search as searching
from gvdn.bench.tuning.draws import drawn_settings
from gvdn.bench.tuning.question import Question
from gvdn.bench.tuning.records import Trial, Trials, writing
from gvdn.bench.tuning.search import Search
from gvdn.errors import InvalidInput
from gvdn.graph import Split, random_split
from gvdn.methods.contract import METHODS
from gvdn.methods.references.mlp import MLP
from gvdn.study import Mode

SPACE = {"a": (1, 2, 3), "b": (0.1, 0.2)}
FEW = {"hidden": 4, "epochs": 3}


@pytest.fixture
def split(ring):
    return random_split(ring, seed=0, train=0.2, val=0.4, stratified=True)


@pytest.fixture
def question(ring, split):
    return Question(ring, split, 100)


def perturbed(question, perturbation="wrong-links", mode=Mode.NEW):
    return dataclasses.replace(question, perturbation=perturbation, mode=mode)


def test_a_longer_search_begins_with_the_trials_of_a_shorter_one_and_repeats_none():
    longer = drawn_settings(SPACE, "gcn", seed=100, trials=5)
    assert drawn_settings(SPACE, "gcn", seed=100, trials=2) == longer[:2]
    assert len({json.dumps(one) for one in longer}) == 5
    assert longer != drawn_settings(SPACE, "mlp", seed=100, trials=5)
    assert longer != drawn_settings(SPACE, "gcn", seed=101, trials=5)


def test_a_space_that_is_smaller_than_the_trials_is_searched_as_a_whole():
    found = drawn_settings(SPACE, "gcn", seed=0, trials=100)
    assert sorted((one["a"], one["b"]) for one in found) == [(a, b) for a in SPACE["a"] for b in SPACE["b"]]


def test_without_a_perturbation_the_validation_nodes_are_scored(question, split):
    model = MLP(**FEW)
    answer = question.ask(model)
    probs, labels = model.predict_proba(question.graph), question.graph.labels
    expected = (probs.argmax(axis=1) == labels)[split.val].mean()
    assert answer.score.value == pytest.approx(expected)
    assert answer.score.minus_loss == pytest.approx(np.log(probs[split.val, labels[split.val]]).mean(), rel=1e-5)


@pytest.mark.parametrize("perturbation", ["wrong-links", "random-connections"])
@pytest.mark.parametrize("mode", [Mode.NEW, Mode.EVASION, Mode.POISONING])
def test_victims_are_validation_nodes_and_do_not_choose_the_epoch(question, split, perturbation, mode):
    asked = perturbed(question, perturbation, mode)
    assert set(asked.scored) < set(split.val)
    graph, parts = asked.fitted_on
    victims, used = asked.graph.ids[asked.scored], graph.ids[np.concatenate([parts.train, parts.val])]
    assert not np.isin(victims, used).any()
    assert np.isin(victims, graph.ids).any() == (mode is not Mode.NEW)
    assert (graph.hash == asked.perturbed.graph.hash) == (mode is Mode.POISONING)
    assert list(graph.ids[parts.train]) == list(asked.graph.ids[split.train])


@pytest.mark.parametrize("mode", [Mode.NEW, Mode.POISONING])
@pytest.mark.parametrize("perturbation", ["none", "wrong-links", "random-connections"])
def test_no_test_label_is_read(question, split, perturbation, mode):
    """Neither by the method nor by the perturber."""
    labels = question.graph.labels.copy()
    labels[split.test] = (labels[split.test] + 1) % question.graph.num_classes
    asked = perturbed(question, perturbation, mode)
    swapped = dataclasses.replace(asked, graph=dataclasses.replace(asked.graph, labels=labels))
    assert asked.ask(MLP(**FEW)) == swapped.ask(MLP(**FEW))
    gcn = METHODS["gcn"]
    assert asked.ask(gcn(**FEW)) == swapped.ask(gcn(**FEW))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"perturbation": "wrong-link"}, "unknown perturbation 'wrong-link' to tune; did you mean 'wrong-links'"),
        ({"mode": Mode.RECOVERED}, "unknown mode 'recovered' to tune"),
        ({"select": "acuracy"}, "unknown select 'acuracy'; did you mean 'accuracy'"),
        ({"split": Split([0], [], [1])}, "expected validation nodes of .* to choose settings on, got none"),
    ],
)
def test_a_question_that_cannot_be_asked_is_refused(question, changes, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        dataclasses.replace(question, **changes)


def test_a_method_that_does_not_support_poisoning_is_refused(question):
    with pytest.raises(InvalidInput, match="snapshot does not support poisoning"):
        Search(perturbed(question, mode=Mode.POISONING), "snapshot")


@pytest.mark.parametrize("method", ["gcn-retrained", "gvdn", "gpr-gae"])
def test_methods_that_recover_do_so_before_they_are_asked(question, method, monkeypatch):
    cls, recovered = METHODS[method], []
    if cls.capabilities.recovers:
        really = cls.recover
        monkeypatch.setattr(cls, "recover", lambda *words, **more: recovered.append(1) or really(*words, **more))
    small = {"gvdn": {"recovery_epochs": 2, "trust": False}, "gpr-gae": {"link_steps": 3}}.get(method, {})
    answer = perturbed(question).ask(cls(**FEW, **small))
    assert 0 <= answer.score.value <= 1
    assert len(recovered) == cls.capabilities.recovers


def small_search(question, **how):
    return Search(question, "mlp", **{"fixed": {"epochs": 3}, "trials": 4} | how)


def test_the_best_trial_is_the_best_of_those_drawn_and_its_settings_can_be_copied(question, tmp_path):
    import tomllib

    from gvdn.cli.options import parse_settings

    found = small_search(question).run(tmp_path / "tuning.jsonl")
    assert [trial.trial for trial in found.trials] == [1, 2, 3, 4]
    assert found.best.score == max(trial.score for trial in found.trials)
    assert set(found.best.settings) == {"learning_rate", "weight_decay", "dropout", "hidden"}
    assert parse_settings(found.options.split()[1::2]) == found.best.settings
    assert tomllib.loads(found.toml) == {"methods": {"mlp": found.best.settings}}
    assert (found.as_it_stands.trial, found.as_it_stands.settings) == (0, {})
    again = MLP(epochs=3, **found.best.settings)
    assert round(question.ask(again).score.value, 5) == found.best.score


def test_between_equal_scores_the_smaller_loss_wins_then_the_earlier_trial(question):
    search = small_search(question)
    scores = [(0.9, 0.1), (0.5, 0.3), (0.8, 0.4), (0.8, 0.2), (0.8, 0.2)]
    common = {"graph": "g", "method": "mlp", "seed": 1, "perturbation": "none", "mode": "clean", "select": "accuracy"}
    trials = [Trial(key=str(n), trial=0, score=s, loss=loss, nodes=9, **common) for n, (s, loss) in enumerate(scores)]
    assert search.found(trials).best.trial == 3  # the settings as they stand, which scored 0.9, are no trial


def test_what_is_recorded_is_not_run_again_and_a_torn_line_is(question, tmp_path, monkeypatch):
    path = tmp_path / "tuning.jsonl"
    whole = small_search(question).run(path)
    lines = path.read_text().splitlines(keepends=True)
    assert len(lines) == 5
    path.write_text("".join(lines[:3]) + lines[3][:30])  # as a kill leaves it
    ran, really = [], Search.trial
    monkeypatch.setattr(Search, "trial", lambda self, number, *more: ran.append(number) or really(self, number, *more))
    again = small_search(question).run(path)
    assert ran == [3, 4]
    assert len([json.loads(line) for line in path.read_text().splitlines()]) == 5
    assert [(one.score, one.loss) for one in again.trials] == [(one.score, one.loss) for one in whole.trials]
    small_search(question, trials=6).run(path)
    assert ran == [3, 4, 5, 6]


def test_ctrl_c_leaves_what_is_done(question, tmp_path, monkeypatch):
    path, really = tmp_path / "tuning.jsonl", Search.trial

    def stopped(self, number, *more):
        if number == 2:
            raise KeyboardInterrupt
        return really(self, number, *more)

    monkeypatch.setattr(Search, "trial", stopped)
    with pytest.raises(KeyboardInterrupt):
        small_search(question).run(path)
    assert [trial.trial for trial in Trials(path).by_key.values()] == [0, 1]


def test_another_graph_seed_select_mode_or_setting_is_another_trial(question):
    asked = [
        question,
        dataclasses.replace(question, seed=101),
        dataclasses.replace(question, select="macro-f1"),
        perturbed(question),
        perturbed(question, mode=Mode.EVASION),
        perturbed(question, "random-connections"),
        dataclasses.replace(question, split=random_split(question.graph, seed=1, train=0.2, stratified=True)),
    ]
    keys = {small_search(one).key({"hidden": 8}) for one in asked}
    keys |= {small_search(question).key({"hidden": 16}), small_search(question, fixed={"epochs": 4}).key({"hidden": 8})}
    assert len(keys) == len(asked) + 2


def test_a_trial_that_fails_is_recorded_and_the_others_go_on(question, tmp_path, monkeypatch):
    really = MLP.fit

    def fit(self, *words, **more):
        if self.hidden == 16:
            raise InvalidInput("expected more, got less")
        return really(self, *words, **more)

    monkeypatch.setattr(MLP, "fit", fit)
    found = small_search(question, trials=12).run(tmp_path / "tuning.jsonl")
    failed = [trial for trial in found.trials if trial.error]
    assert failed
    assert {(trial.settings["hidden"], trial.error) for trial in failed} == {(16, "expected more, got less")}
    assert found.best.settings["hidden"] != 16
    monkeypatch.setattr(MLP, "fit", lambda self, *words, **more: fit(self.set_params(hidden=16)))
    with pytest.raises(InvalidInput, match="no trial of mlp could be scored; the first failure: expected more"):
        small_search(question).run(tmp_path / "other.jsonl")


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"trial": -1}, "expected trial of a trial from 0"),
        ({"score": None}, "expected score in a trial that did not fail, got none"),
        ({"nodes": "many"}, "expected a whole number as nodes"),
        ({"colour": "red"}, "unknown key 'colour'"),
    ],
)
def test_a_line_that_is_no_trial_is_named(question, tmp_path, changes, sentence):
    path = tmp_path / "tuning.jsonl"
    small_search(question, trials=1).run(path)
    (first, second) = path.read_text().splitlines()
    path.write_text(f"{first}\n{json.dumps(json.loads(second) | changes)}\n")
    with pytest.raises(InvalidInput, match=rf"tuning.jsonl, line 2: {sentence}.*; remove the line"):
        small_search(question).run(path)


def test_two_searches_do_not_write_to_one_file_at_once(question, tmp_path):
    path = tmp_path / "tuning.jsonl"
    with writing(path), pytest.raises(InvalidInput, match="is being written by another process"):
        small_search(question).run(path)


def test_a_method_without_a_search_space_is_refused(question, monkeypatch):
    monkeypatch.setattr(MLP, "search_space", {})
    with pytest.raises(InvalidInput, match="expected a method with a search space, got mlp, which has none"):
        searching.search_space("mlp")


def test_a_file_that_cannot_be_written_is_refused_before_the_work(question, tmp_path, monkeypatch):
    monkeypatch.setattr(Search, "trial", lambda *words: pytest.fail("ran"))
    with pytest.raises(InvalidInput, match="expected a file to write into, got the folder"):
        small_search(question).run(tmp_path)
