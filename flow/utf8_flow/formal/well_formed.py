"""Well-formed text for the proofs, from Unicode Table 3-7 and its continuation to eight bytes.

This shares nothing with the decoder's specification, not even its tables: what is written here are
the lead bytes of each length, and the few that restrict the byte behind them.
"""

from amaranth.hdl import Cat, Const, Module, Signal, Value

from utf8_hdl import Profile

LEADS = {
    1: (0x00, 0x7F),
    2: (0xC2, 0xDF),
    3: (0xE0, 0xEF),
    4: (0xF0, 0xF7),
    5: (0xF8, 0xFB),
    6: (0xFC, 0xFD),
    7: (0xFE, 0xFE),
    8: (0xFF, 0xFF),
}
"""The first and the last lead byte of characters of each length."""

LEADS_OF_4_IN_UNICODE = (0xF0, 0xF4)
"""Up to 10FFFF."""

CONTINUATION = (0x80, 0xBF)

SECOND = {
    0xE0: (0xA0, 0xBF),
    0xED: (0x80, 0x9F),
    0xF0: (0x90, 0xBF),
    0xF4: (0x80, 0x8F),
    0xF8: (0x88, 0xBF),
    0xFC: (0x84, 0xBF),
    0xFE: (0x82, 0xBF),
    0xFF: (0x81, 0xBF),
}
"""The second bytes of lead bytes that do not allow all of them. ED does where surrogates are
accepted, F4 where values above 10FFFF are."""

ROWS = """
    0..7F 80..7FF 800..FFF 1000..CFFF D000..D7FF E000..FFFF 10000..3FFFF 40000..FFFFF
    100000..10FFFF 110000..13FFFF 140000..1FFFFF 200000..FFFFFF 1000000..3FFFFFF
    4000000..3FFFFFFF 40000000..7FFFFFFF 80000000..FFFFFFFFF 1000000000..3FFFFFFFFFF
"""
"""The code points of the rows of Table 3-7, as its first column has them, and of those behind."""


def row_ends(profile: Profile) -> list[int]:
    """The first and the last code point of each row."""
    rows = ROWS
    if profile.accept_surrogates:
        rows += " D800..DFFF"
    if not profile.accept_noncharacters:
        rows = rows.replace("E000..FFFF", "E000..FFFD")
    ends = [int(end, 16) for row in rows.split() for end in row.split("..")]
    return [end for end in ends if end <= profile.highest]


class WellFormedText:
    """Says which bytes go on with a text that is made of whole characters.

    Attributes
    ----------
    byte, last, accept : Signal
        To be driven: a byte, whether it is to end the text, and whether the text goes on so.
    fits : Signal
        Whether it may.
    """

    def __init__(self, m: Module, profile: Profile) -> None:
        self.byte, self.last, self.accept, self.fits = Signal(8), Signal(), Signal(), Signal()
        byte = self.byte
        leads = {length: LEADS[length] for length in range(1, profile.longest_form + 1)}
        second = dict(SECOND)
        if profile.highest == 0x10FFFF:
            leads[4] = LEADS_OF_4_IN_UNICODE
        else:
            del second[0xF4]
        if profile.accept_surrogates:
            del second[0xED]

        # How many bytes are missing, a register for each number, and what the byte before was.
        missing = [Signal(name=f"missing_{count}") for count in range(1, profile.longest_form)]
        after = {lead: Signal(name=f"after_{lead:02X}") for lead in second}
        begins = ~Cat(missing).any()
        allowed = _within(byte, CONTINUATION)
        for lead, bounds in second.items():
            allowed &= ~after[lead] | _within(byte, bounds)
        if not profile.accept_noncharacters:  # EF BF BE and EF BF BF
            after_ef, after_ef_bf = Signal(), Signal()
            allowed &= ~after_ef_bf | (byte < 0xBE)
            with m.If(self.accept):
                m.d.sync += [after_ef.eq(byte == 0xEF), after_ef_bf.eq(after_ef & (byte == 0xBF))]
        left = [
            (begins & _within(byte, leads[count + 1])) | (~begins & longer)
            for count, longer in enumerate([*missing[1:], Const(0, 1)], start=1)
        ]
        is_lead = Cat(_within(byte, bounds) for bounds in leads.values()).any()
        goes_on = (begins & is_lead) | (~begins & allowed)
        m.d.comb += self.fits.eq(goes_on & ~(self.last & Cat(left).any()))
        with m.If(self.accept):
            m.d.sync += [register.eq(value) for register, value in zip(missing, left, strict=True)]
            m.d.sync += [register.eq(byte == lead) for lead, register in after.items()]


def _within(byte: Value, bounds: tuple[int, int]) -> Value:
    return (byte >= bounds[0]) & (byte <= bounds[1])
