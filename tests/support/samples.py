"""The tests that `make test` runs: all except long tests, and a sample of each matrix."""

from collections import Counter


def is_quick(config) -> bool:
    """True if long tests are left out."""
    return config.option.markexpr == "not long"


def spread(cases, count):
    """The first case and others at equal distances, at most ``count`` in total."""
    count = min(count, len(cases))
    return [cases[number * len(cases) // count] for number in range(count)]


def covering(cases):
    """Cases that cover every value of every parameter, each about equally often."""
    values = {
        case: {(name, id(value)) for name, value in case.callspec.params.items()} for case in cases
    }
    missing, chosen, uses = set().union(*values.values()), [], Counter()
    while missing:
        chosen.append(max(cases, key=lambda case: _gain(values[case], missing, uses)))
        missing -= values[chosen[-1]]
        uses.update(values[chosen[-1]])
    return chosen


def _gain(values, missing, uses):
    return len(values & missing), -sum(uses[value] for value in values)
