import numpy as np
import pytest

from gvdn.errors import InvalidInput
from gvdn.perturbations.nettack.feature_flips import FLIPS

WORDS = np.array([[1, 0, 1], [0, 0, 0], [1, 1, 1], [0, 1, 0]], dtype=np.float32)
DIVIDED = WORDS / np.maximum(WORDS.sum(axis=1, keepdims=True), 1)


@pytest.mark.parametrize("node", [0, 2, 3])
def test_a_value_that_is_no_word_is_named_with_its_node(node):
    features = DIVIDED.copy()
    features[node, features[node].argmax()] = 0.7
    with pytest.raises(InvalidInput, match=f"expected binary features, .* got 0.7 on node {node};"):
        FLIPS["binary"](features)


def test_words_are_taken_plain_or_divided_by_their_number():
    FLIPS["binary"](WORDS)
    FLIPS["binary"](DIVIDED)
