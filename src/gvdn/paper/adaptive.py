"""A white-box attacker: PRBCD through GVDN itself and through a surrogate GCN."""

from __future__ import annotations

from gvdn.paper.exhibits import EXHIBITS, Exhibit

EXHIBITS.add("adaptive", Exhibit(18, "A white-box attacker"))
