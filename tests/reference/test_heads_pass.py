"""The pass over blocks of rows, with its gradient written out, is the network in plain operations and autograd's."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from gvdn.graph import Graph
from gvdn.methods.gvdn.objective import LinearObjective, Objective
from gvdn.nn import heads
from gvdn.nn.aggregators import view_of
from gvdn.nn.diffusion import diffused
from gvdn.nn.encoder import Encoder, Fallback
from gvdn.nn.heads import Match
from gvdn.nn.samplers import SAMPLERS, Neighbourhood
from gvdn.nn.sparse import SparseMatrix

N, D, H, K = 37, 9, 6, 3
CPU = torch.device("cpu")
LAMBDAS = {"ce": 1.0, "kl": 0.7, "df": 1.3, "nm": 2.0}


def graph(sparse: bool) -> Graph:
    rng = np.random.default_rng(0)
    edges = rng.integers(0, N - 1, (90, 2))  # the last node has no link
    X = rng.standard_normal((N, D)).astype(np.float32) * (rng.random((N, D)) < 0.3)
    return Graph.from_edges(edges[edges[:, 0] != edges[:, 1]], sp.csr_array(X) if sparse else X)


def objective(kind, *, sparse, dropout, recovering, aggregator="gcn", sampler="random", noise_weight=None):
    given, draw = graph(sparse), torch.Generator().manual_seed(1)
    network = Encoder(D, H, K, N, aggregator, generator=draw)
    with torch.no_grad():
        network.heads.W.mul_(3)  # log sigma beyond 1, and a few at its upper bound
        network.heads.W[:, 2 * H].mul_(40)
    if noise_weight is not None:
        network.W_z.requires_grad_(False).fill_(noise_weight)
    view = view_of(given, aggregator, CPU)
    if sparse:
        view = view_of_sparse(given, aggregator)
    nodes = torch.arange(0, N, 2)
    rest = {}
    if recovering:
        weight = torch.rand(N, 1, generator=draw) * (torch.rand(N, 1, generator=draw) < 0.4)
        H_emb, logits = torch.randn(N, H, generator=draw), torch.randn(N, K, generator=draw)
        stored = Fallback(weight, H_emb, logits)
        rest = {"fallback": stored, "match": Match.of_rows(torch.arange(5, N), stored)}
    return kind(
        network=network,
        view=view,
        schedule=diffused(5, 0.6),
        weights=LAMBDAS,
        train=(nodes, nodes % K),
        near=Neighbourhood(given, nodes.numpy(), CPU),
        sampler=SAMPLERS[sampler],
        val=(torch.arange(1, N, 2), torch.arange(1, N, 2) % K),
        dropout=dropout,
        **rest,
    )


def view_of_sparse(given, aggregator):
    """The view of a graph whose S X would be too large: X stays sparse."""
    view = view_of(given, aggregator, CPU)
    assert view.SX is not None
    view.X, view.SX = SparseMatrix(given.features, CPU), None
    return view


def after(task, epochs=2):
    """The losses, the gradients, the score and the inferred logits of an epoch in which rows are replaced."""
    for epoch in range(epochs):
        generator = torch.Generator().manual_seed(epoch)
        task.network.zero_grad()
        terms = task.losses(epoch, generator)
        score = task.score(generator)
        torch.stack(list(terms.values())).sum().backward()
    assert task._selection.wrong.any()
    found = {f"loss {name}": term.detach() for name, term in terms.items()} | {"score": score}
    return found | {f"of {name}": part.grad for name, part in task.network.named_parameters()}


@pytest.mark.parametrize("recovering", [False, True])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("rows", [1, 8, 1000])
def test_losses_and_gradients_are_those_of_plain_operations(monkeypatch, rows, sparse, dropout, recovering):
    monkeypatch.setitem(heads.NUMBERS, "cpu", rows * H)
    settings = {"sparse": sparse, "dropout": dropout, "recovering": recovering}
    plain, ours = (after(objective(kind, **settings)) for kind in (Objective, LinearObjective))
    assert plain.keys() == ours.keys()
    for name, expected in plain.items():
        torch.testing.assert_close(
            ours[name], expected, rtol=2e-5, atol=2e-6, msg=lambda said, name=name: f"{name}: {said}"
        )


@pytest.mark.parametrize("aggregator", ["sgc", "sage"])
@pytest.mark.parametrize("sampler", ["major", "degree"])
def test_every_linear_aggregator_and_sampler(aggregator, sampler):
    settings = {"sparse": False, "dropout": 0.3, "recovering": True, "aggregator": aggregator, "sampler": sampler}
    plain, ours = (after(objective(kind, **settings)) for kind in (Objective, LinearObjective))
    for name, expected in plain.items():
        torch.testing.assert_close(ours[name], expected, rtol=2e-5, atol=2e-6)


def test_a_fixed_noise_weight_gets_no_gradient():
    settings = {"sparse": False, "dropout": 0.0, "recovering": False, "noise_weight": 0.3}
    plain, ours = (after(objective(kind, **settings)) for kind in (Objective, LinearObjective))
    assert ours["of W_z"] is None
    torch.testing.assert_close(ours["of heads.W"], plain["of heads.W"], rtol=2e-5, atol=2e-6)


def test_the_buffers_serve_every_epoch():
    task = objective(LinearObjective, sparse=False, dropout=0.4, recovering=True)
    after(task, 1)
    before = {name: buffer.data_ptr() for name, buffer in task._heads._buffers.items()}
    after(task, 4)
    assert {name: buffer.data_ptr() for name, buffer in task._heads._buffers.items()} == before


@pytest.mark.skipif(find_spec("triton") is None, reason="Triton comes with torch's builds for GPUs, not with this one")
@pytest.mark.parametrize("recovering", [False, True])
@pytest.mark.parametrize("dropout", [0.0, 0.4])
def test_the_kernels_do_what_the_steps_do(recovering, dropout):
    """In a process of its own: on a CPU, Triton interprets its kernels only if it was told so before its import."""
    program = f"""
import torch
from gvdn.nn import heads, row_kernels
from reference import test_heads_pass as here
found = []
for steps in (heads.Steps, row_kernels.Kernels):
    heads.steps_on = lambda device: steps
    settings = dict(sparse=False, dropout={dropout}, recovering={recovering})
    found.append(here.after(here.objective(here.LinearObjective, **settings)))
for name, expected in found[0].items():
    torch.testing.assert_close(found[1][name], expected, rtol=2e-5, atol=2e-6, msg=lambda said: name + ": " + said)
"""
    paths = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
    environment = os.environ | {"PYTHONPATH": paths, "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
