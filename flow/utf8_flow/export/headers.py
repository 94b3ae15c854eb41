"""What the head of a Verilog file says of its component: ports and timing."""

from typing import NamedTuple

from utf8_hdl import Kind

from ..designs import LATENCY


class Header(NamedTuple):
    """Lines of a comment; in those about timing ``{latency}`` and ``{cut}``, one less, are filled.

    Parameters
    ----------
    ports : str
        What they carry.
    timing : str
        Throughput and latency.
    compact : str
        The same of the design with one register stage.
    """

    ports: str
    timing: str
    compact: str


_KINDS = "\n".join(f"//                  {kind.value} {kind.label}" for kind in Kind)

_ENCODER_TIMING = """\
// Throughput: one byte a cycle. s_axis_tready is high when the last byte of a character is taken,
// or none waits. Latency: the first byte is at the output {latency} cycle after its code point."""

HEADERS = {
    "decoder": Header(
        ports=f"""\
// s_axis_*         bytes in, AXI4-Stream. tlast marks the last byte of a text.
// m_axis_*         tokens out, AXI4-Stream. A token is a character or an error, and covers one or
//                  more consecutive bytes; tokens cover every byte once, in order.
//   tdata          code point, zero-extended (UTF-32); U+FFFD in an error
//   tlast          the token covers the last byte of its text
//   tuser[0]       error
//   tuser[3:1]     kind of error:
{_KINDS}
//   tuser[7:4]     length: how many bytes the token covers
//
// While m_axis_tvalid is low, m_axis_tdata, m_axis_tuser and m_axis_tlast are don't care.""",
        timing="""\
// Line rate: s_axis_tready is high whenever m_axis_tready is.
// Latency: a token is at the output {latency} cycles after its last byte was taken, or {cut} after
// the byte that cuts it short; one more while bytes follow reset, or a token that waited, without a
// gap. Cycles in which m_axis_tvalid is high and m_axis_tready low are not counted.""",
        compact="""\
// Line rate: s_axis_tready is high whenever m_axis_tready is.
// One register stage. Latency: {latency} cycle. Cycles in which m_axis_tvalid is high and
// m_axis_tready low are not counted.""",
    ),
    "encoder": Header(
        ports="""\
// s_axis_*         code points in, AXI4-Stream.
//   tdata          UTF-32; a value that the profile refuses gives the bytes of U+FFFD
//   tlast          the last code point of a text
// m_axis_*         bytes out, AXI4-Stream.
//   tlast          the last byte of a text
//   tuser          error: the byte belongs to U+FFFD in place of a refused value""",
        timing=_ENCODER_TIMING,
        compact=_ENCODER_TIMING,
    ),
}
"""By the names of components."""


def describe(component: str, compact: bool) -> str:
    """Ports and timing of a component, as a comment; nothing, if it has no header."""
    if component not in HEADERS:
        return "//"
    ports, timing, compact_timing = HEADERS[component]
    latency = LATENCY[component, compact]
    filled = (compact_timing if compact else timing).format(latency=latency, cut=latency - 1)
    return f"{ports}\n//\n{filled}"
