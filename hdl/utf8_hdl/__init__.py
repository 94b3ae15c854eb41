"""UTF-8 gateware for FPGAs: decoders, encoders, a validator, a transcoder, a compactor.

Where to find what:

- `profile`, `layouts`, `encoding_scheme`: the rules of a UTF-8, the payloads, the encodings
- `tables`: what each byte may be, from the rules of a profile
- `decoder`, `encoder`: a pipeline for one byte per cycle, with the flow control of `pipeline`
- `compact_decoder`, `compact_encoder`: the same with one register stage
- `lanes`: the tokens of a beat, which `wide_decoder`, `validator` and `transcoder` share
- `transcoder`: `readers` and `writers` of each encoding, then `compactor`, which packs lanes
- `credit`: flow control of all components with lanes
- `composition`, `axi`: streams of components joined, and ports of AXI4-Stream
- `logic`, `byte_class`: logic that synthesis maps as written, and sets of bytes
- `design`, `checks`: the base class, and checks of parameters
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
    from .layouts import (
        BYTE_LAYOUT,
        ENCODED_LAYOUT,
        TEXT_STATUS,
        Kind,
        beat_layout,
        code_point_layout,
        slots_layout,
        token_layout,
        verdict_layout,
    )
    from .pipeline import Pipeline
    from .profile import EXTENDED, PROFILES, UCS2, UCS4, UNICODE, ErrorSpan, Profile
    from .transcoder import Transcoder
    from .validator import Validator
    from .wide_decoder import WideDecoder

__version__ = "0.1.0"

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
    "ErrorSpan",
    "Kind",
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
    "Kind": "layouts",
    "Pipeline": "pipeline",
    "Profile": "profile",
    "SlotsToCodePoints": "composition",
    "TokensToCodePoints": "composition",
    "Transcoder": "transcoder",
    "Validator": "validator",
    "WideDecoder": "wide_decoder",
    "beat_layout": "layouts",
    "code_point_layout": "layouts",
    "join": "composition",
    "slots_layout": "layouts",
    "token_layout": "layouts",
    "verdict_layout": "layouts",
}
"""The modules of these names. Each is imported when a name in it is first used."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
