import torch

from gvdn.seeds import borrow, derive, generator, torch_generator


def test_a_stream_is_named_by_its_purpose():
    assert generator(0, "a").integers(1 << 40) == generator(0, "a").integers(1 << 40)
    assert len({derive(seed, *words) for seed in (0, 1) for words in (("a",), ("b",), ("a", "b"), ("ab",))}) == 8


def test_torch_streams_agree_with_themselves():
    assert torch.equal(
        torch.rand(3, generator=torch_generator(1, "x")), torch.rand(3, generator=torch_generator(1, "x"))
    )


def test_the_global_generator_is_given_back():
    torch.manual_seed(5)
    expected = torch.rand(2)
    torch.manual_seed(5)
    with borrow(0, "init"):
        torch.rand(7)
    assert torch.equal(torch.rand(2), expected)
