"""The modes that a method supports, by the capabilities that it declares."""

from collections.abc import Iterable
from dataclasses import replace

from gvdn.errors import InvalidInput
from gvdn.methods import METHODS, Capabilities, ThreatModel
from gvdn.study import Mode, Spec

IN_FRONT = (Mode.NEW_GUARDED, Mode.NEW_TRUSTED, Mode.NEW_WEIGHED, Mode.NEW_STUDENT, Mode.NEW_LINKS)
NEW = (Mode.NEW, Mode.RECOVERED_NEW, *IN_FRONT)
"""Modes in which the victims are absent when the method is fitted; a spec names them where it wants them."""


def supported_modes(method: str) -> tuple[Mode, ...]:
    """How a method is measured where a spec names no modes: under each threat model, and recovered."""
    can = METHODS[method].capabilities
    poisoned = Mode.POISONING_RECOVERED if can.recovers and can.snapshot else Mode.POISONING
    wanted = (Mode.EVASION, poisoned, Mode.RECOVERED, Mode.WITHHELD)
    return tuple(mode for mode in wanted if _supports(can, mode))


def with_modes(spec: Spec) -> Spec:
    """The spec with modes in every row: those that it names, if the method supports them, else all it supports."""
    for row in (row for row in spec.rows if row.method):
        can = METHODS[row.method].capabilities
        for mode in row.modes:
            if not _supports(can, mode):
                more = (Mode.POISONING_TRUSTED, *NEW)
                known = [*supported_modes(row.method), *(one for one in more if _supports(can, one))]
                raise InvalidInput(
                    f"{spec.name}: the method {row.method} does not support the mode {str(mode)!r}; "
                    f"it supports {_quoted(known)}"
                )
    if all(row.modes for row in spec.rows):
        return spec
    return replace(
        spec, rows=tuple(row if row.modes else replace(row, modes=_modes_for(spec, row.method)) for row in spec.rows)
    )


def _modes_for(spec: Spec, method: str) -> tuple[Mode, ...]:
    """Those of the spec that the method supports; where the spec names none, all."""
    can = METHODS[method].capabilities
    found = tuple(mode for mode in spec.modes if _supports(can, mode)) if spec.modes else supported_modes(method)
    if not found:
        known = _quoted(supported_modes(method))
        raise InvalidInput(
            f"{spec.name}: the method {method} supports none of the modes of the spec; it supports {known}"
        )
    return found


def _quoted(modes: Iterable[Mode]) -> str:
    """Names of modes, some of which have a comma, in a sentence."""
    return ", ".join(repr(str(mode)) for mode in modes)


def _supports(can: Capabilities, mode: Mode) -> bool:
    recovers = can.recovers and ThreatModel.EVASION in can.threat_models
    needed = {
        Mode.EVASION: ThreatModel.EVASION in can.threat_models,
        Mode.POISONING: ThreatModel.POISONING in can.threat_models,
        Mode.POISONING_TRUSTED: ThreatModel.POISONING in can.threat_models,
        Mode.POISONING_RECOVERED: can.recovers and ThreatModel.POISONING in can.threat_models,
        Mode.RECOVERED: recovers,
        Mode.NEW: ThreatModel.EVASION in can.threat_models,
        Mode.RECOVERED_NEW: recovers,
        **dict.fromkeys(IN_FRONT, ThreatModel.EVASION in can.threat_models),
        Mode.WITHHELD: recovers and "known" in can.recover_options,
        Mode.MAPPED: recovers and can.embeds,
        Mode.MAPPED_BY_EPOCH: recovers and can.embeds and "look" in can.recover_options,
        Mode.WITH_LOSSES: recovers,
        Mode.STREAMED: recovers,
    }
    return needed.get(mode, True)
