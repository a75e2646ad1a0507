import numpy as np
import pytest
from small_models import small_method

from gvdn.errors import InvalidInput
from gvdn.methods.answers import answer_table


def test_the_table_has_a_row_for_every_node(fitted, ring):
    table = answer_table(fitted, ring, 3, embeddings=True)
    probabilities = ["p_a", "p_b", "p_c"]
    hidden = [f"h{number}" for number in range(8)]
    assert table.column_names == ["id", "class", *probabilities, "entropy", "mutual_information", *hidden]
    assert table["id"].to_pylist() == ring.ids.tolist()
    probs = np.stack([table[name].to_numpy() for name in probabilities], axis=1)
    assert np.array_equal(probs, fitted.uncertainty(ring, 3).probs)
    assert table["class"].to_pylist() == np.array(ring.class_names)[probs.argmax(axis=1)].tolist()
    assert 0 <= min(table["entropy"].to_pylist()) <= max(table["entropy"].to_pylist()) <= 1


def test_what_a_method_does_not_declare_is_refused(ring, split):
    model = small_method("gcn", epochs=1).fit(ring, split, seed=0)
    with pytest.raises(InvalidInput, match="a model of the method gcn has no uncertainty; ask for its predictions"):
        answer_table(model, ring, 3)
    assert answer_table(model, ring).num_rows == 60
