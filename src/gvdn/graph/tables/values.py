"""The values of one column of an Arrow table: numbers, dates, booleans and words, wherever they are written as text."""

import math
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from jaxtyping import Bool, Float64

from gvdn.errors import InvalidInput

NO_NUMBER = ("", "na", "n/a", "#n/a", "nan", "null", "none", "nil", "-", "--", "?", "<na>", "#null!")
"""What stands for a missing value among numbers and dates, in lower case."""
NO_WORD = ("", "n/a", "#n/a", "nan", "null", "<na>")
"""The same among words, where NA is a country and None may be a class."""
TRUE, FALSE = ("true", "yes", "y", "t"), ("false", "no", "n", "f")

_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?$"
_DECIMAL_COMMA = r"^[+-]?(\d+|\d{1,3}(\.\d{3})+),\d+$"
_GROUPED_BY_COMMA = r"^[+-]?\d{1,3}(,\d{3})+(\.\d+)?$"
_GROUPED_BY_POINT = r"^[+-]?\d{1,3}(\.\d{3})+$"
_DATES = {
    r"^\d{4}-\d{2}-\d{2}($|[ T]\d{2}:\d{2})": "%Y-%m-%d",
    r"^\d{4}/\d{2}/\d{2}$": "%Y/%m/%d",
    r"^\d{2}\.\d{2}\.\d{4}$": "%d.%m.%Y",
}
_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000, "ns": 86_400_000_000_000}


class Values(NamedTuple):
    """The numbers of a column: NaN where one is missing or `stray`, which is text that is no number."""

    numbers: Float64[np.ndarray, " n"]
    stray: Bool[np.ndarray, " n"]
    decimal_comma: bool = False

    @property
    def missing(self) -> Bool[np.ndarray, " n"]:
        return np.isnan(self.numbers) & ~self.stray


def one_array(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """One array without dictionaries and large offsets."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(whole, pa.ChunkedArray):
        whole = pa.concat_arrays(whole.chunks) if whole.num_chunks else pa.array([], whole.type)
    if pa.types.is_dictionary(whole.type):
        whole = whole.dictionary_decode()
    return whole.cast(pa.string()) if is_text(whole.type) and not pa.types.is_string(whole.type) else whole


def is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def is_number(kind: pa.DataType) -> bool:
    numeric = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return bool(numeric or pa.types.is_time(kind) or pa.types.is_duration(kind))


def is_date(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def numbers(array: pa.Array) -> Values | None:
    """The values as numbers: 0 and 1 for booleans, seconds for times; None for a type that has none."""
    kind = array.type
    if pa.types.is_time(kind) or pa.types.is_duration(kind):
        units = _floats(array.cast(pa.int32() if kind.bit_width == 32 else pa.int64()))
        return Values(units * 86_400 / _PER_DAY[kind.unit], np.zeros(len(array), dtype=bool))
    if is_number(kind) or pa.types.is_boolean(kind):
        return Values(_floats(array), np.zeros(len(array), dtype=bool))
    if pa.types.is_null(kind):
        return Values(np.full(len(array), np.nan), np.zeros(len(array), dtype=bool))
    return _numbers_of_text(array) if is_text(kind) else None


def days(array: pa.Array) -> Values | None:
    """Dates as days since 1970; None for a type that has none."""
    kind = array.type
    if pa.types.is_date32(kind):
        return Values(_floats(array.cast(pa.int32())), np.zeros(len(array), dtype=bool))
    if is_date(kind):
        unit = "ms" if pa.types.is_date64(kind) else kind.unit
        return Values(_floats(array.cast(pa.int64())) / _PER_DAY[unit], np.zeros(len(array), dtype=bool))
    if pa.types.is_null(kind):
        return Values(np.full(len(array), np.nan), np.zeros(len(array), dtype=bool))
    return _days_of_text(array) if is_text(kind) else None


def truths(array: pa.Array) -> Values | None:
    """Booleans as 0 and 1, also those that are written as text or as numbers; None for a type that has none."""
    if not is_text(array.type):
        found = numbers(array)
        return found and found._replace(stray=found.stray | ~(np.isnan(found.numbers) | np.isin(found.numbers, (0, 1))))
    words = _trimmed(array)
    yes, no = (_among(words, said) for said in ((*TRUE, "1"), (*FALSE, "0")))
    values = np.where(yes, 1.0, np.where(no, 0.0, np.nan))
    return Values(values, np.isnan(values) & ~_among(words, NO_NUMBER))


def words(array: pa.Array) -> pa.Array | None:
    """The values as text, null where one is missing; None for a type without a text, such as a list."""
    if not is_text(array.type):
        if pa.types.is_nested(array.type) or pa.types.is_binary(array.type) or pa.types.is_large_binary(array.type):
            return None
        if pa.types.is_floating(array.type):
            return pa.array([_number_as_text(value) for value in array.cast(pa.float64()).to_pylist()], pa.string())
        try:
            array = array.cast(pa.string())
        except pa.ArrowException:
            return None
    trimmed = pc.utf8_trim_whitespace(array)
    missing = pa.array(_among(pc.utf8_lower(trimmed), NO_WORD))
    return pc.if_else(missing, pa.scalar(None, pa.string()), trimmed)


def _number_as_text(value: float | None) -> str | None:
    """5 for 5.0, so that a column of whole numbers reads alike with and without missing values."""
    if value is None or math.isnan(value):
        return None
    return f"{value:.0f}" if math.isfinite(value) and value == round(value) else repr(value)


def _floats(array: pa.Array) -> Float64[np.ndarray, " n"]:
    return array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False).astype(np.float64)


def _numbers_of_text(array: pa.Array) -> Values:
    text = pc.utf8_trim_whitespace(array)
    missing = _among(pc.utf8_lower(text), NO_NUMBER)
    comma, grouped = _matches(text, _DECIMAL_COMMA), _matches(text, _GROUPED_BY_COMMA)
    decimal_comma = bool((comma & ~grouped).any() or (comma.any() and not _matches(text, r"\.\d").any()))
    if decimal_comma:
        plain = pc.replace_substring(pc.replace_substring(text, ".", ""), ",", ".")
        text = pc.if_else(pa.array(comma | _matches(text, _GROUPED_BY_POINT)), plain, text)
    elif grouped.any():
        text = pc.if_else(pa.array(grouped), pc.replace_substring(text, ",", ""), text)
    fits = _matches(text, _NUMBER) & ~missing
    values = _floats(pc.if_else(pa.array(fits), text, pa.scalar(None, pa.string())).cast(pa.float64()))
    return Values(values, ~fits & ~missing, decimal_comma)


def _days_of_text(array: pa.Array) -> Values:
    text = pc.utf8_trim_whitespace(array)
    missing, values = _among(pc.utf8_lower(text), NO_NUMBER), np.full(len(array), np.nan)
    for pattern, how in _DATES.items():
        fits = pa.array(_matches(text, pattern))
        part = pc.if_else(fits, pc.utf8_slice_codeunits(text, 0, 10), pa.scalar(None, pa.string()))
        found = _floats(pc.strptime(part, format=how, unit="s", error_is_null=True).cast(pa.int64())) / 86_400
        values = np.where(np.isnan(values), found, values)
    return Values(values, np.isnan(values) & ~missing)


def _trimmed(array: pa.Array) -> pa.Array:
    return pc.utf8_lower(pc.utf8_trim_whitespace(array))


def _among(text: pa.Array, known: tuple[str, ...]) -> Bool[np.ndarray, " n"]:
    """Which of the texts are among the known ones; a null is ""."""
    found = pc.is_in(pc.fill_null(text, ""), value_set=pa.array(known, pa.string()))
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def _matches(text: pa.Array, pattern: str) -> Bool[np.ndarray, " n"]:
    found = pc.fill_null(pc.match_substring_regex(text, pattern), False)
    return np.asarray(found.to_numpy(zero_copy_only=False), dtype=bool)


def require_values(where: str, column: pa.Array, sentence: str) -> None:
    """Raise at the first null."""
    missing = first(pc.is_null(column))
    if missing is not None:
        raise InvalidInput(f"{where}, row {missing + 1}: {sentence}")


def first(mask: pa.Array) -> int | None:
    """The first row that is true."""
    index = pc.index(mask, True).as_py()
    return None if index < 0 else int(index)
