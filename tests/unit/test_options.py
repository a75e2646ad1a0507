"""Options of the command line that do something when they are read."""

import pytest
import torch

from gvdn.cli import options


@pytest.mark.parametrize(
    ("device", "chosen"),
    [("cuda:1", [1]), ("cuda:7", []), ("cuda", []), ("cpu", []), ("cuda:", []), ("toaster", [])],
)
def test_a_gpu_that_is_named_by_its_number_becomes_the_current_one(monkeypatch, device, chosen):
    asked: list[int] = []
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setattr(torch.cuda, "set_device", asked.append)
    assert options._on_this_gpu(device) == device
    assert asked == chosen
