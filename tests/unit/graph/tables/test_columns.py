"""What is learned of the columns of a node table, and that a later table is read alike."""

import json

import numpy as np
import pyarrow as pa
import pytest

import gvdn
from gvdn.errors import InvalidInput
from gvdn.graph import Columns, Graph, read_npz, write_npz

N = 24
LINKS = {"source": [f"a{i}" for i in range(N)], "target": [f"a{(i + 1) % N}" for i in range(N)]}


def people(**columns: object) -> dict[str, object]:
    labels = ["good" if i % 2 else "bad" for i in range(N)]
    return {"id": [f"a{i}" for i in range(N)], "label": labels, **columns}


def read(columns: Columns | None = None, kinds: dict[str, str] | None = None, **given: object) -> Graph:
    return Graph.from_tables(people(**given), LINKS, columns=columns, kinds=kinds)


def feature(graph: Graph, name: str) -> np.ndarray:
    return graph.dense_features()[:, graph.feature_names.index(name)]


NUMBERS = [float(i**2) for i in range(N)]


def test_numbers_are_scaled_to_mean_0_and_deviation_1():
    age = feature(read(age=NUMBERS), "age")
    np.testing.assert_allclose(age, (np.array(NUMBERS) - np.mean(NUMBERS)) / np.std(NUMBERS), rtol=1e-5)


@pytest.mark.parametrize(
    ("given", "scale"),
    [
        ([i % 2 for i in range(N)], 1),
        ([1] * (N - 1) + [0], 1),
        ([i if i % 3 == 0 and i < 10 else 0 for i in range(N)], 1),
        ([0.5 if i % 4 == 0 else 0 for i in range(N)], 1),
        ([400 if i == 3 else -300 if i == 4 else 0 for i in range(N)], (250_000 / 2) ** 0.5),
    ],
    ids=["words", "nearly all ones", "counts", "weights of words", "large and sparse"],
)
def test_zeros_of_words_and_counts_stay_zeros(given, scale):
    np.testing.assert_allclose(feature(read(word=given), "word"), np.array(given) / scale, rtol=1e-6)


def test_missing_numbers_are_filled_with_the_mean_flagged_and_said():
    given = [str(i) for i in range(N)]
    given[7], given[9] = "N/A", ""
    graph = read(age=given)
    assert graph.feature_names == ("age", "age=missing")
    assert feature(graph, "age")[[7, 9]].tolist() == [0, 0]
    assert np.flatnonzero(feature(graph, "age=missing")).tolist() == [7, 9]
    assert any("2 values are missing in the column 'age' (row 8 first)" in note for note in graph.notes)
    assert graph.columns.columns[0].missing == 2


def test_a_stray_word_among_numbers_is_named_with_its_row():
    with pytest.raises(
        InvalidInput, match=r"row 6: expected a number in the column 'age', got 'about 5'; .*age=category"
    ):
        read(age=[str(i) if i != 5 else "about 5" for i in range(N)])


@pytest.mark.parametrize(
    ("given", "value"),
    [("3,5", 3.5), ("-0,25", -0.25), ("1.234,5", 1234.5), ("12", 12.0)],
)
def test_decimal_commas_are_read_and_said(given, value):
    graph = read(price=[given, "7,25", *["0,5"] * (N - 2)], kinds={"price": "plain"})
    assert feature(graph, "price")[:3].tolist() == [value, 7.25, 0.5]
    assert "commas in the column 'price' are decimal commas" in graph.notes


def test_commas_between_thousands_are_no_decimal_commas():
    graph = read(price=["1,234.5", "1,234,567", *["2.5"] * (N - 2)], kinds={"price": "plain"})
    assert feature(graph, "price")[:3].tolist() == [1234.5, 1234567, 2.5]


def test_categories_are_one_hot_and_rare_ones_are_together():
    city = ["Rome"] * 10 + ["Oslo"] * 8 + ["Bern"] * 4 + ["Ulm", "Gent"]
    graph = read(city=city)
    assert graph.feature_names == ("city=Rome", "city=Oslo", "city=Bern", "city=other")
    assert graph.dense_features()[[0, 10, 18, 22, 23]].tolist() == np.eye(4)[[0, 1, 2, 3, 3]].tolist()
    assert graph.columns.columns[0].why == "2 rare values are together"


def test_only_the_fifty_most_frequent_categories_have_a_feature():
    many = [f"v{i % 60:02d}" for i in range(240)]
    nodes = {"id": list(range(240)), "code": many}
    graph = Graph.from_tables(nodes, {"source": [0], "target": [1]})
    assert graph.num_features == 51
    assert feature(graph, "code=other").sum() == 40


def test_an_unknown_category_is_said_and_counts_as_other():
    first = read(city=["Rome"] * 10 + ["Oslo"] * 13 + ["Ulm"])
    later = read(first.columns, city=["Rome"] * 10 + ["Oslo"] * 12 + ["Ulm", "Atlantis"])
    assert np.flatnonzero(feature(later, "city=other")).tolist() == [22, 23]
    (note,) = later.notes
    assert note.startswith("the column 'city' has 1 value not there when it was learned ('Atlantis'), on 1 node;")


def test_a_missing_category_is_a_value_of_its_own_if_one_was_missing_at_first():
    first = read(city=["Rome"] * 10 + ["Oslo"] * 12 + [None, "n/a"])
    assert np.flatnonzero(feature(first, "city=missing")).tolist() == [22, 23]
    later = read(read(city=["Rome"] * 10 + ["Oslo"] * 14).columns, city=["Rome"] * 10 + ["Oslo"] * 13 + [None])
    assert later.dense_features()[23].tolist() == [0, 0, 0]
    assert any("each counts as none of the values" in note for note in later.notes)


DAYS = [f"2024-03-{i % 28 + 1:02d}" for i in range(N)]


@pytest.mark.parametrize(
    "given",
    [
        DAYS,
        pa.array(DAYS).cast(pa.timestamp("s")).cast(pa.date32()),
        pa.array(DAYS).cast(pa.timestamp("ns")),
        pa.array(DAYS).cast(pa.timestamp("s")).cast(pa.timestamp("us", "UTC")),
        [f"{day[8:]}.{day[5:7]}.{day[:4]}" for day in DAYS],
        [f"{day}T12:30:00Z" for day in DAYS],
    ],
    ids=["text", "date", "ns", "zone", "points", "text with time"],
)
def test_dates_become_an_age_and_a_weekday(given):
    graph = read(joined=given)
    age = np.arange(N - 1, -1, -1.0)
    np.testing.assert_allclose(feature(graph, "joined, age in days"), (age - age.mean()) / age.std(), rtol=1e-5)
    assert np.flatnonzero(feature(graph, "joined=Friday")).tolist() == [0, 7, 14, 21]  # 1 March 2024 was a Friday
    assert graph.num_features == 8


def test_ages_are_counted_from_the_latest_date_of_the_first_table():
    first = read(joined=DAYS)
    later = read(first.columns, joined=["2024-03-24"] * N)
    assert feature(later, "joined, age in days")[0] == feature(first, "joined, age in days")[N - 1]


def test_every_feature_has_a_name_of_its_own():
    city = ["missing"] * 10 + ["Oslo"] * 13 + [None]
    graph = read(city=city, **{"city=Oslo": NUMBERS})
    assert graph.feature_names == (
        "city=Oslo", "city=missing", "city=other", "city=missing (2)", "city=Oslo (2)",
    )  # fmt: skip


def test_booleans_may_be_words():
    graph = read(vip=["yes" if i % 3 else "no" for i in range(N)], old=[i % 2 == 0 for i in range(N)])
    assert feature(graph, "vip").tolist() == [float(i % 3 > 0) for i in range(N)]
    assert feature(graph, "old").tolist() == [float(i % 2 == 0) for i in range(N)]


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ([f"text {i}" for i in range(N)], "the column 'it' is left out: nearly every value is different"),
        ([None] * N, "the column 'it' is left out: it has no values"),
        ([[1, 2]] * N, "the column 'it' is left out: values of the type list<item: int64> are not used"),
        (list(range(N)), "suspicious: the column 'it': it counts the rows; leave it out with --column it=ignore"),
        (list(range(5, N + 5)), "suspicious: the column 'it': it counts the rows"),
        ([7.5] * N, "the column 'it': the same value on every node"),
    ],
    ids=["text", "empty", "lists", "index", "index from 5", "constant"],
)
def test_what_is_no_feature_or_a_strange_one_is_said(given, sentence):
    assert any(sentence in note for note in read(x=NUMBERS, it=given).notes)


def test_the_user_may_say_what_a_column_is():
    graph = read(x=NUMBERS, shop=[i % 3 for i in range(N)], bio=["?"] * N, kinds={"shop": "category", "bio": "ignore"})
    assert graph.feature_names == ("x", "shop=0", "shop=1", "shop=2", "shop=other")
    with pytest.raises(InvalidInput, match="no column 'shpo' to choose the kind of; did you mean 'shop'"):
        read(shop=NUMBERS, kinds={"shpo": "category"})
    with pytest.raises(InvalidInput, match="unknown kind 'catgory' of the column 'shop'; did you mean 'category'"):
        read(shop=NUMBERS, kinds={"shop": "catgory"})


MIXED = {
    "age": [*map(str, range(N - 1)), "N/A"],
    "city": ["Rome"] * 10 + ["Oslo"] * 14,
    "joined": DAYS,
    "vip": ["yes", "no"] * 12,
    "bio": [f"text {i}" for i in range(N)],
}


def test_reordered_columns_and_rows_are_found_by_name():
    first = read(**MIXED)
    turned = {name: column[::-1] for name, column in reversed(people(**MIXED).items())}
    later = Graph.from_tables(turned, LINKS, columns=first.columns)
    assert later.feature_names == first.feature_names
    np.testing.assert_array_equal(later.dense_features()[later.locate(first.ids)], first.dense_features())


def test_a_missing_column_is_named_with_the_way_out_and_a_new_one_is_said():
    first = read(**MIXED)
    without = {name: column for name, column in MIXED.items() if name != "city"}
    with pytest.raises(
        InvalidInput, match=r"expected the column 'city', .* got none \(the column 'town' is new\); rename"
    ):
        read(first.columns, **without, town=MIXED["city"])
    later = read(first.columns, **MIXED, extra=NUMBERS)
    assert later.hash == first.hash
    assert later.notes[0].startswith("the column 'extra' is new since the columns were learned and not used")
    assert read(first.columns, **{name: column for name, column in MIXED.items() if name != "bio"}).hash == first.hash


def test_a_column_of_another_kind_is_named_at_its_first_value():
    first = read(**MIXED)
    with pytest.raises(InvalidInput, match="row 1: expected a date in the column 'joined', got 'soon'"):
        read(first.columns, **MIXED | {"joined": ["soon"] * N})
    with pytest.raises(InvalidInput, match="expected numbers in the column 'age', got date32"):
        read(first.columns, **MIXED | {"age": pa.array(DAYS).cast(pa.timestamp("s")).cast(pa.date32())})


def test_the_schema_survives_json_and_npz(tmp_path):
    graph = read(**MIXED)
    assert Columns.from_json(json.loads(json.dumps(graph.columns.as_json()))) == graph.columns
    write_npz(graph, tmp_path / "graph.npz")
    assert read_npz(tmp_path / "graph.npz").columns == graph.columns


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"columns": [{"name": "x"}]}, "expected kind in column 0 of the columns"),
        ({"colums": []}, "unknown key 'colums'.*did you mean 'columns'"),
        ({"structure": {"mean": 0, "scale": 0, "codes": 8, "steps": 2}}, "expected a positive scale"),
        ({"structure": {"mean": 0, "scale": 1, "codes": 8, "steps": 1e9}}, "expected a whole number as steps"),
        ({"structure": {"mean": 0, "scale": 1, "anchors": []}}, "unknown key 'anchors'"),
    ],
)
def test_a_broken_schema_is_one_sentence(change, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        Columns.from_json({"columns": []} | change)


def test_a_model_keeps_the_columns_and_refuses_a_table_that_was_read_otherwise(tmp_path):
    first, later = read(**MIXED), {**MIXED, "age": [str(3 * i) for i in range(N)]}
    model = gvdn.make_method("gcn", epochs=2, hidden=4).fit(first, gvdn.random_split(first, seed=0), seed=0)
    model.save(tmp_path / "model")
    back = gvdn.load_model(tmp_path / "model")
    assert back.columns_ == first.columns
    with pytest.raises(
        InvalidInput, match=r"\(the column 'age' is .* load it with gvdn.load_graph\(path, columns=model"
    ):
        back.predict(read(**later))
    assert len(back.predict(read(back.columns_, **later))) == N
