import pytest

from gvdn.errors import InvalidInput
from gvdn.schema import MOST_DOTS, SETTINGS, Field, checked, parse_json, read_json, read_toml

SCHEMA = {
    "name": Field(str),
    "count": Field(int, low=0, high=10),
    "share": Field(float, optional=True, low=0, high=1),
    "flag": Field(bool, optional=True),
    "seeds": Field(list, optional=True, items=Field(int)),
    "more": Field(dict, optional=True, items=Field(float)),
    "pair": Field(list, optional=True, low=2, high=2, items=Field(int, low=0)),
    "any": Field(object, optional=True),
    "inner": Field(dict, optional=True, fields={"a": Field(int)}),
}


def test_what_fits_comes_back_as_it_is():
    content = {"name": "x", "count": 3, "share": 1, "flag": True, "seeds": [1, 2], "more": {"a": 0.5}}
    assert checked(content, SCHEMA, "a thing") == content
    assert checked({"name": "x", "count": 0, "share": None}, SCHEMA, "a thing")["share"] is None


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"name": 3}, "expected text as name of a thing, got 3"),
        ({"name": None}, "expected text as name of a thing, got None"),
        ({"count": True}, "expected a whole number as count of a thing, got True"),
        ({"count": 1.0}, "expected a whole number as count of a thing, got 1.0"),
        ({"count": 11}, "expected count of a thing from 0 to 10, got 11"),
        ({"share": float("nan")}, "expected share of a thing from 0 to 1, got nan"),
        ({"share": "1"}, "expected a number as share of a thing, got '1'"),
        ({"flag": 1}, "expected true or false as flag of a thing, got 1"),
        ({"seeds": [1, 1.5]}, r"expected a whole number as seeds of a thing\[1\], got 1.5"),
        ({"seeds": 3}, "expected a list as seeds of a thing, got 3"),
        ({"more": {"a": "b"}}, r"expected a number as more of a thing\['a'\], got 'b'"),
        ({"pair": [1]}, "expected pair of a thing from 2 to 2, got 1 of them"),
        ({"pair": [1, -1]}, r"expected pair of a thing\[1\] from 0 to inf, got -1"),
        ({"any": [1]}, r"expected a number, text, true or false as any of a thing, got \[1\]"),
        ({"inner": {"b": 1}}, "unknown key 'b' in inner of a thing"),
        ({"inner": {}}, "expected a in inner of a thing, got nothing"),
        ({"x" * 100_000: 1}, r"unknown key 'x+\.\.\. in a thing; known"),
        ({"nmae": 1}, "unknown key 'nmae' in a thing; did you mean 'name'"),
        ({"name": ["x" * 1000]}, r"got \['x+\.\.\.$"),
    ],
)
def test_what_does_not_fit_is_named(change, sentence):
    with pytest.raises(InvalidInput, match=sentence):
        checked({"name": "x", "count": 3} | change, SCHEMA, "a thing")


def test_a_missing_field_and_another_kind_of_content_are_named():
    with pytest.raises(InvalidInput, match="expected count in a thing, got name"):
        checked({"name": "x"}, SCHEMA, "a thing")
    with pytest.raises(InvalidInput, match=r"expected a table as a thing, got \[\]"):
        checked([], SCHEMA, "a thing")


@pytest.mark.parametrize(
    "text",
    [
        "[" * 200_000,
        '{"a": NaN}',
        '{"a": -Infinity}',
        "{",
        "",
        "nonsense",
        "1e999",
        "-1e999",
        r'"\ud800"',
        r'{"a\udfff": 1}',
        "9" * 5000,
    ],
)
def test_what_is_no_json_is_a_value_error(text):
    with pytest.raises(ValueError):
        parse_json(text)


@pytest.mark.parametrize("content", [b"[" * 200_000, b"\xff\xfe", b"{", b'{"a": 1e999}x'])
def test_a_file_that_is_no_json_is_refused_in_one_line_with_the_remedy(content, tmp_path):
    (tmp_path / "a.json").write_bytes(content)
    with pytest.raises(InvalidInput, match=r"a.json: not whole JSON \(.*\); copy it again") as refused:
        read_json(tmp_path / "a.json", "copy it again")
    assert "\n" not in str(refused.value)


def test_a_file_that_is_too_large_is_not_read(tmp_path, monkeypatch):
    monkeypatch.setenv("GVDN_MAX_BYTES", "160")
    (tmp_path / "a.json").write_text('{"a": "0123456789"}')
    with pytest.raises(InvalidInput, match=r"expected at most 10 bytes, got 19; if you trust .*\); copy it again"):
        read_json(tmp_path / "a.json", "copy it again")


def test_whole_characters_beyond_the_first_plane_are_json():
    assert parse_json(r'"\ud83d\ude00"') == "\U0001f600"


def test_settings_are_words_numbers_and_nothing_else():
    SETTINGS.check({"a": 1, "b": 0.5, "c": "x", "d": True, "e": None}, "settings")
    for value in ([1], {"a": 1}):
        with pytest.raises(InvalidInput, match=r"expected a number, text, true or false as settings\['a'\]"):
            SETTINGS.check({"a": value}, "settings")


@pytest.mark.parametrize("target", ["/dev/zero", "."])
def test_what_is_no_file_is_refused_as_json_and_as_toml(target, tmp_path):
    (tmp_path / "a").symlink_to(target)
    with pytest.raises(InvalidInput, match=r"not whole JSON \(it is no regular file\); copy it"):
        read_json(tmp_path / "a", "copy it")
    with pytest.raises(InvalidInput, match=r"not a TOML file \(it is no regular file\); repair it"):
        read_toml(tmp_path / "a")


@pytest.mark.parametrize(
    "content",
    [
        b"a = " + b"[" * 5000,
        b"x = " + b"9" * 5000,
        b"a." * 50_000 + b"a = 1",
        b"a = inf",
        b"a = nan",
        b"\xff\xfe",
        b"a = 1\n" * 200_000,
        b'a = "\xed\xa0\x80"',
    ],
    ids=["deep", "digits", "dotted", "infinite", "no number", "no UTF-8", "large", "half a character"],
)
def test_a_file_that_is_no_toml_is_refused_in_one_line(content, tmp_path):
    (tmp_path / "a.toml").write_bytes(content)
    with pytest.raises(InvalidInput, match=r"a.toml: not a TOML file \(") as refused:
        read_toml(tmp_path / "a.toml")
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 2000


def test_many_numbers_in_a_line_of_toml_are_read(tmp_path):
    (tmp_path / "a.toml").write_text(f"a = [{', '.join(['0.5'] * MOST_DOTS)}]")
    assert read_toml(tmp_path / "a.toml") == {"a": [0.5] * MOST_DOTS}
