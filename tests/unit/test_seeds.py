import numpy as np
import pytest
import torch

from gvdn.errors import InvalidInput
from gvdn.seeds import borrow, derive, generator, torch_generator, whole_seed


def test_a_generator_is_named_by_its_purpose():
    assert generator(0, "a").integers(1 << 40) == generator(0, "a").integers(1 << 40)
    assert len({derive(seed, *words) for seed in (0, 1) for words in (("a",), ("b",), ("a", "b"), ("ab",))}) == 8


def test_torch_generators_of_one_purpose_agree():
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


@pytest.mark.parametrize("seed", [1.5, 1.0, "1", None])
def test_a_seed_that_is_no_whole_number_is_refused(seed):
    for use in (whole_seed, derive, generator, torch_generator):
        with pytest.raises(InvalidInput, match=f"expected a whole number as seed, got {seed!r}; give an int"):
            use(seed)


def test_a_numpy_integer_is_a_whole_number():
    assert derive(np.int64(3), "a") == derive(3, "a")
