"""Text that the Verilog headers of several components share."""

from utf8_hdl import ErrorKind, Profile

from ..golden.timing import Timing

THROUGHPUT = (
    "Throughput: one beat in every cycle while the consumer is ready; a stalled cycle costs one "
    "cycle. s_axis_tready is low during reset and in the first cycle after it."
)
"""Throughput of all components with lanes."""

NOT_COUNTED = "Cycles in which m_axis_tvalid is high and m_axis_tready low are not counted"
"""The end of each latency."""

BEATS = """\
// s_axis_*         beats in, AXI4-Stream. A text begins in a new beat; tlast marks its last one.
//   tdata          bytes, the first one lowest
//   tkeep          a bit for each byte: all are set, or with tlast the first ones"""

DONT_CARES = """\
//
// While m_axis_tvalid is low, the other m_axis outputs are don't care. In every cycle, so are the
// parts of m_axis_tdata whose m_axis_tkeep bit is low."""
"""The end of the ports of a component with dense beats."""


def kinds(profile: Profile) -> str:
    """The kinds of errors, as a comment."""
    never = {
        ErrorKind.SURROGATE: profile.accept_surrogates,
        ErrorKind.NONCHARACTER: profile.accept_noncharacters,
    }
    return "\n".join(
        f"//                  {kind.value} {kind.label}"
        + ", never with this profile" * never.get(kind, False)
        for kind in ErrorKind
    )


def beat_promises(timing: Timing) -> list[str]:
    """Throughput and latency of a component with a beat out for each beat in."""
    latency = f"a beat is at the output {timing.latency} cycles after it was accepted"
    return [THROUGHPUT, f"Latency: {latency}. {NOT_COUNTED}."]
