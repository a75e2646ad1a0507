import dataclasses

import pytest
from gvdn.methods.presets import PRESETS

from gvdn.errors import InvalidInput
from gvdn.methods.gvdn import GVDN

GAMMA_MIN = {"cora": 0.6, "citeseer": 0.98, "pubmed": 0.99, "amazon-photo": 0.84, "coauthor-cs": 0.96, "flickr": 0.96}


@pytest.mark.parametrize("paper", [False, True])
def test_every_preset_constructs(paper):
    assert set(GAMMA_MIN) | {"debian", "debian-large"} <= set(PRESETS)
    for name in PRESETS:
        assert isinstance(GVDN.preset(name, paper=paper), GVDN)


@pytest.mark.parametrize("dataset", list(GAMMA_MIN))
def test_the_papers_presets_are_the_papers(dataset):
    expected = GVDN(
        gamma_min=GAMMA_MIN[dataset],
        learning_rate=1e-3,
        recovery_learning_rate=1e-3,
        dropout=0.0,
        weight_decay=0.0,
        guard=False,
        evidence_floor=0.0,
        pseudo_labels="second-layer",
    )
    assert GVDN.preset(dataset, paper=True) == expected
    assert (expected.epochs, expected.recovery_epochs, expected.hidden) == (200, 300, 200)
    assert GVDN.preset(dataset).gamma_min == GAMMA_MIN[dataset]


def test_a_preset_can_be_changed_and_is_not_changed_by_it():
    before = dataclasses.asdict(GVDN.preset("cora"))
    assert GVDN.preset("cora", hidden=16).hidden == 16
    assert dataclasses.asdict(GVDN.preset("cora")) == before


def test_an_unknown_preset_lists_the_known_ones():
    with pytest.raises(
        InvalidInput, match="unknown preset 'kora'; did you mean 'cora'.* known: cora, citeseer, .*debian"
    ):
        GVDN.preset("kora")
