"""Noise in the hidden layer (Eq. 13)."""

import numpy as np
import torch

from gvdn.methods.references.gcn import GNN


def test_noise_is_drawn_at_inference_too_and_is_the_same_each_time(ring, split):
    model, before = GNN(hidden=8, epochs=4, noise_weight=0.5).fit(ring, split, seed=0), torch.get_rng_state()
    assert np.array_equal(model.embed(ring), model.embed(ring))
    assert np.array_equal(model.predict_proba(ring), model.predict_proba(ring))
    assert torch.equal(torch.get_rng_state(), before)


def test_the_hidden_layer_is_mixed_with_standard_noise(ring, split):
    model = GNN(hidden=400, epochs=1, noise_weight=0.25).fit(ring, split, seed=0)
    noisy = model.embed(ring)
    model.network_.noise_weight = 0.0
    noise = (noisy - 0.75 * model.embed(ring)) / 0.25
    assert abs(noise.mean()) < 0.03
    assert abs(noise.std() - 1) < 0.03


def test_nothing_but_noise_does_not_depend_on_the_features(ring, split):
    model = GNN(hidden=8, epochs=2, noise_weight=1.0).fit(ring, split, seed=0)
    alone = model.predict_proba(ring.subgraph(np.arange(60)))
    larger = type(ring)(ring.adjacency, ring.features * 9, ids=ring.ids)
    assert np.array_equal(model.predict_proba(larger), alone)
