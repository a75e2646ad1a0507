import numpy as np
import pytest
from small_models import scaled, small_method, stripped

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


def test_predictions_of_a_model_that_diagnoses_say_who_is_suspicious_and_how_they_were_made(fitted, ring):
    loud, bare = scaled(ring, 7, 50.0), stripped(ring, 30)
    table = answer_table(fitted, loud)
    assert table.column_names[-2:] == ["suspicious", "why"]
    assert table["suspicious"].to_pylist()[7]
    assert "times the largest norm seen" in table["why"].to_pylist()[7]
    why = answer_table(fitted.recover(loud), loud)["why"].to_pylist()
    assert why[7].endswith("its feature row was scaled down")
    assert why[8].endswith("a neighbour's feature row was scaled down")
    assert answer_table(fitted.recover(bare), bare)["why"].to_pylist()[30].endswith("stored answer, weight 100%")


def test_a_withheld_node_is_new_to_the_diagnosis_of_the_recovered_model(fitted, ring):
    recovered = fitted.recover(ring, known=ring.ids[1:])
    assert recovered.diagnose(ring).new_nodes.tolist() == [ring.ids[0]]
    assert not len(fitted.diagnose(ring).new_nodes)
