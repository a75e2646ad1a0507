"""The same parts give the same bits on any number of workers, and their sums are those of the whole graph."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from communities import communities
from parts_runs import SMALL, UNEQUAL, answers, fitted, run
from sklearn.metrics import roc_auc_score
from workers import in_threads

import gvdn
from gvdn.errors import InvalidInput
from gvdn.methods.base import probabilities
from gvdn.methods.gvdn import GVDN
from gvdn.nn.aggregators import view_of
from gvdn.nn.diffusion import cross_entropy, diffusion_loss, kl_to_standard_normal
from gvdn.nn.encoder import Encoder
from gvdn.nn.samplers import SAMPLERS, Replacement
from gvdn.parts import prepare
from gvdn.parts.common import objective_of
from gvdn.parts.exchange import owners
from gvdn.parts.group import Alone, exact_sum
from gvdn.parts.jobs import Answer, Fit, Recover
from gvdn.parts.joining import join
from gvdn.parts.loop import Trainer
from gvdn.parts.model import TRAIN, VAL, read_model
from gvdn.parts.objective import Totals
from gvdn.parts.part import read_part
from gvdn.parts.partition import partition
from gvdn.parts.source import GraphSource
from gvdn.training.loop import NotFinite


def bits(model) -> dict[str, bytes]:
    """Everything that a model on the disk holds, but for the version of gvdn."""
    return {path.name: path.read_bytes() for path in sorted(model.iterdir()) if path.name != "result.json"}


SETTINGS = [
    {},
    {"dropout": 0.0, "sampler": "major", "aggregator": "sage"},
    {"aggregator": "sgc", "sampler": "degree", "class_weight": "balanced", "select": "macro-f1"},
    {"sampler": "none", "diffusion": False, "select": "loss", "noise_weight": 0.3},
    {"select": "auc", "samples": 3},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=lambda one: "-".join(map(str, one.values())) or "defaults")
def test_weights_losses_and_answers_are_the_same_bits_on_one_to_four_workers(settings, awkward, divided, tmp_path):
    parts = divided(awkward)
    models = {workers: fitted(parts, tmp_path / f"m{workers}", workers, **settings) for workers in (1, 2, 3, 4)}
    first = bits(models[1])
    assert len(json.loads(first["model.json"])["history"]) == SMALL["epochs"]
    for workers in (2, 3, 4):
        assert bits(models[workers]) == first
    found = {workers: answers(models[1], parts, tmp_path / f"a{workers}", workers) for workers in (1, 3)}
    assert found[1].keys() == set(awkward.ids.tolist())
    for node, numbers in found[1].items():
        assert (numbers == found[3][node]).all()


def test_the_area_under_the_curve_ranks_the_validation_nodes_of_all_parts(awkward, divided, tmp_path):
    parts = divided(awkward)
    model = fitted(parts, tmp_path / "model", 3, select="auc", epochs=1)
    rows = [read_model(model).rows(number) for number in range(5)]
    chosen = [one.roles == VAL for one in rows]
    logits, labels = (
        np.concatenate([getattr(one, name)[some] for one, some in zip(rows, chosen, strict=True)])
        for name in ("logits", "labels")
    )
    probs = probabilities(torch.from_numpy(logits))
    wanted = np.mean([roc_auc_score(labels == k, probs[:, k]) for k in range(3)])
    assert read_model(model).outcome.score == pytest.approx(wanted, abs=1e-6)


def test_draws_are_averaged_and_differ(awkward, divided, tmp_path):
    parts = divided(awkward)
    model = fitted(parts, tmp_path / "model")
    tables = []
    for workers, samples in ((1, 4), (3, 4), (1, 400), (2, 0)):
        output = tmp_path / f"a{workers}-{samples}"
        run(Answer(model, parts.folder, output, samples=samples), workers)
        tables.append(pa.concat_tables([pq.read_table(output / f"part-{number}.parquet") for number in range(5)]))
    assert tables[0].equals(tables[1])
    assert tables[0]["mutual_information"].to_numpy().max() > 0
    assert "mutual_information" not in tables[3].column_names
    few, many, plain = (one[2].to_numpy() for one in (tables[0], tables[2], tables[3]))
    assert (few != plain).any()
    assert np.abs(many - plain).mean() < np.abs(few - plain).mean()  # the noise has the mean 0


def test_recovery_is_the_same_bits_on_one_to_four_workers(awkward, divided, tmp_path):
    clean = divided(awkward)
    model = fitted(clean, tmp_path / "model")
    later = divided(hurt(awkward), "later", part=np.append(UNEQUAL, 1), like=clean.folder)
    outputs = []
    for workers in (1, 2, 3, 4):
        outputs.append(tmp_path / f"r{workers}")
        run(Recover(model, later.folder, outputs[-1]), workers)
    assert len({json.dumps(bits(one), default=lambda raw: raw.hex()) for one in outputs}) == 1
    told = json.loads((outputs[0] / "model.json").read_text())
    assert told["recovered"]
    assert list(told["history"][0]) == ["ce", "kl", "df", "nm"]


def hurt(graph):
    """A later graph: one node more, a row far too large, a node that lost all its links and its features."""
    from gvdn.graph import Graph

    edges = graph.edges[~(graph.edges == 30).any(axis=1)]
    features = np.concatenate([graph.dense_features(), np.ones((1, graph.num_features), np.float32)])
    features[5], features[30] = 500, 0
    return Graph.from_edges(
        np.concatenate([edges, [[70, 40], [70, 3]]]),
        features,
        labels=np.append(graph.labels, 1),
        ids=np.append(graph.ids, "x"),
        name="later",
    )


def test_a_recovery_on_parts_answers_as_the_whole_model_that_was_recovered_so(awkward, divided, tmp_path):
    """Guard, evidence and new nodes on parts, against `GVDN` with the same recovered weights."""
    clean = divided(awkward)
    later = hurt(awkward)
    parts = divided(later, "later", part=np.append(UNEQUAL, 1), like=clean.folder)
    model = fitted(clean, tmp_path / "model")
    run(Recover(model, parts.folder, tmp_path / "recovered", {"pseudo_labels": "second-layer"}), 2)
    whole = join(read_model(model), awkward)
    new, rows = read_model(tmp_path / "recovered"), []
    rows = [new.rows(number) for number in range(5)]
    whole.recovered_, whole.way_, whole.rate_ = True, "Algorithm 3", new.rate
    whole.ids_ = np.concatenate([one.ids for one in rows])
    network = whole.build(new.features, 3, torch.Generator())
    W_z = torch.from_numpy(np.concatenate([one.W_z for one in rows]))
    network.load_state_dict({name: torch.from_numpy(one) for name, one in new.shared.items()} | {"W_z": W_z})
    whole.network_ = network
    assert whole.fallback(whole.seen(later)) is not None  # the evidence of some node is lost
    wanted = np.concatenate([whole.predict_proba(later), whole.embed(later)], axis=1)
    found = answers(tmp_path / "recovered", parts, tmp_path / "answers", 3)
    for node, numbers in zip(later.ids.tolist(), wanted, strict=True):
        np.testing.assert_allclose(np.delete(found[node], 3), numbers, atol=1e-5)


def test_a_joined_model_answers_as_its_parts_and_can_be_saved_and_diagnose(awkward, divided, tmp_path):
    parts = divided(awkward)
    model = fitted(parts, tmp_path / "model")
    whole = join(read_model(model), awkward)
    probs = whole.predict_proba(awkward)
    found = answers(model, parts, tmp_path / "answers")
    for node, numbers in zip(awkward.ids.tolist(), probs, strict=True):
        np.testing.assert_allclose(found[node][:3], numbers, atol=1e-6)
    whole.save(tmp_path / "whole")
    np.testing.assert_allclose(gvdn.load_model(tmp_path / "whole").predict_proba(awkward), probs, atol=1e-7)
    assert len(whole.diagnose(awkward).suspicious) == 70


def test_the_losses_and_gradients_of_an_epoch_are_those_of_the_whole_graph(awkward, divided):
    """One epoch, with replaced rows, against autograd through the network on the whole graph."""
    parts, seed = divided(awkward), 4
    method = GVDN(**SMALL, dropout=0.0)
    sites, routes = prepare.sites(parts, method, Alone())
    roles = {site.number: prepare.roles_of(site.part, prepare.Shares(train=0.4), seed) for site in sites}
    shared = prepare.shared_weights(method, parts.features, 3, seed)
    for site in sites:
        site.network = prepare.network_of(site, shared, method, prepare.drawn_rows(site, method, seed))
        site.train = site.val = prepare.labelled(site, roles[site.number] == TRAIN, method)
        site.near = site.neighbourhood(site.train[0].numpy(), torch.device("cpu"))
    number = sum(len(site.train[0]) for site in sites)
    objective = objective_of(
        sites, routes, shared, method, Totals(70, float(number), 0, 0), seed, "fit gvdn", method.schedule(method.epochs)
    )
    trainer = Trainer(objective, shared, 1e-2)
    trainer.step()
    offsets = np.concatenate([[0], np.cumsum([site.nodes for site in sites])])
    order = np.concatenate([awkward.locate(site.part.ids) for site in sites])
    whole = awkward.subgraph(order)
    replacement = joined_replacement(sites, offsets)
    assert len(replacement.rows) > 3
    assert any((site.replacement.neighbour >= site.nodes).any() for site in sites)

    losses = objective.forward(1)
    drawn = [torch.randn(site.nodes, method.hidden, generator=objective.generator(site)) for site in sites]
    found = [objective.backward(site) for site in sites]

    network = Encoder(parts.features, method.hidden, 3, 70)
    W_z = torch.cat([site.weights.W_z.detach() for site in sites])
    network.load_state_dict({name: one.detach() for name, one in shared.items()} | {"W_z": W_z})
    made = network(
        view_of(whole, "gcn", torch.device("cpu")),
        method.schedule(method.epochs)[1],
        noise=lambda H: torch.cat(drawn),
        replaced=replacement.apply,
    )
    nodes = torch.cat([site.train[0] + int(start) for site, start in zip(sites, offsets[:-1], strict=True)])
    labels = torch.cat([site.train[1] for site in sites])
    terms = [
        cross_entropy(made.logits[nodes], labels),
        kl_to_standard_normal(made.hidden.q),
        diffusion_loss(made.eps, made.Z),
    ]
    torch.stack(terms).sum().backward()
    assert float(sum(losses.values())) == pytest.approx(float(terms[0].detach()), rel=1e-5)
    for place, term in enumerate(terms[1:]):
        assert float(sum(values[place] for values, _ in found)) == pytest.approx(float(term.detach()), rel=1e-5)
    for name, parameter in (("heads.W", network.heads.W), ("out.W", network.out.W)):
        torch.testing.assert_close(sum(one[name] for _, one in found), parameter.grad, rtol=1e-4, atol=1e-6)
    own = torch.cat([site.weights.W_z.grad for site in sites])
    torch.testing.assert_close(own, network.W_z.grad, rtol=1e-4, atol=1e-7)


def joined_replacement(sites, offsets) -> Replacement:
    """What Algorithm 1 found, in positions of the parts one after another."""
    rows, segments, neighbours, weights, before = [], [], [], [], 0
    by_number = {site.number: site for site in sites}
    for site in sites:
        column = np.arange(site.part.links.shape[1]) + offsets[site.number]
        for other, piece in site.part.halo.items():
            column[piece] = offsets[other] + by_number[other].part.borders[site.number]
        rows.append(site.replacement.rows + int(offsets[site.number]))
        segments.append(site.replacement.segment + before)
        neighbours.append(torch.from_numpy(column)[site.replacement.neighbour])
        weights.append(site.replacement.weight)
        before += len(site.replacement.rows)
    return Replacement(*(torch.cat(one) for one in (rows, segments, neighbours, weights)))


def test_recomputing_the_first_layer_changes_no_bit(awkward, divided, tmp_path):
    parts = divided(awkward)
    kept = fitted(parts, tmp_path / "kept")
    assert bits(fitted(parts, tmp_path / "again", 2, recompute=True)) == bits(kept)


def test_a_part_draws_the_same_split_whoever_owns_it_and_a_table_can_say_it(awkward, divided, tmp_path):
    made = divided(awkward)
    parts = [read_part(made, number) for number in range(5)]
    roles = prepare.roles_of(parts[0], prepare.Shares(), 1)
    assert np.bincount(roles, minlength=4).tolist() == [0, 4, 8, 28]
    table = tmp_path / "split.csv"
    table.write_text("id,part\n" + "".join(f"{node},train\n" for node in awkward.ids[:20].tolist()))
    told = [prepare.roles_of(part, prepare.Shares(table=table), 1) for part in parts]
    assert sum(int((one == TRAIN).sum()) for one in told) == 20


def test_sums_are_exact_in_any_order_and_far_from_overflow():
    numbers = [torch.randn(50, generator=torch.Generator().manual_seed(k)) * 10.0 ** (k - 6) for k in range(12)]
    wanted = exact_sum(Alone(), numbers)
    for groups in ([[3, 1], [0, 2], [4, 5, 6, 7, 8, 9, 10, 11]], [[11], [10, 9, 8, 7, 6, 5, 4, 3, 2], [1, 0]]):
        found = in_threads(lambda group, groups=groups: exact_sum(group, [numbers[k] for k in groups[group.rank]]), 3)
        assert all((one == wanted).all() for one in found)
    torch.testing.assert_close(wanted, torch.stack(numbers).double().sum(0), rtol=1e-9, atol=1e-9)
    assert (exact_sum(Alone(), [torch.zeros(3)]) == 0).all()
    with pytest.raises(NotFinite, match="became NaN or infinite"):
        exact_sum(Alone(), [torch.tensor([1.0, float("nan")])])


def test_parts_go_to_the_workers_that_have_least():
    assert owners([10, 1, 9, 3], 2) == [0, 0, 1, 1]
    assert owners([5, 5, 5], 1) == [0, 0, 0]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"aggregator": "gat"}, "expected one of gcn, sgc, sage as aggregator on parts, got 'gat'"),
    ],
)
def test_what_is_not_there_on_parts_is_refused(settings, said, awkward, divided, tmp_path):
    with pytest.raises(InvalidInput, match=said):
        fitted(divided(awkward), tmp_path / "model", **settings)


def test_more_workers_than_parts_and_parts_of_another_partition_are_refused(awkward, divided, tmp_path):
    parts = divided(awkward)
    with pytest.raises(InvalidInput, match="expected at most as many workers as parts, got 6 workers for 5"):
        fitted(parts, tmp_path / "model", 6)
    model = fitted(parts, tmp_path / "other")
    with pytest.raises(InvalidInput, match="is another partition than the one that .* was trained on"):
        answers(model, divided(awkward, "others", part=UNEQUAL[::-1].copy()), tmp_path / "answers")


def test_the_samplers_of_the_parts_are_those_of_the_registry():
    assert {"random", "major", "degree", "none"} <= set(SAMPLERS)


def test_against_the_whole_graph_the_accuracy_is_the_same_over_five_seeds(tmp_path):
    graph = communities(600, degree=4)
    parts = partition(GraphSource(graph), tmp_path / "parts", 4, partitioner="stream")
    settings = {"hidden": 16, "epochs": 60}
    found, wanted = [], []
    for seed in range(5):
        split = gvdn.random_split(graph, seed=seed)
        split.save(tmp_path / f"{seed}.csv", graph)
        wanted.append(GVDN(**settings).fit(graph, split, seed=seed).score(graph, split))
        shares = prepare.Shares(table=tmp_path / f"{seed}.csv")
        told = run(Fit(parts.folder, tmp_path / f"m{seed}", settings, seed, shares))
        found.append(told["test"]["accuracy"])
    assert np.mean(wanted) > 0.8
    assert abs(np.mean(found) - np.mean(wanted)) < 0.01
