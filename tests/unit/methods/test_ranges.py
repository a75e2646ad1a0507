import math

import pytest

from gvdn.errors import InvalidInput
from gvdn.methods.checks import RANGES
from gvdn.methods.contract import METHODS

INSIDE = {
    "at least 1": (1, 2, 1000),
    "[0, 1)": (0.0, 0.5, 0.999),
    "[0, 1]": (0.0, 0.5, 1.0),
    "positive": (1e-12, 1.0, 100.0),
    "at least 0": (0.0, 1.0, 100.0),
    "at most 10,000": (0, 1, 10_000),
    "at most 1,000,000": (0, 1, 1_000_000),
}
OUTSIDE = {
    "at least 1": (0, -1),
    "[0, 1)": (-0.001, 1.0, 1.5, math.nan),
    "[0, 1]": (-0.001, 1.001, 2.0, math.nan),
    "positive": (0.0, -1.0, math.inf, math.nan),
    "at least 0": (-0.001, math.inf, math.nan),
    "at most 10,000": (10_001, 10**9),
    "at most 1,000,000": (1_000_001, 10**9),
}


def test_every_range_is_tried():
    assert set(INSIDE) == set(OUTSIDE) == set(RANGES)


@pytest.mark.parametrize("name", RANGES)
def test_a_range_has_its_ends_where_its_name_says(name):
    _, fits = RANGES[name]
    assert [value for value in INSIDE[name] if not fits(value)] == []
    assert [value for value in OUTSIDE[name] if fits(value)] == []


def settings_with_a_range():
    for method in METHODS:
        for cls in METHODS[method].__mro__:
            for name, settings in vars(cls).get("ranges", {}).items():
                yield from ((method, setting, name) for setting in settings)


@pytest.mark.parametrize(("method", "setting", "name"), sorted(set(settings_with_a_range())))
def test_a_setting_out_of_its_range_is_refused(method, setting, name):
    whole = isinstance(METHODS[method]().get_params()[setting], int)
    for value in OUTSIDE[name]:
        if not whole or isinstance(value, int):
            with pytest.raises(InvalidInput, match=f"expected .*{setting}"):
                METHODS[method](**{setting: value if whole else float(value)})


@pytest.mark.parametrize(
    ("least", "most", "fits"),
    [(0.5, 0.5, True), (0.1, 0.9, True), (0.0, 0.9, False), (0.9, 0.8, False), (0.5, 1.0, False)],
)
def test_rates_of_diffusion_lie_between_zero_and_one_in_order(least, most, fits):
    if fits:
        assert METHODS["gvdn"](gamma_min=least, gamma_max=most).gamma_min == least
    else:
        with pytest.raises(InvalidInput, match="expected 0 < gamma_min <= gamma_max < 1"):
            METHODS["gvdn"](gamma_min=least, gamma_max=most)
