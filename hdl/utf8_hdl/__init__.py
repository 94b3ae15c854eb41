"""UTF-8 gateware for FPGAs: decoder and encoder, every error named and placed."""

from .axi import AxiStream
from .decoder import Decoder
from .elastic import Pipeline
from .encoder import Encoder
from .layouts import BYTE_LAYOUT, ENCODED_LAYOUT, Kind, code_point_layout, token_layout
from .profile import EXTENDED, PROFILES, UCS2, UCS4, UNICODE, ErrorSpan, Profile

__version__ = "0.1.0"

__all__ = [
    "BYTE_LAYOUT",
    "ENCODED_LAYOUT",
    "EXTENDED",
    "PROFILES",
    "UCS2",
    "UCS4",
    "UNICODE",
    "AxiStream",
    "Decoder",
    "Encoder",
    "ErrorSpan",
    "Kind",
    "Pipeline",
    "Profile",
    "__version__",
    "code_point_layout",
    "token_layout",
]
