import pytest
import torch

from gvdn.nn.dropout import NO_DROPOUT, Dropout


def seeded(rate, seed=0):
    return Dropout(rate, torch.Generator().manual_seed(seed))


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.5, 0.7, 0.95])
def test_the_share_that_is_left_and_its_scale(rate):
    H = torch.ones(1000, 400)
    after = seeded(rate)(H)
    assert set(after.unique().tolist()) == {0.0, torch.tensor(1 / (1 - rate)).item()}
    assert abs((after > 0).float().mean().item() - (1 - rate)) < 5 * (rate * (1 - rate) / H.numel()) ** 0.5
    assert abs(after.mean().item() - 1) < 0.01


def test_entries_are_independent_of_their_neighbours():
    """Four entries are drawn with one number: each pair of them must not know of the other."""
    left = seeded(0.5)(torch.ones(250_000, 4)) > 0
    for a in range(4):
        for b in range(a):
            assert abs((left[:, a] & left[:, b]).float().mean().item() - 0.25) < 0.005
    assert abs((left[1:, 0] & left[:-1, 3]).float().mean().item() - 0.25) < 0.005


def test_a_seed_gives_the_same_draw_and_the_next_draw_is_another():
    dropout, H = seeded(0.4), torch.ones(3, 7)
    first, second = dropout(H), dropout(H)
    assert torch.equal(first, seeded(0.4)(H))
    assert not torch.equal(first, second)


@pytest.mark.parametrize("shape", [(0, 5), (1, 1), (3, 5), (2, 3, 4)])
def test_any_shape(shape):
    assert seeded(0.5)(torch.ones(shape)).shape == shape


def test_a_tiny_rate_drops_next_to_nothing():
    assert seeded(1e-9)(torch.ones(1000, 10)).count_nonzero() > 9_990


def test_the_gradient_is_that_of_the_entries_left():
    H = torch.ones(20, 3, requires_grad=True)
    after = seeded(0.5)(H)
    after.sum().backward()
    assert torch.equal(H.grad, after.detach())


def test_no_dropout_gives_the_tensor_itself():
    H = torch.ones(2, 2)
    assert NO_DROPOUT(H) is H
