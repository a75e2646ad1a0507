import pytest

from gvdn.bench.modes import supported_modes, with_modes
from gvdn.errors import InvalidInput
from gvdn.study import Mode, Row, Spec

PLAIN = (Mode.EVASION, Mode.POISONING)
RECOVERING = (Mode.EVASION, Mode.POISONING_RECOVERED, Mode.RECOVERED, Mode.WITHHELD)
SUPPORTED = {
    "gcn-jaccard": PLAIN,
    "gcn-svd": PLAIN,
    "dropedge": PLAIN,
    "grand": PLAIN,
    "rgcn": PLAIN,
    "prognn": PLAIN,
    "mc-dropout": PLAIN,
    "graphss": RECOVERING,
    "lindt": RECOVERING,
    "gpr-gae": (Mode.EVASION,),
    "gnnguard": PLAIN,
    "airgnn": PLAIN,
    "elastic-gnn": PLAIN,
    "soft-median-gdc": PLAIN,
    "adversarial-training": PLAIN,
    "gtrans": (Mode.EVASION, Mode.RECOVERED),
    "gvdn": RECOVERING,
    "gcn": PLAIN,
    "gcn-retrained": (Mode.POISONING,),
    "mlp": PLAIN,
    "snapshot": (Mode.EVASION,),
}


@pytest.mark.parametrize("method", SUPPORTED)
def test_the_modes_of_each_method(method):
    assert supported_modes(method) == SUPPORTED[method]


def spec(*rows: Row) -> Spec:
    return Spec("mine", "t", ("debian",), (0,), rows)


def test_a_row_without_modes_gets_all_that_its_method_supports():
    filled = with_modes(spec(Row("gvdn"), Row("mlp", modes=(Mode.EVASION,))))
    assert [row.modes for row in filled.rows] == [RECOVERING, (Mode.EVASION,)]


@pytest.mark.parametrize(
    ("method", "mode"),
    [
        ("mlp", Mode.RECOVERED),
        ("snapshot", Mode.POISONING),
        ("gcn-retrained", Mode.EVASION),
        ("gcn-retrained", Mode.WITHHELD),
        ("graphss", Mode.MAPPED_BY_EPOCH),
    ],
)
def test_a_mode_that_the_method_does_not_support_is_refused_before_anything_runs(method, mode):
    with pytest.raises(
        InvalidInput, match=f"mine: the method {method} does not support the mode '{mode}'; it supports"
    ):
        with_modes(spec(Row(method, modes=(mode,))))


def test_a_graph_is_counted_without_a_method():
    assert with_modes(spec(Row("", modes=(Mode.COUNTS,)))).rows[0].modes == (Mode.COUNTS,)


@pytest.mark.parametrize("method", SUPPORTED)
def test_new_victims_are_measured_for_every_method_that_can_be_asked_about_another_graph(method):
    wanted = () if method == "gcn-retrained" else (Mode.NEW,)
    wanted += (Mode.RECOVERED_NEW,) if method in ("graphss", "lindt", "gtrans", "gvdn") else ()
    if wanted:
        assert with_modes(spec(Row(method, modes=wanted))).rows[0].modes == wanted
    for mode in {Mode.NEW, Mode.RECOVERED_NEW} - {*wanted}:
        with pytest.raises(InvalidInput, match=f"does not support the mode '{mode}'"):
            with_modes(spec(Row(method, modes=(mode,))))


def test_modes_of_a_spec_are_those_of_its_rows_as_far_as_a_method_supports_them():
    wanted = (Mode.EVASION, Mode.RECOVERED, Mode.NEW)
    filled = with_modes(Spec("mine", "t", ("debian",), (0,), (Row("gvdn"), Row("mlp")), modes=wanted))
    assert [row.modes for row in filled.rows] == [wanted, (Mode.EVASION, Mode.NEW)]
    with pytest.raises(InvalidInput, match="mine: the method mlp supports none of the modes of the spec"):
        with_modes(Spec("mine", "t", ("debian",), (0,), (Row("mlp"),), modes=(Mode.RECOVERED,)))
