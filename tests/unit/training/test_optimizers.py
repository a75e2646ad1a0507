"""Adam on a GPU is torch's Adam."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest
import torch

from gvdn.training import optimizers

PROGRAM = """
import torch
from gvdn.training import adam_kernel
draw = torch.Generator().manual_seed(0)
given = [torch.randn(shape, generator=draw) for shape in ((37, 90), (5,), (1, 1))]
for decay in (0.0, 0.1):
    ours, theirs = ([torch.nn.Parameter(one.clone()) for one in given] for _ in range(2))
    settings = {"lr": 0.01, "weight_decay": decay}
    steps = adam_kernel.KernelAdam(ours, **settings), torch.optim.Adam(theirs, **settings)
    for number in range(12):
        for one, other in zip(ours, theirs, strict=True):
            one.grad = other.grad = torch.randn(one.shape, generator=draw) * (one.detach() > 0)
        for optimizer in steps:
            optimizer.step()
        if number == 5:
            steps[0].load_state_dict(steps[1].state_dict())
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-5, atol=1e-6)
"""


@pytest.mark.skipif(find_spec("triton") is None, reason="Triton comes with torch's builds for GPUs, not with this one")
def test_the_kernel_does_what_torch_does():
    """In a process of its own: on a CPU, Triton interprets its kernels only if it was told so before its import."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "TRITON_INTERPRET": "1"}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_on_a_cpu_it_is_torchs_own():
    weights = torch.nn.Parameter(torch.ones(2))
    made = optimizers.adam([weights], torch.device("cpu"), lr=0.5)
    assert type(made) is torch.optim.Adam
    weights.grad = torch.ones(2)
    made.step()
    torch.testing.assert_close(weights.detach(), torch.full((2,), 0.5))
