"""Grammar of messages."""


def plural(count: int, one: str, many: str = "") -> str:
    """A number with its noun, in the singular or the plural."""
    return f"{count} {one if count == 1 else many or f'{one}s'}"
