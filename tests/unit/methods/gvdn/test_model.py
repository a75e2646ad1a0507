"""GVDN on the clean graph: training, settings, uncertainty. Recovery has a file of its own."""

import dataclasses
import gc
import weakref

import numpy as np
import pytest
import torch
from small_models import rewired, small

from gvdn.errors import InvalidInput
from gvdn.graph import Split, random_split
from gvdn.methods.gvdn import GVDN
from gvdn.nn.aggregators import AGGREGATORS
from gvdn.nn.diffusion import diffused
from gvdn.nn.samplers import SAMPLERS
from gvdn.perturbations import perturb
from gvdn.testing.graphs import tiny_graphs

NO_NODES = np.empty(0, dtype=np.int64)


@pytest.fixture
def alone(split) -> Split:
    """Training nodes and no validation nodes: the last weights are taken."""
    return Split(split.train, NO_NODES, NO_NODES)


# ---- training


def test_the_gradient_reaches_every_weight(ring, split):
    objective, _ = small(dropout=0.0).training(ring, split, seed=0)
    torch.stack(list(objective.losses(3, torch.Generator().manual_seed(0)).values())).sum().backward()
    network = objective.network
    for block in network.heads.W.grad.split(8, dim=1):  # W_h, W_mu and W_sigma
        assert (block.abs().sum(dim=0) > 0).any()
    assert (network.out.W.grad != 0).any()
    near = np.isin(np.arange(60), split.train) | (ring.adjacency[:, split.train].sum(axis=1) > 0)
    assert (network.W_z.grad[torch.from_numpy(near)] != 0).any(dim=1).all()


def test_the_terms_are_weighted(ring, split):
    terms = {}
    for weight in (1.0, 2.5):
        model = small(lambda_ce=weight, lambda_kl=2 * weight, lambda_df=3 * weight)
        task, _ = model.training(ring, split, seed=0)
        terms[weight] = {k: v.item() for k, v in task.losses(0, torch.Generator().manual_seed(0)).items()}
    assert set(terms[1.0]) == {"ce", "kl", "df"}
    for name, value in terms[1.0].items():
        assert terms[2.5][name] == pytest.approx(2.5 * value, rel=1e-5)


def test_same_seed_same_bits_and_another_seed_others(ring, split, fitted):
    again, other = (small().fit(ring, split, seed=seed) for seed in (0, 1))
    for name, tensor in fitted.network_.state_dict().items():
        assert torch.equal(tensor, again.network_.state_dict()[name])
        assert not torch.allclose(tensor, other.network_.state_dict()[name])
    assert np.array_equal(fitted.embed(ring), again.embed(ring))


def test_the_rate_of_the_best_epoch_is_used_at_inference(fitted):
    assert fitted.rate_ == diffused(12, 0.9)[fitted.outcome_.epoch]
    assert fitted.outcome_.score == max(record["val"] for record in fitted.outcome_.history)


def test_diffusion_changes_the_numbers(ring, alone):
    vanilla, diffused_one = (small(diffusion=diffusion).fit(ring, alone, seed=0) for diffusion in (False, True))
    assert vanilla.rate_ == (1.0, 1.0)
    assert not np.allclose(vanilla.predict_proba(ring), diffused_one.predict_proba(ring))


def test_the_sampler_changes_the_numbers(ring, alone):
    probs = [small(sampler=name).fit(ring, alone, seed=0).predict_proba(ring) for name in ("none", "major")]
    assert not np.allclose(*probs)


@pytest.mark.parametrize(
    "choice", [{"aggregator": name} for name in AGGREGATORS] + [{"sampler": name} for name in SAMPLERS], ids=str
)
def test_every_aggregator_and_every_sampler_runs(choice, ring, split):
    model = small(**choice).fit(ring, split, seed=0)
    for one in (model, model.recover(ring)):
        np.testing.assert_allclose(one.predict_proba(ring).sum(axis=1), 1)
        assert one.embed(ring).shape == (60, 8)


@pytest.mark.parametrize("kind", list(tiny_graphs()))
def test_degenerate_graphs_train_and_recover_without_nan(kind):
    graph, parts = tiny_graphs()[kind]
    model = small().fit(graph, parts, seed=0)
    for one in (model, model.recover(graph), model.recover(graph, labels=True)):
        np.testing.assert_allclose(one.predict_proba(graph).sum(axis=1), 1)
        assert np.isfinite(one.embed(graph)).all()


def test_isolated_nodes_train_and_recover_without_nan(isolated):
    model = small().fit(isolated, random_split(isolated, seed=0, train=0.5, stratified=True), seed=0)
    assert np.isfinite(model.recover(isolated).predict_proba(isolated)).all()


@pytest.mark.parametrize("sampler", ["none", "major"])
def test_a_stopped_and_resumed_fit_ends_with_the_same_bits(sampler, ring, alone, tmp_path):
    def stop(epoch, record):
        if epoch == 25:
            raise KeyboardInterrupt

    model, progress = small(sampler=sampler, epochs=30), tmp_path / "progress.safetensors"
    with pytest.raises(KeyboardInterrupt):
        model.fit(ring, alone, seed=0, callback=stop, resume=progress)
    resumed = model.fit(ring, alone, seed=0, resume=progress)
    whole = small(sampler=sampler, epochs=30).fit(ring, alone, seed=0)
    assert resumed.outcome_.history == whole.outcome_.history
    assert np.array_equal(resumed.predict_proba(ring), whole.predict_proba(ring))


# ---- what is refused


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ({"gamma_min": 0.0}, "expected 0 < gamma_min <= gamma_max < 1, got 0.0 and 0.9999"),
        ({"gamma_min": 0.99, "gamma_max": 0.9}, "expected 0 < gamma_min <= gamma_max < 1, got 0.99 and 0.9"),
        ({"gamma_max": 1.0}, "expected 0 < gamma_min <= gamma_max < 1, got 0.9 and 1.0"),
        ({"dropout": 1.0}, "expected dropout in .*, got 1.0"),
        ({"dropout": -0.1}, "expected dropout in .*, got -0.1"),
        ({"hidden": 0}, "expected hidden of at least 1, got 0"),
        ({"epochs": 0}, "expected epochs of at least 1, got 0"),
        ({"recovery_epochs": -3}, "expected recovery_epochs of at least 1, got -3"),
        ({"aggregator": "gcnn"}, "unknown aggregator 'gcnn'; did you mean 'gcn'.* known: gcn, sgc, sage, gat"),
        ({"sampler": "minor"}, "unknown sampler 'minor'.* known: none, random, major, degree"),
    ],
)
def test_a_setting_out_of_range_is_refused(setting, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        GVDN(**setting)


USES = {
    "predict_proba": lambda model, graph, folder: model.predict_proba(graph),
    "predict_proba with samples": lambda model, graph, folder: small(samples=3).predict_proba(graph),
    "predict": lambda model, graph, folder: model.predict(graph),
    "embed": lambda model, graph, folder: model.embed(graph),
    "uncertainty": lambda model, graph, folder: model.uncertainty(graph),
    "recover": lambda model, graph, folder: model.recover(graph),
    "save": lambda model, graph, folder: model.save(folder / "model"),
}


@pytest.mark.parametrize("use", list(USES))
def test_an_unfitted_model_says_so(use, ring, tmp_path):
    with pytest.raises(InvalidInput, match="this GVDN is not fitted yet"):
        USES[use](small(), ring, tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("use", ["predict_proba", "embed", "recover", "uncertainty"])
def test_the_wrong_number_of_features_is_named(use, fitted, barbell, tmp_path):
    with pytest.raises(InvalidInput, match="the model was fitted on 5 features, got 4 in barbell; give the same"):
        USES[use](fitted, barbell, tmp_path)


def test_no_draw_at_all_is_refused(fitted, ring):
    with pytest.raises(InvalidInput, match="expected at least one draw, got 0"):
        fitted.uncertainty(ring, samples=0)


# ---- uncertainty


def test_the_entropy_splits_into_what_is_expected_and_what_the_draws_disagree_on(fitted, ring):
    found = fitted.uncertainty(ring, samples=7)
    np.testing.assert_allclose(found.total, found.expected + found.mutual, atol=1e-9)
    assert (found.mutual >= 0).all()
    assert (found.expected >= 0).all()
    assert found.mutual.max() > 0
    np.testing.assert_allclose(found.probs.sum(axis=1), 1)
    assert (found.total <= np.log(3) + 1e-9).all()


def test_draws_are_the_same_each_time_and_samples_average_them(fitted, ring):
    first, again = (fitted.uncertainty(ring, samples=4) for _ in range(2))
    assert np.array_equal(first.probs, again.probs)
    fitted.samples = 4
    assert np.array_equal(fitted.predict_proba(ring), first.probs)
    fitted.samples = 0
    assert not np.allclose(fitted.predict_proba(ring), first.probs)


def test_one_draw_has_no_mutual_information(fitted, ring):
    np.testing.assert_allclose(fitted.uncertainty(ring, samples=1).mutual, 0, atol=1e-12)


# ---- a fixed weight of the noise


def test_a_noise_weight_is_the_same_in_fit_and_in_recovery(ring, split):
    model = small(noise_weight=0.25).fit(ring, split, seed=0)
    assert torch.equal(model.network_.W_z, torch.full_like(model.network_.W_z, 0.25))
    larger = perturb(ring, "random-connections", split, seed=1, victim_fraction=0.3, rate=0.2).graph
    healed = model.recover(larger)
    assert torch.equal(healed.W_z(larger), torch.full((larger.num_nodes, model.hidden), 0.25))


def test_a_noise_weight_of_zero_is_no_noise_and_of_one_nothing_else(ring, split):
    none, only = (small(noise_weight=weight).fit(ring, split, seed=0) for weight in (0.0, 1.0))
    assert none.uncertainty(ring, 3).mutual.max() < 1e-9
    assert only.uncertainty(ring, 3).mutual.max() > 1e-3


@pytest.mark.parametrize("weight", [-0.1, 1.1, float("nan")])
def test_a_noise_weight_that_is_no_share_is_refused(weight):
    with pytest.raises(InvalidInput, match=r"expected noise_weight in \[0, 1\]"):
        small(noise_weight=weight)


def test_a_second_fit_does_not_keep_the_graph_of_the_first(ring, split):
    first = dataclasses.replace(ring)
    model = small(epochs=2).fit(first, split, seed=0)
    there = weakref.ref(first)
    del first
    gc.collect()
    assert there() is not None  # a baseline may be asked for
    model.fit(ring, split, seed=1)
    gc.collect()
    assert there() is None


def test_the_baseline_is_the_same_whether_it_is_asked_for_before_or_after_recovery(ring, split):
    early, late = (small().fit(ring, split, seed=0) for _ in range(2))
    scores = early.diagnose(rewired(ring)).scores
    recovered = late.recover(rewired(ring))
    assert np.array_equal(late.diagnose(rewired(ring)).scores, scores)
    assert recovered.baseline_ is late.baseline_
