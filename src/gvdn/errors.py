"""The errors that gvdn raises on purpose."""


class GvdnError(Exception):
    """Base class of every error that gvdn raises on purpose."""


class InvalidInput(GvdnError, ValueError):
    """The input is wrong; the message is one sentence: what was expected, what was given, what to do."""
