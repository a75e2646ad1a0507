"""The two kinds of failure: the caller's doing, and ours (which keeps its traceback)."""


class GvdnError(Exception):
    """Base of everything gvdn raises on purpose."""


class InvalidInput(GvdnError, ValueError):
    """The caller's doing, said in one sentence: what was expected, what came, what to do."""
