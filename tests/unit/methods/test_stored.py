import pytest

from gvdn.errors import InvalidInput
from gvdn.methods.stored import Tensor, declared_sizes


def test_only_ids_may_be_text():
    labels = Tensor("int64", (3,))
    assert declared_sizes({"y": labels}, {"y": "labels n"}, {})["n"] == 3
    assert declared_sizes({"ids.text": Tensor("uint8", (3, 4))}, {"ids": "ids n"}, {})["n"] == 3
    with pytest.raises(InvalidInput, match="expected y as labels, got text"):
        declared_sizes({"y": labels, "y.text": Tensor("uint8", (3, 4))}, {"y": "labels n"}, {})
    with pytest.raises(InvalidInput, match="expected the array ids once, got it as numbers and as text"):
        both = {"ids": labels, "ids.text": Tensor("uint8", (3, 4))}
        declared_sizes(both, {"ids": "ids n"}, {})
