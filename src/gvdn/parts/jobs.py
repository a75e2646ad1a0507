"""The jobs on parts. All workers run the same job: a training, a recovery, a prediction or a diagnosis."""

from gvdn.parts.answering import Answer as Answer
from gvdn.parts.common import RESULT as RESULT
from gvdn.parts.diagnosing import Diagnose as Diagnose
from gvdn.parts.recovery import Recover as Recover
from gvdn.parts.training import Fit as Fit

Job = Fit | Recover | Answer | Diagnose
