"""Marks for tests that need what only some machines have."""

import shutil

import pytest


def needs(*programs: str) -> pytest.MarkDecorator:
    """Skip a test where one of some programs is not installed."""
    missing = [program for program in programs if not shutil.which(program)]
    return pytest.mark.skipif(bool(missing), reason=f"not installed: {', '.join(missing)}")
