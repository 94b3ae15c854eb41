"""Text that the Verilog headers of several components share."""

from utf8_hdl import ErrorKind

from ..golden.timing import Timing

KINDS = "\n".join(f"//                  {kind.value} {kind.label}" for kind in ErrorKind)

THROUGHPUT = """\
// Throughput: one beat in every cycle while the consumer is ready; a stalled cycle costs one cycle.
// s_axis_tready is low during reset and in the first cycle after it."""
"""Throughput of all components with lanes."""

BEATS = """\
// s_axis_*         beats in, AXI4-Stream. A text begins in a new beat; tlast marks its last one.
//   tdata          bytes, the first one lowest
//   tkeep          a bit for each byte, whether there is one: all, or with tlast the first ones"""


def beat_promises(timing: Timing) -> str:
    """Throughput and latency of a component with lanes, as a comment."""
    return f"""\
{THROUGHPUT}
// Latency: what is known of a beat is at the output {timing.latency} cycles after the beat was \
taken. Cycles in
// which m_axis_tvalid is high and m_axis_tready low are not counted."""
