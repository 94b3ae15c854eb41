"""The report of a transcoder: the first error of each text, and the number of its errors."""

from types import SimpleNamespace

from amaranth.hdl import Cat, Const, Module, Value

from ..flow_control.stage import Stage
from ..parallel.first_error import FirstError
from .code_points import STAGES, Reading

ADDENDS = 4
"""How many numbers one adder of a stage adds."""


def report_errors(
    m: Module, reading: Reading, unit_bytes: int, width: int, probes: SimpleNamespace
) -> Value:
    """Add the stages of the report; return kind, offset and number of errors, in this order.

    They run in parallel with stages 7 to 12 of the transcoder, and their beats are those of the
    input. So the report of a text is valid 12 cycles after its last beat was accepted. Without an
    error it is zero then.

    - ``unit_bytes``, ``width``: bytes of a code unit of the input; bits of the offset and of the
      number of errors.
    """
    stages = [reading.found]

    def new_stage(name: str, what: str) -> Stage:
        before, number = stages[-1], STAGES - 1 + len(stages)
        heading = f"Report of errors, stage {number}, {name}: {what}"
        stage = Stage(m, heading, f"report_{name}", previous=before).follow(before.valid)
        stages.append(stage)
        return stage

    error, found = reading.error, probes.found
    first = FirstError(
        new_stage, STAGES - 1, reading.found, error, reading.kind, reading.at_least, found
    )
    counted = first.counted
    # The stages so far are those up to `counted`.
    kind, number = counted["of_kind"], _count(stages[1:], [*iter(error)])
    tally, verdict = first.tally(kind, width, unit_bytes.bit_length() - 1)
    counted.m.d.comb += [Value.cast(found.kind).eq(kind), probes.error_count.eq(number)]
    return Cat(verdict[1:], _total(counted, tally, number, width))


def _count(stages: list[Stage], numbers: list[Value]) -> Value:
    """The sum of some bits, in the last of some stages. Each stage adds groups of four numbers."""
    for level, stage in enumerate(stages, start=1):
        fours = [numbers[begin : begin + ADDENDS] for begin in range(0, len(numbers), ADDENDS)]
        width = (ADDENDS**level).bit_length()
        numbers = [
            stage.register(f"errors_{n}", sum(four, start=Const(0, 1))[:width])
            for n, four in enumerate(fours)
        ]
    [number] = numbers
    return number


def _total(counted: Stage, tally: Stage, number: Value, width: int) -> Value:
    """The number of errors in a text so far, in stage 12. It saturates at all ones."""
    total = tally.signal("errors", width, reset_less=True)
    over = tally.signal("errors_over", reset_less=True)
    with tally.m.If(counted["clears"]):
        tally.m.d.sync += [total.eq(number), over.eq(0)]
    with tally.m.Elif(counted.valid):
        more = (total + number)[: width + 1]
        tally.m.d.sync += [total.eq(more), over.eq(over | more[-1])]
    return total | over.replicate(width)
