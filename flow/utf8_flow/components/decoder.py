"""The decoder, for the tools: what its report says."""

from utf8_sim.components import DECODER
from utf8_sim.golden.timing import Timing

from . import wide_decoder
from .entry import RULES, Entry, register
from .headers import KINDS
from .tokens import TokenReport, token_counts

PORTS = f"""\
// s_axis_*         bytes in, AXI4-Stream. tlast marks the last byte of a text.
// m_axis_*         tokens out, AXI4-Stream. A token is a character or an error, and covers one or
//                  more consecutive bytes; tokens cover every byte once, in order.
//   tdata          code point, zero-extended (UTF-32); U+FFFD in an error
//   tlast          the token covers the last byte of its text
//   tuser[0]       error
//   tuser[3:1]     kind of error:
{KINDS}
//   tuser[7:4]     length: how many bytes the token covers
//
// While m_axis_tvalid is low, m_axis_tdata, m_axis_tuser and m_axis_tlast are don't care."""


def promises(timing: Timing) -> str:
    """Throughput and latency, as a comment."""
    if timing.latency == timing.latency_of_cut:
        latency = """\
// Latency: a token is at the output 1 cycle after its last byte was taken, or after the byte that
// cuts it short. Behind a token cut short it is 2 cycles, for bytes that follow without a gap,
// until one of them begins a sequence."""
    else:
        latency = f"""\
// Latency: a token is at the output {timing.latency} cycles after its last byte was taken, or \
{timing.latency_of_cut} after the byte
// that cuts it short; one more while bytes follow reset, or a token that waited, without a gap."""
    return f"""\
// Line rate: s_axis_tready is high whenever m_axis_tready is.
{latency}
// Cycles in which m_axis_tvalid is high and m_axis_tready low are not counted."""


ENTRY = register(
    Entry(
        component=DECODER,
        report=TokenReport,
        options=RULES | {"--error-span", "--exhaustive", "--compact", "--lanes"},
        coverage_lines=token_counts,
        ports=lambda design: PORTS,
        promises=promises,
        formal="utf8_flow.formal.decoder",
        laned=wide_decoder.ENTRY,
    )
)
