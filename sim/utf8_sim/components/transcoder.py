"""The transcoder's entry: golden model, display, and header of the Verilog."""

from itertools import product
from typing import Any, ClassVar

import numpy as np

from utf8_hdl import EncodingScheme, Transcoder

from ..command_line import COMMAND_LINES
from ..golden.timing import Packing, Timing
from ..golden.transcoder import BIG_ENDIAN, TranscoderModel
from ..stimulus import Piece
from ..tools.words import plural
from .beats import BeatComponent, show_beat, verdict
from .component import EXAMPLE, Levels, OptionValues, Row, register
from .headers import BEATS, DONT_CARES, NOT_COUNTED, THROUGHPUT, kinds
from .transcoder_campaign import campaign, fuzz
from .transcoder_coverage import TranscoderCoverage
from .transcoder_report import TranscoderReport

TIMING = Packing(stages=20, counted=16, waits=True)


def show_text(beat: Levels) -> str:
    """Show the bytes of an output, and the report of its text."""
    shown = show_beat(beat, "o") + " error" * beat["o.error"]
    if beat["o.error"] and "o.count" in beat:
        shown += f": {verdict(beat)}, {plural(beat['o.count'], 'error')}"
    return shown


_TRIED = (
    (EncodingScheme.UTF_8, EncodingScheme.UTF_16LE),
    (EncodingScheme.UTF_8, EncodingScheme.UTF_32LE),
    (EncodingScheme.UTF_16LE, EncodingScheme.UTF_8),
    (EncodingScheme.UTF_32LE, EncodingScheme.UTF_8),
    (EncodingScheme.UTF_8, EncodingScheme.UTF_8),
)

_LITTLE = [scheme for scheme in EncodingScheme if scheme not in BIG_ENDIAN]

_BIG = (
    (EncodingScheme.UTF_8, EncodingScheme.UTF_16BE),
    (EncodingScheme.UTF_16BE, EncodingScheme.UTF_8),
    (EncodingScheme.UTF_32BE, EncodingScheme.UTF_16BE),
)


def _user_port(design: Any) -> str:
    """Description of ``tuser``, as a comment."""
    if not design.errors:
        return """\
//   tuser          with tlast, error: the text was not well-formed; U+FFFD replaces each error"""
    width = design.report_width
    offset, count = f"tuser[{width + 3}:4]", f"tuser[{2 * width + 3}:{width + 4}]"
    return f"""\
//   tuser          with tlast, a report of errors; else zero
//   tuser[0]       error: the text was not well-formed; U+FFFD replaces each error
//   tuser[3:1]     kind of the first error:
{kinds(design.profile)}
//   {offset:<14} offset: bytes of the input text before it; saturates at all ones
//   {count:<14} count: the number of errors; saturates at all ones"""


class TranscoderComponent(BeatComponent):
    """The transcoder."""

    name = "transcoder"
    make = Transcoder
    formal = "utf8_flow.formal.transcoder"
    command_line = COMMAND_LINES["transcoder"]
    tried = tuple({"source": source, "target": target} for source, target in _TRIED)
    proved_small = (
        *({"source": source, "target": target} for source, target in product(_LITTLE, repeat=2)),
        *({"source": source, "target": target, "strip_bom": True} for source, target in _BIG),
        *({"source": source, "errors": True} for source in _LITTLE),
    )
    live: ClassVar = {
        **{f"transcoder-{lanes}": {"lanes": lanes} for lanes in (4, 8, 16)},
        "repair-4": {"lanes": 4, "target": EncodingScheme.UTF_8},
    }
    has_live_rules = False
    coverage = TranscoderCoverage
    report = TranscoderReport
    show_result = staticmethod(show_text)
    rows = (Row("o.data", lambda beat: show_beat(beat, "o")),)
    levels = ("o.error", "o.last")
    dont_care_unless: ClassVar = {"o.data": "o.keep"}
    campaign = staticmethod(campaign)
    fuzz = staticmethod(fuzz)

    def model(self, design: Any) -> TranscoderModel:
        return TranscoderModel(design)

    def timing(self, design: Any) -> Packing:
        return TIMING

    def example(self, design: Any) -> Piece:
        if design.source is EncodingScheme.UTF_8:
            return super().example(design)
        text = EXAMPLE.encode(design.source.value, "surrogatepass")
        return self.fit_example(text, design), True

    def idle_options(self, own: OptionValues) -> frozenset[str]:
        is_utf8 = own["source"] == EncodingScheme.UTF_8.value
        return frozenset() if is_utf8 else frozenset({"--error-span"})

    def encode(self, text: str, design: Any) -> bytes:
        """The bytes of a text from the command line, in the encoding scheme of the input."""
        if design.source is EncodingScheme.UTF_8:
            return super().encode(text, design)
        return text.encode(design.source.value, "surrogatepass")

    def cpython_result(self, values: np.ndarray, design: Any) -> str:
        """The bytes that CPython's codecs produce, in hexadecimal."""
        text = values.astype(np.uint8).tobytes().decode(design.source.value, "replace")
        if design.strip_bom:
            text = text.removeprefix("\ufeff")
        return text.encode(design.target.value).hex(" ").upper()

    def ports(self, design: Any) -> str:
        source, target = (scheme.value.upper() for scheme in (design.source, design.target))
        mark = " U+FEFF at its beginning is left out." if design.strip_bom else ""
        return f"""\
{BEATS}
//                  The text is {source}.{mark}
//                  Only tlast flushes: without it, a beat is kept until the next one.
// m_axis_*         the text in {target}: dense beats
//   tdata          bytes, the first one lowest
//   tkeep          a bit for each byte: all are set, or with tlast the first ones, or none
{_user_port(design)}
{DONT_CARES}"""

    def promises(self, timing: Timing) -> list[str]:
        return [
            THROUGHPUT,
            f"Latency: the last output beat of a text is valid {timing.latency} cycles after its "
            f"last input beat was accepted. {NOT_COUNTED}.",
        ]


register(TranscoderComponent())
