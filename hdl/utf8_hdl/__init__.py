"""UTF-8 gateware for FPGAs: decoders, encoders, a validator, a transcoder, a compactor.

- `profile`, `layouts`, `encoding_scheme`: UTF-8 profiles, payloads, encoding schemes
- `rules`: classes of bytes and code points, derived from a profile
- `decoder`, `encoder`: pipelines for one byte per cycle
- `compact_decoder`, `compact_encoder`: the same with one register stage
- `parallel`: `detection` of the sequences in a beat, `first_error` of a text, `wide_decoder`,
  `validator`
- `transcode`: a module for each encoding, `report` of errors, `transcoder`
- `packing`: packs sparse beats into dense beats, for the transcoder and for `compactor`
- `flow_control`: `stage`; `pipeline`, for one byte per cycle; `credit`, for beats
- `composition`, `axi`: connections and adapters between components; AXI4-Stream ports
- `logic`, `byte_class`: building blocks of logic
- `design`, `checks`: base class of components, and checks of their parameters
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .axi import AxiStream
    from .checks import LANES
    from .compact_decoder import CompactDecoder
    from .compact_encoder import CompactEncoder
    from .compactor import Compactor
    from .composition import (
        BeatsToBytes,
        BytesToBeats,
        SlotsToCodePoints,
        TokensToCodePoints,
        join,
    )
    from .decoder import Decoder
    from .encoder import Encoder
    from .encoding_scheme import EncodingScheme
    from .flow_control.pipeline import Pipeline
    from .layouts import (
        BYTE_LAYOUT,
        ENCODED_LAYOUT,
        TEXT_STATUS,
        ErrorKind,
        beat_layout,
        code_point_layout,
        report_layout,
        slots_layout,
        token_layout,
        verdict_layout,
    )
    from .parallel.validator import Validator
    from .parallel.wide_decoder import WideDecoder
    from .profile import EXTENDED, PROFILES, UCS2, UCS4, UNICODE, ErrorSpan, Profile
    from .transcode.transcoder import Transcoder

__version__ = "1.0.0"

__all__ = [
    "BYTE_LAYOUT",
    "ENCODED_LAYOUT",
    "EXTENDED",
    "LANES",
    "PROFILES",
    "TEXT_STATUS",
    "UCS2",
    "UCS4",
    "UNICODE",
    "AxiStream",
    "BeatsToBytes",
    "BytesToBeats",
    "CompactDecoder",
    "CompactEncoder",
    "Compactor",
    "Decoder",
    "Encoder",
    "EncodingScheme",
    "ErrorKind",
    "ErrorSpan",
    "Pipeline",
    "Profile",
    "SlotsToCodePoints",
    "TokensToCodePoints",
    "Transcoder",
    "Validator",
    "WideDecoder",
    "__version__",
    "beat_layout",
    "code_point_layout",
    "join",
    "report_layout",
    "slots_layout",
    "token_layout",
    "verdict_layout",
]

_HOMES = {
    "BYTE_LAYOUT": "layouts",
    "ENCODED_LAYOUT": "layouts",
    "EXTENDED": "profile",
    "LANES": "checks",
    "PROFILES": "profile",
    "TEXT_STATUS": "layouts",
    "UCS2": "profile",
    "UCS4": "profile",
    "UNICODE": "profile",
    "AxiStream": "axi",
    "BeatsToBytes": "composition",
    "BytesToBeats": "composition",
    "CompactDecoder": "compact_decoder",
    "CompactEncoder": "compact_encoder",
    "Compactor": "compactor",
    "Decoder": "decoder",
    "Encoder": "encoder",
    "EncodingScheme": "encoding_scheme",
    "ErrorSpan": "profile",
    "ErrorKind": "layouts",
    "Pipeline": "flow_control.pipeline",
    "Profile": "profile",
    "SlotsToCodePoints": "composition",
    "TokensToCodePoints": "composition",
    "Transcoder": "transcode.transcoder",
    "Validator": "parallel.validator",
    "WideDecoder": "parallel.wide_decoder",
    "beat_layout": "layouts",
    "code_point_layout": "layouts",
    "join": "composition",
    "report_layout": "layouts",
    "slots_layout": "layouts",
    "token_layout": "layouts",
    "verdict_layout": "layouts",
}
"""The module that defines each name. It is imported when one of its names is first used."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
