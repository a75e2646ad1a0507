import numpy as np
import torch

from gvdn.methods.gvdn.recovery import with_training_labels, withheld
from gvdn.methods.labels import StoredLabels


def test_nodes_of_the_training_set_get_their_label_back_and_others_keep_the_pseudo_label():
    pseudo, ids = torch.tensor([7, 8, 9]), np.array(["a", "b", "c"])
    none = (np.empty(0, dtype=str), np.empty(0, dtype=np.int64))
    one = with_training_labels(pseudo, ids, StoredLabels(np.array(["b"]), np.array([4]), *none, none[0]))
    assert one.tolist() == [7, 4, 9]
    two = with_training_labels(pseudo, ids, StoredLabels(np.array(["c", "a"]), np.array([1, 2]), *none, none[0]))
    assert two.tolist() == [2, 8, 1]


def test_a_node_is_withheld_if_it_was_stored_and_is_not_known():
    stored, known = np.array(["a", "b", "c"]), np.array(["b", "d"])
    assert withheld(stored, known, np.array(["a", "b", "c", "d", "e"])).tolist() == [True, False, True, False, False]
    assert withheld(stored, stored, stored).tolist() == [False] * 3
