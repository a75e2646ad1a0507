import json
import re
import subprocess

import numpy as np
import pytest

import gvdn.bench.poisoned  # noqa: F401, registers its mode
from gvdn.bench import experiment as measuring
from gvdn.bench import origin
from gvdn.bench.experiment import Experiment
from gvdn.bench.measure import measure
from gvdn.bench.modes import supported_modes
from gvdn.bench.origin import commit
from gvdn.errors import InvalidInput
from gvdn.graph import random_split
from gvdn.methods.contract import METHODS
from gvdn.methods.poisoned import TrustedInTurn
from gvdn.study import Cell, Mode, Record

SMALL = {"hidden": 4, "epochs": 3}
SWEEPS = {"sweeps": 4, "warm_up": 1, "retrain_every": 2, "retrain_epochs": 2}
PLAIN = (Mode.EVASION, Mode.POISONING)
RECOVERING = (Mode.EVASION, Mode.POISONING_RECOVERED, Mode.RECOVERED, Mode.WITHHELD)


def test_each_mode_leaves_a_record_that_json_can_hold(dataset):
    cell = Cell(dataset, "gvdn", 0, settings=SMALL | {"recovery_epochs": 2})
    records = list(measure(cell, RECOVERING))
    assert [record.mode for record in records] == list(RECOVERING)
    for record in records:
        assert Record.from_json(json.loads(json.dumps(record.to_json(), allow_nan=False))) == record
        assert 0 <= record.scores.accuracy <= 1
        assert record.settings["hidden"] == 4
        assert ("recover" in record.seconds) == ("recovered" in record.mode)
        assert record.peak_mib > 10
        assert None not in (record.device, record.gvdn, record.torch, record.python, record.commit, record.code)


def test_the_same_cell_gives_the_same_numbers(dataset):
    cell = Cell(dataset, "gcn", 0, settings=SMALL)
    first, second = ([(one.scores, one.epoch, one.validation) for one in measure(cell, PLAIN)] for _ in range(2))
    assert first == second


def test_a_mode_alone_gives_what_it_gives_among_others(dataset):
    cell = Cell(dataset, "gvdn", 1, settings=SMALL | {"recovery_epochs": 2})
    together = {record.mode: record.scores for record in measure(cell, RECOVERING)}
    for mode in RECOVERING:
        (alone,) = measure(cell, (mode,))
        assert alone.scores == together[mode]


def test_accuracy_is_that_of_the_victims_on_the_perturbed_graph(dataset, ring):
    """Measured once more by hand, from the public parts."""
    from gvdn.data import load_graph
    from gvdn.methods.references.gcn import GNN
    from gvdn.perturbations import perturb

    graph = load_graph(dataset)
    split = random_split(graph, seed=2)
    hurt = perturb(graph, "random-connections", split, seed=2, rate=0.2)
    model = GNN(hidden=4, epochs=20).fit(graph, split, seed=2)
    probs = model.predict_proba(hurt.graph)[hurt.victims]
    cell = Cell(dataset, "gcn", 2, perturbation_settings={"rate": 0.2}, settings={"hidden": 4, "epochs": 20})
    (record,) = measure(cell, (Mode.EVASION,))
    truth = graph.labels[hurt.victims]
    assert record.scores.accuracy == pytest.approx((probs.argmax(axis=1) == truth).mean(), abs=1e-5)
    assert record.scores.nodes == len(hurt.victims)
    assert record.scores.brier == pytest.approx(((probs - np.eye(3)[truth]) ** 2).sum(axis=1).mean(), abs=1e-4)
    (trained,) = measure(cell, (Mode.POISONING,))
    model = GNN(hidden=4, epochs=20).fit(hurt.graph, split, seed=2)
    right = model.predict(hurt.graph)[hurt.victims] == truth
    assert trained.scores.accuracy == pytest.approx(right.mean(), abs=1e-5)


def test_every_method_is_scored_on_the_same_victims_on_the_same_graph(dataset, ring, monkeypatch):
    asked: dict[str, set[str]] = {}
    scored: dict[str, set[tuple[int, ...]]] = {}
    methods = {"gcn": {}, "mlp": {}, "snapshot": {}, "gvdn": {"recovery_epochs": 2, "trust": False}, "graphss": SWEEPS}

    def spy(kind, name):
        answer = kind.predict_proba

        def told(self, graph):
            asked.setdefault(name, set()).add(graph.hash)
            return answer(self, graph)

        return told

    real = measuring.scores

    def watched(probs, labels, nodes):
        scored.setdefault(now, set()).add(tuple(np.asarray(nodes).tolist()))
        return real(probs, labels, nodes)

    monkeypatch.setattr(measuring, "scores", watched)
    nodes = set()
    for now, more in methods.items():
        kind = METHODS[now]
        monkeypatch.setattr(kind, "predict_proba", spy(kind, now))
        for record in measure(Cell(dataset, now, 5, settings=SMALL | more), supported_modes(now)):
            nodes.add(record.scores.nodes)
    from gvdn.data import load_graph

    clean = load_graph(dataset).hash
    assert set(asked) == set(scored) == set(methods)
    assert len({frozenset(hashes - {clean}) for hashes in asked.values()}) == 1
    assert all(len(hashes - {clean}) == 1 for hashes in asked.values())
    assert len(nodes) == 1
    assert len(set.union(*scored.values())) == 1
    (victims,) = set.union(*scored.values())
    assert set(victims) <= set(random_split(ring, seed=5).test.tolist())


def test_another_seed_has_other_victims(dataset, monkeypatch):
    scored = []
    real = measuring.scores
    monkeypatch.setattr(
        measuring, "scores", lambda p, y, nodes: scored.append(tuple(nodes.tolist())) or real(p, y, nodes)
    )
    for seed in range(3):
        list(measure(Cell(dataset, "mlp", seed, settings=SMALL), (Mode.EVASION,)))
    assert len(set(scored)) == 3


@pytest.mark.parametrize("kind_of_change", ["random-connections", "information-sparsity", "node-injection"])
def test_withheld_is_what_was_stored_of_the_victims_and_of_the_perturbators(dataset, ring, monkeypatch, kind_of_change):
    kind = METHODS["gvdn"]
    recover, given, scored = kind.recover, [], []

    def told(self, graph, **how):
        given.append(how.get("known"))
        return recover(self, graph, **how)

    real = measuring.scores
    monkeypatch.setattr(kind, "recover", told)
    monkeypatch.setattr(measuring, "scores", lambda p, y, nodes: scored.append(nodes) or real(p, y, nodes))
    cell = Cell(dataset, "gvdn", 0, kind_of_change, settings=SMALL | {"recovery_epochs": 2})
    list(measure(cell, (Mode.RECOVERED, Mode.WITHHELD)))
    assert given[0] is None
    acting = Experiment(cell, "cpu").perturbators
    assert len(acting) == {"random-connections": 1, "information-sparsity": 0, "node-injection": 5}[kind_of_change]
    hidden = np.union1d(scored[-1], acting[acting < 60])
    assert sorted({*ring.ids.tolist()} - {*given[1].tolist()}) == sorted(ring.ids[hidden].tolist())


ALL = tuple(mode for mode in Mode if mode is not Mode.COUNTS)


@pytest.mark.parametrize("perturbation", ["wrong-links", "node-injection", "natural-churn"])
def test_every_mode_serves_a_quiet_perturbation(dataset, perturbation):
    """Also where the perturbed graph is larger than the clean one; scores are those of the victims."""
    trust = perturbation == "wrong-links"  # once is enough
    given = {} if perturbation == "natural-churn" else {"victim_fraction": 0.4}  # enough for a map
    cell = Cell(dataset, "gvdn", 0, perturbation, given, SMALL | {"recovery_epochs": 3, "trust": trust})
    experiment = Experiment(cell, "cpu")
    assert (experiment.perturbed.num_nodes > experiment.clean.num_nodes) == (perturbation == "node-injection")
    for record in measure(cell, ALL):
        assert record.scores.nodes == len(experiment.scored), record.mode
        assert 0 <= record.scores.accuracy <= 1


def test_trust_in_poisoning_answers_as_the_method_that_is_fitted_again_and_says_why(dataset):
    cell = Cell(dataset, "gcn", 0, "wrong-links", {"victim_fraction": 0.4}, SMALL)
    experiment = Experiment(cell, "cpu")
    (record,) = measure(cell, (Mode.POISONING_TRUSTED,))
    trusted = TrustedInTurn(experiment.fit(experiment.perturbed).model, experiment.perturbed)
    probs = trusted.predict_proba(experiment.perturbed)
    assert record.scores == measuring.scores(probs, experiment.clean.labels, experiment.scored)
    assert record.recovery == trusted.report.as_json()
    assert record.clean is None
    assert {"fit", "recover", "answer"} == set(record.seconds)


def test_snapshot_predicts_as_on_the_clean_graph_whatever_happened(dataset):
    settings = {"hidden": 4, "epochs": 20}
    (record,) = measure(
        Cell(dataset, "snapshot", 0, perturbation="information-sparsity", settings=settings), (Mode.EVASION,)
    )
    assert record.scores == record.clean


def test_an_unknown_setting_of_the_method_is_an_error(dataset):
    with pytest.raises(Exception, match="epcohs"):
        next(measure(Cell(dataset, "gcn", 0, settings={"epcohs": 3}), PLAIN))


def test_a_record_says_which_graph_was_asked_about(dataset):
    (one,) = measure(Cell(dataset, "mlp", 0, settings=SMALL), (Mode.EVASION,))
    (other,) = measure(Cell(dataset, "gcn", 0, settings=SMALL), (Mode.EVASION,))
    (another,) = measure(Cell(dataset, "mlp", 1, settings=SMALL), (Mode.EVASION,))
    assert one.graph == other.graph != another.graph


def test_the_commit_may_be_given_by_the_environment(monkeypatch):
    commit.cache_clear()
    monkeypatch.setenv("GVDN_COMMIT", "abc1234")
    assert commit() == "abc1234"
    commit.cache_clear()


@pytest.fixture
def package(monkeypatch, tmp_path):
    """A package in a repository of its own, as the one that records name."""
    folder = tmp_path / "src" / "package"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("one = 1\n")
    monkeypatch.delenv("GVDN_COMMIT", raising=False)
    monkeypatch.setattr(origin, "PACKAGE", folder)
    return folder


def in_git(package, *words):
    who = ["-c", "user.name=a", "-c", "user.email=a@b", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *words], cwd=package.parents[1], check=True, capture_output=True)


def named():
    commit.cache_clear()
    name = commit()
    commit.cache_clear()
    return name


def committed(package):
    in_git(package, "init")
    in_git(package, "add", ".")
    in_git(package, "commit", "-m", "one")
    return named()


@pytest.mark.parametrize(("file", "text"), [("__init__.py", "one = 2\n"), ("new.py", ""), ("new.toml", "one = 1\n")])
def test_a_state_of_the_code_that_is_not_committed_has_a_name_of_its_own(package, file, text):
    first, names = committed(package), []
    for changed in (text, f"{text}two = 2\n"):
        (package / file).write_text(changed)
        names.append(named())
    assert names[0] != names[1]
    assert all(re.fullmatch(f"{first}-dirty-[0-9a-f]{{{origin.LENGTH}}}", name) for name in names)


def test_records_beside_the_package_do_not_change_the_name_of_its_state(package):
    first = committed(package)
    assert re.fullmatch("[0-9a-f]{7,}", first)
    (package.parents[1] / "records.jsonl").write_text("{}\n")
    assert named() == first


def test_a_package_that_git_does_not_know_is_named_by_its_sources(package):
    (package.parents[1] / "other.py").write_text("")
    alone = named()
    assert alone.startswith("unknown-")
    in_git(package, "init")
    in_git(package, "add", "other.py")
    in_git(package, "commit", "-m", "another project, with the package installed in an ignored folder")
    assert named() == alone


NEW = (Mode.NEW, Mode.RECOVERED_NEW)


def test_new_victims_are_absent_when_the_method_is_fitted_and_there_when_it_is_asked(dataset, monkeypatch):
    kind = METHODS["gvdn"]
    fit, recover, fitted, asked = kind.fit, kind.recover, [], []
    monkeypatch.setattr(
        kind, "fit", lambda self, graph, *a, **k: fitted.append((graph, *a)) or fit(self, graph, *a, **k)
    )
    monkeypatch.setattr(kind, "recover", lambda self, graph, **k: asked.append(graph) or recover(self, graph, **k))
    cell = Cell(dataset, "gvdn", 0, settings=SMALL | {"recovery_epochs": 2}, perturbation_settings={"rate": 0.2})
    as_is, recovered = measure(cell, NEW)
    whole = measuring.Experiment(cell, "cpu")
    victims = set(whole.clean.ids[whole.scored].tolist())
    ((graph, split),) = fitted
    assert set(graph.ids.tolist()) == set(whole.clean.ids.tolist()) - victims
    assert graph.num_edges == whole.clean.num_edges - whole.clean.adjacency[whole.scored].nnz + _inner(whole)
    for mine, full in ((split.train, whole.split.train), (split.val, whole.split.val)):
        assert graph.ids[mine].tolist() == whole.clean.ids[full].tolist()
    assert set(graph.ids[split.test].tolist()) == set(whole.clean.ids[whole.split.test].tolist()) - victims
    assert asked[0].hash == whole.perturbed.hash
    assert as_is.scores.nodes == recovered.scores.nodes == len(victims)
    assert as_is.clean == recovered.clean


def _inner(whole):
    return whole.clean.adjacency[whole.scored][:, whole.scored].nnz // 2


def test_what_is_said_of_new_victims_is_what_a_method_says_that_never_saw_them(dataset):
    """Measured once more by hand, from the public parts."""
    from gvdn.data import load_graph
    from gvdn.graph import Split
    from gvdn.methods.references.gcn import GNN
    from gvdn.perturbations import perturb

    graph = load_graph(dataset)
    split = random_split(graph, seed=2)
    hurt = perturb(graph, "random-connections", split, seed=2, rate=0.2)
    before = graph.subgraph(np.setdiff1d(np.arange(graph.num_nodes), hurt.victims))
    shifted = [
        before.locate(graph.ids[part]) for part in (split.train, split.val, np.setdiff1d(split.test, hurt.victims))
    ]
    model = GNN(hidden=4, epochs=20).fit(before, Split(*shifted), seed=2)
    cell = Cell(dataset, "gcn", 2, perturbation_settings={"rate": 0.2}, settings={"hidden": 4, "epochs": 20})
    (record,) = measure(cell, (Mode.NEW,))
    truth = graph.labels[hurt.victims]
    for scores, asked in ((record.scores, hurt.graph), (record.clean, graph)):
        right = model.predict(asked)[hurt.victims] == truth
        assert scores.accuracy == pytest.approx(right.mean(), abs=1e-5)


def test_new_victims_change_nothing_for_the_modes_that_are_measured_beside_them(dataset):
    cell = Cell(dataset, "gvdn", 1, settings=SMALL | {"recovery_epochs": 2})
    together = {record.mode: (record.scores, record.clean) for record in measure(cell, (*NEW, *RECOVERING))}
    for mode in (*NEW, *RECOVERING):
        (alone,) = measure(cell, (mode,))
        assert (alone.scores, alone.clean) == together[mode]


def test_a_graph_that_changed_after_the_study_began_is_not_measured(dataset):
    with pytest.raises(InvalidInput, match="the graph ring changed after the study began; run the command again"):
        next(measure(Cell("ring", "gcn", 0, content="0123456789ab", path=dataset), PLAIN))
