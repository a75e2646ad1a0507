"""Checks that anybody can run on a method of their own: `gvdn.testing.check_method(MyMethod)`."""

from gvdn.testing.methods import CHECKS, Subject, applies, check_method

__all__ = ["CHECKS", "Subject", "applies", "check_method"]
