import json

import pytest

from gvdn.errors import InvalidInput
from gvdn.study import Cell, Mode, Record, Scores

SCORES = Scores(0.8, 0.3, 0.05, 0.4, 10)
CELL = Cell("ring", "gcn", 0, settings={"epochs": 3})
RECORD = Record(
    cell=CELL,
    mode=Mode.EVASION,
    scores=SCORES,
    clean=SCORES,
    settings={"epochs": 3},
    graph="abc",
    epoch=2,
    validation=0.5,
    seconds={"fit": 1.5},
    peak_mib=10.0,
    device="cpu, 1 threads",
    gvdn="0.1.0",
    torch="2.0",
    python="3.11",
    commit="abc1234",
)

MAP = {
    "ids": ["a"],
    "classes": [0],
    "victims": [1],
    "class_names": ["A"],
    "states": {"clean": {"xy": [[0.0, 1.0]], "answers": [0]}},
}


def test_a_record_goes_through_json_and_comes_back():
    content = json.loads(json.dumps(RECORD.to_json()))
    assert Record.from_json(content) == RECORD
    assert content["key"] == CELL.key(Mode.EVASION)
    assert content["mode"] == "evasion"
    assert content["accuracy"] == 0.8
    assert content["clean"]["nodes"] == 10


def test_what_was_not_measured_is_left_out_of_the_json():
    content = Record(cell=CELL, mode=Mode.EVASION, error="broken").to_json()
    assert content == {"key": CELL.key(Mode.EVASION), "cell": CELL.asked(), "mode": "evasion", "error": "broken"}


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"colour": 1}, "unknown key 'colour' in a record"),
        ({"acuracy": 1}, "unknown key 'acuracy' in a record; did you mean 'accuracy'"),
        ({"mode": "afterwards"}, "unknown mode 'afterwards' of a record"),
        ({"mode": None}, "expected text as mode of a record, got None"),
        ({"cell": {"dataset": "ring"}}, "expected seed in the cell of a record, got dataset"),
        ({"cell": {"dataset": "ring", "seed": 1.5}}, "expected a whole number as seed of the cell"),
        ({"cell": {"dataset": "ring", "seed": 1, "sede": 1}}, "unknown key 'sede' in the cell of a record"),
        ({"cell": 3}, "expected a table as cell of a record, got 3"),
        ({"cell": {"dataset": "ring", "method": "gcn", "seed": 1}}, "expected the key"),
        ({"key": {}}, "expected text as key of a record, got {}"),
        ({"key": "0000"}, "expected the key .* got 0000"),
        ({"ece": ...}, "expected ece in the scores"),
        ({"accuracy": ...}, "has no scores"),
        ({"accuracy": 1.5}, "expected accuracy of a record from 0 to 1"),
        ({"accuracy": "0.5"}, "expected a number as accuracy of a record"),
        ({"seconds": {"fit": "long"}}, "expected a number as seconds of a record"),
        ({"settings": {"a": [1]}}, "expected a number, text, true or false as settings of a record"),
        ({"counts": {"nodes": "3"}}, "expected a number as counts of a record"),
        ({"losses": {"fit": {"ce": ["x"]}}}, "expected a number as losses of a record"),
        ({"map": {"ids": []}}, "expected .* in map of a record, got ids"),
        ({"map": MAP | {"victims": [0.5]}}, "expected a whole number as victims of map of a record"),
        ({"map": MAP | {"states": {"clean": {"xy": [[0.0]], "answers": [0]}}}}, "from 2 to 2, got 1 of them"),
        ({"map": MAP | {"classes": [0, 1]}}, "expected one entry for each of its nodes in every part of a map"),
        ({"clean": {"accuracy": 1}}, "expected entropy in the scores, got accuracy"),
    ],
)
def test_a_record_that_is_not_whole_is_refused_in_a_sentence(change, sentence):
    content = RECORD.to_json() | change
    content = {name: value for name, value in content.items() if value is not ...}
    with pytest.raises(InvalidInput, match=sentence):
        Record.from_json(content)


@pytest.mark.parametrize("mode", [Mode.MAPPED, Mode.MAPPED_BY_EPOCH, Mode.WITH_LOSSES, Mode.STREAMED, Mode.COUNTS])
def test_a_mode_that_keeps_more_than_scores_needs_it(mode):
    content = Record(cell=CELL, mode=mode, scores=SCORES).to_json()
    with pytest.raises(InvalidInput, match="has no"):
        Record.from_json(content)
