"""Well-formed text for the proofs, from Unicode Table 3-7 and its continuation to eight bytes.

This shares nothing with the decoder's specification, not even its tables. The tables here are the
lead bytes of each length, and the few lead bytes that restrict the byte after them.
"""

from amaranth.hdl import Cat, Module, Mux, Signal, Value

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
"""The same for four bytes up to 10FFFF."""

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
"""The second bytes of lead bytes that do not allow all continuation bytes.

ED allows all if surrogates are accepted, F4 if values above 10FFFF are accepted.
"""

ROWS = """
    0..7F 80..7FF 800..FFF 1000..CFFF D000..D7FF E000..FFFF 10000..3FFFF 40000..FFFFF
    100000..10FFFF 110000..13FFFF 140000..1FFFFF 200000..FFFFFF 1000000..3FFFFFF
    4000000..3FFFFFFF 40000000..7FFFFFFF 80000000..FFFFFFFFF 1000000000..3FFFFFFFFFF
"""
"""The code points of the rows in the first column of Table 3-7, and of its continuation."""


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
    """The bytes that may continue a text of complete characters.

    - ``byte``, ``last``, ``accept``: to be driven: a byte; it ends the text; it is appended to the
      text.
    - ``fits``: high if the byte with ``last`` may be appended.
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

        # The number of missing bytes, and the two bytes before.
        missing, before, before_that = Signal(3), Signal(8), Signal(8)
        begins = missing == 0
        allowed = _within(byte, CONTINUATION)
        for lead, bounds in second.items():
            allowed &= (before != lead) | _within(byte, bounds)
        if not profile.accept_noncharacters:  # EF BF BE and EF BF BF
            allowed &= (before_that != 0xEF) | (before != 0xBF) | (byte < 0xBE)
        left = Mux(begins, 0, missing - 1)
        for length, bounds in leads.items():
            left = Mux(begins & _within(byte, bounds), length - 1, left)
        is_lead = Cat(_within(byte, bounds) for bounds in leads.values()).any()
        m.d.comb += self.fits.eq(Mux(begins, is_lead, allowed) & ~(self.last & (left != 0)))
        with m.If(self.accept):
            m.d.sync += [missing.eq(left), before.eq(byte), before_that.eq(before)]


def _within(byte: Value, bounds: tuple[int, int]) -> Value:
    return (byte >= bounds[0]) & (byte <= bounds[1])
