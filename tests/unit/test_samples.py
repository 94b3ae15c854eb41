"""The cases of a matrix that `make test` runs."""

from itertools import product
from types import SimpleNamespace

from samples import covering, spread


class Case:
    """A test with parameters."""

    def __init__(self, **params: str) -> None:
        self.callspec = SimpleNamespace(params=params)


def test_spread_has_the_first_case_and_equal_distances():
    assert spread([*range(10)], 3) == [0, 3, 6]
    assert spread([0, 1], 3) == [0, 1]


def test_covering_has_every_value_of_every_parameter():
    cases = [Case(engine=e, text=t, stalls=s) for e, t, s in product("abc", "de", "fghi")]
    chosen = covering(cases)
    assert {value for case in chosen for value in case.callspec.params.values()} == {*"abcdefghi"}
    assert len(chosen) == 4
