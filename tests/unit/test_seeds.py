import numpy as np
import pytest
import torch

from gvdn.errors import InvalidInput
from gvdn.seeds import derive, generator, torch_generator, whole_seed


def test_a_generator_is_named_by_its_purpose():
    assert generator(0, "a").integers(1 << 40) == generator(0, "a").integers(1 << 40)
    assert len({derive(seed, *words) for seed in (0, 1) for words in (("a",), ("b",), ("a", "b"), ("ab",))}) == 8


def test_torch_generators_of_one_purpose_agree():
    assert torch.equal(
        torch.rand(3, generator=torch_generator(1, "x")), torch.rand(3, generator=torch_generator(1, "x"))
    )


def test_torchs_global_generator_is_neither_used_nor_changed():
    before = torch.get_rng_state()
    torch.rand(7, generator=torch_generator(0, "init"))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("seed", [1.5, 1.0, "1", None])
def test_a_seed_that_is_no_whole_number_is_refused(seed):
    for use in (whole_seed, derive, generator, torch_generator):
        with pytest.raises(InvalidInput, match=f"expected a whole number as seed, got {seed!r}; give an int"):
            use(seed)


def test_a_numpy_integer_is_a_whole_number():
    assert derive(np.int64(3), "a") == derive(3, "a")
