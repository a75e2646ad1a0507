"""The methods: one contract, one file each. Importing this imports no torch."""

from gvdn.methods.contract import METHODS, Capabilities, Method, ThreatModel, make_method

__all__ = ["METHODS", "Capabilities", "Method", "ThreatModel", "make_method"]
