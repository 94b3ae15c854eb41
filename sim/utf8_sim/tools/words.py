"""Words for people."""


def plural(count: int, one: str, many: str = "") -> str:
    """A number of things."""
    return f"{count} {one if count == 1 else many or f'{one}s'}"
