"""Simulate a design, or compare it with the golden model: for scripts, notebooks and tests."""

from collections.abc import Iterable, Sequence
from reprlib import repr as shortened
from typing import Any

from amaranth.hdl import Elaboratable

from .engines.amaranth import AmaranthEngine
from .engines.engine import Engine
from .lockstep import Difference, Lockstep
from .stimulus import RandomStalls, Stalls, Stimulus
from .trace import Columns, Trace

Text = Sequence[int] | Columns
"""A text: its bytes or code points, or columns of all fields of its inputs."""

NO_STALLS = RandomStalls()


def simulate(
    design: Any,
    *texts: Text,
    input_stalls: Stalls = NO_STALLS,
    output_stalls: Stalls = NO_STALLS,
) -> Trace:
    """Simulate a design from reset until its last output is taken.

    Parameters
    ----------
    design : wiring.Component or Engine
        A design, for Amaranth's own simulator; or an engine with a design. An engine can be reused;
        a compiled engine is compiled only once.
    *texts : sequence of int, or dict of str to numpy.ndarray
        The texts, one after the other without a gap: bytes or code points; or, if an input has more
        fields than a value and ``last``, columns of all fields by the names of their pins.
    input_stalls, output_stalls : Stalls
        Cycles in which no input is offered, and in which no output is taken.

    Returns
    -------
    Trace
        Every pin in every cycle; :meth:`Trace.outputs` are the outputs in order.

    Raises
    ------
    TypeError
        If a text is a str or has a value that is not an integer, or the design is neither a
        component nor an engine.
    ValueError
        If a value does not fit into its field, or a column is missing.
    DesignError
        If the design hangs, or drives X or Z.
    ToolError
        If the simulator fails.

    Examples
    --------
    >>> from utf8_hdl import CompactDecoder
    >>> from utf8_sim import simulate
    >>> trace = simulate(CompactDecoder(), "a€".encode())
    >>> [hex(token["code_point"]) for token in trace.outputs()]
    ['0x61', '0x20ac']
    """
    stimulus = _stimulus(texts, input_stalls, output_stalls)
    return Trace.join(list(_engine_of(design).run(stimulus)))


def compare(
    design: Any,
    *texts: Text,
    input_stalls: Stalls = NO_STALLS,
    output_stalls: Stalls = NO_STALLS,
) -> Difference | None:
    """Compare a design with the golden model, every output pin in every cycle.

    Parameters
    ----------
    design : wiring.Component or Engine
        As for :func:`simulate`.
    *texts : sequence of int, or dict of str to numpy.ndarray
        As for :func:`simulate`.
    input_stalls, output_stalls : Stalls
        As for :func:`simulate`.

    Returns
    -------
    Difference or None
        The first difference: its cycle, its pin, and both values. None if there is none.

    Raises
    ------
    TypeError, ValueError, DesignError, ToolError
        As :func:`simulate`; a `DesignError` only if no difference comes before it.

    Examples
    --------
    >>> from utf8_hdl import Encoder
    >>> from utf8_sim import RandomStalls, compare
    >>> compare(Encoder(), [0x41, 0x20AC], output_stalls=RandomStalls(0.5, seed=1)) is None
    True
    """
    stimulus = _stimulus(texts, input_stalls, output_stalls)
    return Lockstep(_engine_of(design), stimulus).run()


def _engine_of(design: Any) -> Engine:
    if isinstance(design, Engine):
        return design
    if isinstance(design, Elaboratable):
        return AmaranthEngine(design)
    raise TypeError(f"design must be a component or an engine, not {shortened(design)}")


def _stimulus(texts: Iterable[Text], input_stalls: Stalls, output_stalls: Stalls) -> Stimulus:
    for text in texts:
        if isinstance(text, str) or not hasattr(text, "__len__"):
            raise TypeError(f"a text must be bytes or code points, not {shortened(text)}")
    for side, stalls in (("input_stalls", input_stalls), ("output_stalls", output_stalls)):
        if not hasattr(stalls, "windows"):
            raise TypeError(f"{side} must be like RandomStalls(0.5), not {shortened(stalls)}")
    pieces = [text if isinstance(text, dict) else (text, True) for text in texts]
    return Stimulus(pieces, input_stalls, output_stalls)
