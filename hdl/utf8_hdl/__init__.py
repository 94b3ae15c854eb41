"""UTF-8 gateware for FPGAs: decoders, encoder, validator, transcoder; every error is found."""

from .axi import AxiStream
from .compactor import Compactor
from .decoder import Decoder
from .elastic import Pipeline
from .encoder import Encoder
from .forms import ByteOrder, Form
from .layouts import (
    BYTE_LAYOUT,
    ENCODED_LAYOUT,
    LANES,
    Kind,
    beat_layout,
    code_point_layout,
    slots_layout,
    sparse_layout,
    text_layout,
    token_layout,
    verdict_layout,
)
from .profile import EXTENDED, PROFILES, UCS2, UCS4, UNICODE, ErrorSpan, Profile
from .transcoder import Transcoder
from .validator import Validator

__version__ = "0.1.0"

__all__ = [
    "BYTE_LAYOUT",
    "ENCODED_LAYOUT",
    "EXTENDED",
    "LANES",
    "PROFILES",
    "UCS2",
    "UCS4",
    "UNICODE",
    "AxiStream",
    "ByteOrder",
    "Compactor",
    "Decoder",
    "Encoder",
    "ErrorSpan",
    "Form",
    "Kind",
    "Pipeline",
    "Profile",
    "Transcoder",
    "Validator",
    "__version__",
    "beat_layout",
    "code_point_layout",
    "slots_layout",
    "sparse_layout",
    "text_layout",
    "token_layout",
    "verdict_layout",
]
