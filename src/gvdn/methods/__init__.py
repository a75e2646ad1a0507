"""Every method under one contract, one file each."""

from gvdn.methods.contract import METHODS, Access, Method, make_method

__all__ = ["METHODS", "Access", "Method", "make_method"]
