"""The table of links: its ends, the weight, the relation; no column of it is dropped without a word."""

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from gvdn.errors import InvalidInput
from gvdn.graph.tables import values
from gvdn.graph.tables.learning import listed
from gvdn.limits import short
from gvdn.registry import did_you_mean

SOURCE, TARGET, WEIGHT = "source", "target", "weight"
RELATIONS = ("relation", "type", "kind", "edge_type")
"""Columns that say of which relation a link is; the first that is there counts."""
HEAVY = 100.0
QUOTE = "'"


class Links(NamedTuple):
    """Pairs of positions, their weights where there is a column of them, and what a user should know."""

    pairs: np.ndarray
    weights: np.ndarray | None
    notes: list[str]


def read_links(table: pa.Table, keys: pa.Array, where: str, relation: str | None) -> Links:
    """The links between the nodes of these ids, or only those of one relation."""
    ends = [_positions(where, table, end, keys) for end in (SOURCE, TARGET)]
    weights = _weights(where, table)
    chosen, notes = _relation(where, table, relation)
    pairs = np.stack(ends, axis=1)[chosen]
    if weights is not None:
        weights = weights[chosen]
        if len(weights) and np.median(weights) > HEAVY:
            notes.append(
                f"the median weight of the links is {np.median(weights):,.6g}, that of a node's own loop is 1, so its "
                "own features will count little; divide the weights, or take their logarithm"
            )
    return Links(pairs, weights, notes)


def _positions(where: str, table: pa.Table, end: str, keys: pa.Array) -> np.ndarray:
    """The position of each end of a link in the node table."""
    ends = values.one_array(table[end])
    values.require_values(where, ends, f"the {end} is missing; every edge has two ends")
    found = pc.index_in(as_type(ends, keys.type), value_set=keys)
    unknown = values.first(pc.is_null(found))
    if unknown is not None:
        what = f"the {end} {short(ends[unknown].as_py())} is no id of the node table"
        raise InvalidInput(f"{where}, row {unknown + 1}: {what}; add the node or drop the edge")
    return found.to_numpy(zero_copy_only=False).astype(np.int64)


def as_type(ends: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The ends in the type of the ids; what cannot be cast becomes null, and so a missing node."""
    if pa.types.is_string(ends.type) and not pa.types.is_string(wanted):
        whole = pc.match_substring_regex(ends, r"^-?\d{1,18}$")
        return pc.if_else(whole, ends, pa.scalar(None, pa.string())).cast(pa.int64())
    return ends.cast(wanted)


def _weights(where: str, table: pa.Table) -> np.ndarray | None:
    if WEIGHT not in table.column_names:
        return None
    array = values.one_array(table[WEIGHT])
    found = values.numbers(array)
    if found is None:
        raise InvalidInput(f"{where}: expected positive numbers in the column weight, got {array.type}; convert them")
    with np.errstate(over="ignore", under="ignore"):
        single = found.numbers.astype(np.float32)
    bad = np.flatnonzero(~(np.isfinite(single) & (single > 0)))
    if bad.size:
        got = "none" if found.missing[bad[0]] else short(array[int(bad[0])].as_py())
        do = "leave out links that are none" if not found.missing[bad[0]] else "a link without one needs the weight 1"
        raise InvalidInput(f"{where}, row {bad[0] + 1}: expected a positive number as weight, got {got}; {do}")
    return found.numbers


def _relation(where: str, table: pa.Table, wanted: str | None) -> tuple[np.ndarray, list[str]]:
    """Which links count, and sentences about relations and about columns that are not used."""
    there = [name for name in RELATIONS if name in table.column_names]
    others = [name for name in table.column_names if name not in (SOURCE, TARGET, WEIGHT, *there[:1])]
    notes, every = [], np.ones(table.num_rows, dtype=bool)
    if others:
        are = "is" if len(others) == 1 else "are"
        notes.append(f"{listed(others)} of the links {are} not used; only weight and relation are")
    if not there:
        if wanted is not None:
            raise InvalidInput(f"{where}: expected a column relation to choose {wanted!r} from, got none; add it")
        return every, notes
    words = values.words(values.one_array(table[there[0]]))
    if words is None:
        raise InvalidInput(f"{where}: expected names of relations in {there[0]!r}, got {table[there[0]].type}")
    counted = {one["values"]: one["counts"] for one in pc.value_counts(words.drop_null()).to_pylist()}
    if wanted is not None:
        if wanted not in counted:
            raise InvalidInput(f"{where}: there is no relation {wanted!r}{did_you_mean(wanted, sorted(counted)[:20])}")
        chosen = np.asarray(pc.fill_null(pc.equal(words, wanted), False).to_numpy(zero_copy_only=False), dtype=bool)
        notes.append(f"only the {counted[wanted]:,} links of the relation {wanted!r} are used, of {len(words):,}")
        return chosen, notes
    if len(counted) > 1:
        most = sorted(counted.items(), key=lambda one: (-one[1], one[0]))
        shown = ", ".join(f"{short(name).strip(QUOTE)} {number:,}" for name, number in most[:5]) + (
            ", …" if len(most) > 5 else ""
        )
        notes.append(f"the links of {len(counted):,} relations are joined ({shown}); --relation NAME takes one of them")
    return every, notes
