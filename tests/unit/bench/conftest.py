"""A graph on disk that cells can name."""

import pytest

from gvdn.graph import Graph, write_npz


@pytest.fixture
def dataset(ring: Graph, tmp_path) -> str:
    (tmp_path / "ring").mkdir()
    write_npz(ring, tmp_path / "ring" / "graph.npz")
    return str(tmp_path / "ring")
