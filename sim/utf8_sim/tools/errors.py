"""Errors with a message of their own; the command line shows it as one line."""


class ToolError(Exception):
    """A required program or package is missing, or fails."""


class NotInstalled(ToolError):
    """A required program or package is not installed."""


class OutOfTime(ToolError):
    """A program did not end within its time limit."""


class UsageError(ValueError):
    """Wrong usage, or a file that cannot be used; the message says which."""


class WrongValue(UsageError):
    """A value that a parameter cannot have; the message begins with the name of its option."""
