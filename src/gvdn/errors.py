"""The errors that gvdn raises on purpose."""

LONGEST = 1000
"""Characters of a message; a longer one, which quotes a long value, is cut in its middle."""


class GvdnError(Exception):
    """Base class of every error that gvdn raises on purpose."""

    def __init__(self, message: str = "") -> None:
        half = LONGEST // 2
        super().__init__(message if len(message) <= LONGEST else f"{message[:half]} [...] {message[-half:]}")


class TrainingWarning(UserWarning):
    """A training ended without an error, and with a network that is hardly trained."""


class InvalidInput(GvdnError, ValueError):
    """The input is wrong; the message is one sentence: what was expected, what was given, what to do."""
