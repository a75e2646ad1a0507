"""Records of other code that hold for the present code: runs that differ from theirs in the seed alone were measured
again and gave the same numbers."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from gvdn.bench.code import code_of
from gvdn.bench.writing import Written
from gvdn.study import Record
from gvdn.study.store import only_writer

Group = tuple[str, str | None, str, str | None]
"""What was asked but for the seed, the code that it was measured with, the code that it depends on now, the device.

A record that was confirmed before was measured with its `measured_with`."""


class Confirmed(NamedTuple):
    """What a sample says of the records of other code.

    Attributes:
        records: those that hold, with the hash of the present code and, in `measured_with`, that of the code that they
            were measured with.
        differing: the sampled runs that gave other numbers; no record of their group holds.
    """

    records: list[Record]
    differing: list[Record]


def sampled(records: Mapping[str, Record], keys: Iterable[str], number: int) -> frozenset[str]:
    """Of the runs of each group, which differ in the seed alone, the keys of a number of them with the lowest seeds."""
    groups: dict[Group, list[Record]] = {}
    for key in keys:
        groups.setdefault(_group(records[key]), []).append(records[key])
    chosen = (sorted(group, key=lambda one: one.cell.seed)[:number] for group in groups.values())
    return frozenset(one.key for group in chosen for one in group)


def confirm(before: Mapping[str, Record], keys: Iterable[str], again: Iterable[Record]) -> Confirmed:
    """The records of other code that hold, given those that were measured again.

    Args:
        before: the records before that.
        keys: those of other code, sampled or not.
    """
    verdicts: dict[Group, bool] = {}
    done, differing = {one.key for one in again}, []
    for one in again:
        if one.key in before and one.error is None:
            group = _group(before[one.key])
            same = before[one.key].device == one.device and numbers(one) == numbers(before[one.key])
            verdicts[group] = verdicts.get(group, True) and same
            differing += [] if same else [one]
    left = [before[key] for key in keys if key not in done and verdicts.get(_group(before[key]))]
    return Confirmed(
        [replace(one, code=code_of(one.cell, one.mode), measured_with=_measured_with(one)) for one in left], differing
    )


def keep(path: Path, records: Iterable[Record]) -> None:
    """Append records to the file that holds those that they replace; to this one where that is none."""
    records = list(records)
    with only_writer(path.parent):
        written = Written(path, {one.key for one in records})
        for one in records:
            written.add(one)


def numbers(record: Record) -> tuple[object, ...]:
    """What two runs of the same code, seed and device have in common: all but seconds, memory, versions and commit."""
    scores = (record.scores, record.clean, record.epoch, record.validation, record.graph, record.settings)
    return (*scores, record.recovery, record.links, record.losses, record.separation, record.map, record.counts)


def _group(record: Record) -> Group:
    asked = replace(record.cell, seed=0).key(record.mode)
    return asked, _measured_with(record), code_of(record.cell, record.mode), record.device


def _measured_with(record: Record) -> str | None:
    return record.measured_with or record.code
