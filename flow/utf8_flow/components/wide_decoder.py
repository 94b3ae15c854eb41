"""The decoder with lanes, for the tools: the byte decoder's report, of the tokens in slots."""

from utf8_sim.components import WIDE_DECODER
from utf8_sim.trace import Columns

from .entry import RULES, Entry
from .headers import BEATS, KINDS, beat_promises
from .tokens import TokenReport, token_counts


class SlotsReport(TokenReport):
    """The tokens of all slots that have one."""

    def _count(self, slots: Columns) -> None:
        has_token = slots["o.length"] != 0
        fields = ("o.code_point", "o.error", "o.kind", "o.length")
        super()._count({field: slots[field][has_token] for field in fields})


PORTS = f"""\
{BEATS}
// m_axis_*         for each beat one of slots, AXI4-Stream. Slot k has the token that ends with
//                  the k-th byte of the beat, the first one being 1; slot 0 a truncated sequence
//                  that ended with the beat before. A token is a character or an error, and covers
//                  one or more consecutive bytes; tokens cover every byte once, in order.
//   tdata          a code point in each slot, slot 0 lowest, zero-extended (UTF-32; to 64 bits if
//                  32 are too few); U+FFFD in an error
//   tkeep          a bit for each byte of tdata: whether there is a token in the slot
//   tlast          the beat is the last one of its text
//   tuser          8 bits for each slot, slot 0 lowest, all zero if there is no token:
//     bit 0        error
//     bits 3:1     kind of error:
{KINDS}
//     bits 7:4     length: how many bytes the token covers
//
// While m_axis_tvalid is low, the other outputs but s_axis_tready are don't care."""


ENTRY = Entry(
    component=WIDE_DECODER,
    report=SlotsReport,
    options=RULES | {"--error-span", "--exhaustive", "--lanes"},
    coverage_lines=token_counts,
    ports=lambda design: PORTS,
    promises=beat_promises,
    formal="utf8_flow.formal.wide_decoder",
)
