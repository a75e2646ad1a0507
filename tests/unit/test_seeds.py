import torch

from gvdn.seeds import borrow, derive, stream, torch_stream


def test_a_stream_is_named_by_its_purpose():
    assert stream(0, "a").integers(1 << 40) == stream(0, "a").integers(1 << 40)
    assert len({derive(seed, *words) for seed in (0, 1) for words in (("a",), ("b",), ("a", "b"), ("ab",))}) == 8


def test_torch_streams_agree_with_themselves():
    assert torch.equal(torch.rand(3, generator=torch_stream(1, "x")), torch.rand(3, generator=torch_stream(1, "x")))


def test_the_global_generator_is_given_back():
    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    with borrow(0, "init"):
        torch.rand(7)
    assert torch.equal(torch.rand(2), expected)
