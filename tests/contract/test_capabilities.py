"""What each method needs and can do, as PROTOCOL and the papers say; tables print it beside the numbers."""

import pytest

from gvdn.methods.contract import METHODS, ThreatModel
from gvdn.paper.field import GIVEN

USE_THE_SNAPSHOT = {"prognn", "graphss", "lindt", "gvdn", "snapshot"}
"""What was computed on the clean graph for the nodes in question: predictions, the learned structure, embeddings."""
RECOVER = {"graphss", "lindt", "gtrans", "gvdn", "gcn-retrained"}
READ_LABELS_AGAIN = {"graphss", "lindt", "gcn-retrained"}
RECOVER_ONE_GRAPH = {"graphss", "lindt", "gtrans"}
DRAW = {"mc-dropout"}
SAY_HOW_SURE = {"mc-dropout", "gvdn"}
ONE_THREAT_MODEL = {
    "gpr-gae": ThreatModel.EVASION,
    "gtrans": ThreatModel.EVASION,
    "gcn-retrained": ThreatModel.POISONING,
    "snapshot": ThreatModel.EVASION,
}


@pytest.mark.parametrize(
    ("capability", "methods"),
    [
        ("snapshot", USE_THE_SNAPSHOT),
        ("recovers", RECOVER),
        ("recovers_per_graph", RECOVER_ONE_GRAPH),
        ("recovers_with_labels", READ_LABELS_AGAIN),
        ("features_only", {"mlp"}),
        ("stochastic", DRAW),
        ("uncertainty", SAY_HOW_SURE),
        ("embeds", set(METHODS)),
    ],
)
def test_these_methods_and_no_others_declare_a_capability(capability, methods):
    assert {name for name in METHODS if getattr(METHODS[name].capabilities, capability)} == methods


def test_every_method_supports_evasion_and_poisoning_but_for_two_defences_and_two_references():
    found = {name: METHODS[name].capabilities.threat_models for name in METHODS}
    single = {name: (model,) for name, model in ONE_THREAT_MODEL.items()}
    assert {name: models for name, models in found.items() if len(models) < 2} == single


def test_the_table_of_the_field_prints_what_the_methods_declare():
    """The drawing imports no torch, so it has a table of its own; what a method uses changes in both."""
    declared = {name: METHODS[name].capabilities.given for name in METHODS}
    assert {name: given for name, given in declared.items() if given} == GIVEN
