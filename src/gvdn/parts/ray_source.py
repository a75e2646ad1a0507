"""Tables of many Parquet files, read by Ray Data: workers decode files, compute features and look up ids.

Blocks come back in the order of the rows, so that the parts are those of `TableSource`. What needs all
nodes at once, ids, labels, what becomes of each column, and which node goes to which part, stays in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from gvdn.cluster import ray_session
from gvdn.errors import InvalidInput
from gvdn.graph import Columns
from gvdn.graph.graph import Features
from gvdn.graph.tables import reading
from gvdn.graph.tables.encoding import encode
from gvdn.graph.tables.links import read_links
from gvdn.parts import source
from gvdn.parts.tables import files_of

STORE = 512 * 2**20
"""Bytes of the object store of a Ray that is started here, besides the ids."""
LOOKS = (1 << 16, 1 << 18)
"""Nodes and links that a worker looks at together."""


class RayTableSource(source.TableSource):
    """As `TableSource`, of Parquet files.

    Args:
        workers: tasks at a time, of a Ray that is started here; a cluster takes as many as it has CPUs for.
        address: of a Ray cluster; without one, a local Ray is started.
    """

    def __init__(self, nodes: Path, edges: Path, *, workers: int = 1, address: str | None = None, **how: Any) -> None:
        super().__init__(nodes, edges, **how)
        self.workers, self.address = workers, address

    def session(self) -> AbstractContextManager[Any]:
        """The Ray that reads; where it is entered around all of the work, one is started instead of two."""
        return ray_session(self.address, cpus=self.workers, store=STORE + 2 * self.named.ids.nbytes)

    def features(self) -> Iterator[Features]:
        first = next(super().features(), None)
        encoder = EncodeRows(self.columns, str(self.nodes), sparse=sp.issparse(first))
        for table in self._read(self.nodes, lambda ray: encoder, LOOKS[0]):
            yield encoder.decoded(table)

    def _links(self) -> Iterator[tuple[np.ndarray, np.ndarray | None]]:
        def finder(ray: Any) -> Callable[[pa.Table], pa.Table]:
            return FindLinks(ray.put(self.named.ids), str(self.edges), self.relation)

        for table in self._read(self.edges, finder, LOOKS[1]):
            ends = np.stack([table[name].to_numpy() for name in (reading.SOURCE, reading.TARGET)], axis=1)
            yield ends, table["weight"].to_numpy() if "weight" in table.column_names else None

    def _read(self, path: Path, task: Callable[[Any], Callable[[pa.Table], pa.Table]], rows: int) -> Iterator[pa.Table]:
        """What a task makes of the rows of a table, in their order."""
        with self.session() as ray:
            from ray.data import DataContext, read_parquet
            from ray.exceptions import RayError

            context = DataContext.get_current()
            context.enable_progress_bars, context.execution_options.preserve_order = False, True
            files = [str(file.resolve()) for file in files_of(path)]
            try:
                read = read_parquet(files, partitioning=None)
                found = read.map_batches(task(ray), batch_size=rows, batch_format="pyarrow", zero_copy_batch=True)
                yield from found.iter_batches(batch_size=None, batch_format="pyarrow")
            except (RayError, InvalidInput, pa.ArrowException) as problem:
                self._say_where(path)
                why = (str(problem).splitlines() or ["?"])[-1]
                raise InvalidInput(f"{path}: Ray could not read the table ({why.strip()})") from problem

    def _say_where(self, path: Path) -> None:
        """Read the table in one process, which raises with the row that is wrong, if one is."""
        for _ in super().features() if path == self.nodes else super()._links():
            pass


class EncodeRows:
    """On a worker: the feature rows of some nodes, as lists."""

    def __init__(self, columns: Columns, where: str, *, sparse: bool) -> None:
        self.columns, self.where, self.sparse = columns, where, sparse

    def __call__(self, table: pa.Table) -> pa.Table:
        rows = encode(self.columns, table, self.where, learned=True)[0]
        if self.sparse:
            matrix = sp.csr_array(rows)
            starts = matrix.indptr.astype(np.int32)
            columns, values = matrix.indices.astype(np.int32), matrix.data.astype(np.float32)
            held = {"x_columns": columns, "x_values": values}
            return pa.table({name: pa.ListArray.from_arrays(starts, one) for name, one in held.items()})
        dense = rows if isinstance(rows, np.ndarray) else rows.toarray()
        starts = np.arange(len(dense) + 1, dtype=np.int32) * dense.shape[1]
        return pa.table({"x": pa.ListArray.from_arrays(starts, dense.astype(np.float32).ravel())})

    def decoded(self, table: pa.Table) -> Features:
        """The feature rows of what the call returned."""
        width = len(self.columns.feature_names)
        flat = {name: table[name].combine_chunks() for name in table.column_names}
        if not self.sparse:
            return flat["x"].flatten().to_numpy(zero_copy_only=False).reshape(table.num_rows, width)
        offsets = flat["x_columns"].offsets.to_numpy()
        columns, values = (flat[name].flatten().to_numpy(zero_copy_only=False) for name in ("x_columns", "x_values"))
        return sp.csr_array((values, columns, offsets - offsets[0]), shape=(table.num_rows, width))


class FindLinks:
    """On a worker: the ends of some links as positions of nodes, with their weights, where there are any."""

    def __init__(self, ids: Any, where: str, relation: str | None) -> None:
        self.ids, self.where, self.relation = ids, where, relation

    def __call__(self, table: pa.Table) -> pa.Table:
        import ray

        reading.require_columns(table, self.where, reading.SOURCE, reading.TARGET)
        found = read_links(table, ray.get(self.ids), self.where, self.relation)
        columns = {reading.SOURCE: found.pairs[:, 0], reading.TARGET: found.pairs[:, 1]}
        return pa.table(columns | ({} if found.weights is None else {"weight": found.weights}))
