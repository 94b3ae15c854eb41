"""Exceptions whose message the command line shows as one line."""


class ToolError(Exception):
    """A required program or package is missing, or fails."""


class NotInstalled(ToolError):
    """A required program or package is not installed."""


class OutOfTime(ToolError):
    """A program did not end within its time limit."""


class UsageError(ValueError):
    """Wrong usage, or a file that cannot be read or written; the message names it."""


class WrongValue(UsageError):
    """An invalid value of a parameter; the message begins with the name of its option."""
