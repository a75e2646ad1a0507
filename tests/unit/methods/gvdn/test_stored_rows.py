"""What a prediction takes from the memory: rows are gathered where they have a weight, and only then."""

import numpy as np
import torch

import gvdn
from gvdn.methods.gvdn import memory
from gvdn.methods.gvdn.memory import gather_rows


def test_rows_are_gathered_and_zero_where_there_is_none():
    matrix = torch.arange(6.0).reshape(3, 2)
    assert gather_rows(matrix, np.array([2, -1, 0])).tolist() == [[4, 5], [0, 0], [0, 1]]
    same = gather_rows(matrix, np.arange(3))
    assert torch.equal(same, matrix)
    same[0] = 9
    assert matrix[0].tolist() == [0, 1], "the matrix is not written to"
    assert gather_rows(matrix[:0], np.array([-1, -1])).tolist() == [[0, 0], [0, 0]]


def test_stored_rows_are_gathered_only_where_they_have_a_weight(ring, split, monkeypatch):
    model = gvdn.GVDN(hidden=4, epochs=3, recovery_epochs=2, trust=False).fit(ring, split, seed=0)
    healed, gathered = model.recover(ring), []

    def counted(matrix: torch.Tensor, rows: np.ndarray) -> torch.Tensor:
        gathered.append(len(rows))
        return gather_rows(matrix, rows)

    monkeypatch.setattr(memory, "gather_rows", counted)
    healed.predict(ring)
    assert not gathered, "all evidence is there"
    bare = gvdn.Graph(ring.adjacency, 0 * ring.dense_features(), labels=ring.labels, ids=ring.ids)
    healed.predict(bare)
    assert gathered == [ring.num_nodes] * 2
