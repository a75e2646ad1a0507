"""The mode that puts trust in front of a method in poisoning.

It registers itself, so that the modules whose source is in the hash of every record (`gvdn.bench.code`) stay as they
are.
"""

from gvdn.bench.experiment import Experiment, Fields, timed
from gvdn.bench.measure import MEASURES
from gvdn.methods.poisoned import TrustedInTurn
from gvdn.study import Mode


def trusted_in_turn(experiment: Experiment) -> Fields:
    """Fitted on the perturbed graph, judged in turn, fitted again on what is trusted, and judged once more."""
    graph = experiment.perturbed
    model = experiment.fit(graph).model
    trusted, recovering = timed(lambda: TrustedInTurn(model, graph))
    probs, answering = timed(lambda: trusted.predict_proba(graph))
    seconds = {"recover": recovering, "answer": answering}
    return {
        **experiment.fields(model, probs, seconds, fitted_on=graph),
        "recovery": trusted.report.as_json(),
    }


MEASURES[Mode.POISONING_TRUSTED] = trusted_in_turn
