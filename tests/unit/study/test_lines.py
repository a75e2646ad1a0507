import json
from dataclasses import replace

import pytest
from made_records import record

from gvdn.study import Cell, Mode
from gvdn.study.store import as_line


def test_the_line_of_a_record_does_not_depend_on_the_order_of_its_keys():
    cell = Cell("debian", "gcn", 0, settings={"hidden": 8, "epochs": 3})
    other = replace(cell, settings=dict(reversed(cell.settings.items())))
    assert list(other.settings) != list(cell.settings)
    lines = [as_line(record(one, Mode.CLEAN)) for one in (cell, other)]
    assert lines[0] == lines[1]
    assert lines[0].count("\n") == 1
    assert json.loads(lines[0])["key"] == cell.key(Mode.CLEAN)


def test_a_record_with_nan_has_no_line():
    with pytest.raises(ValueError, match="not JSON compliant"):
        as_line(record(Cell("debian", "gcn", 0), Mode.CLEAN, accuracy=float("nan")))
