"""Every method under one contract, one file each."""

from gvdn.methods.contract import METHODS, Capabilities, Method, ThreatModel, make_method

__all__ = ["METHODS", "Capabilities", "Method", "ThreatModel", "make_method"]
