"""UTF-8 gateware for FPGAs: bytes in, code points out, every error named and placed."""

from .decoder import Decoder
from .profile import EXTENDED, PROFILES, UCS2, UCS4, UNICODE, ErrorSpan, Profile
from .token import BYTE_LAYOUT, Kind, token_layout

__version__ = "0.1.0"

__all__ = [
    "BYTE_LAYOUT",
    "EXTENDED",
    "PROFILES",
    "UCS2",
    "UCS4",
    "UNICODE",
    "Decoder",
    "ErrorSpan",
    "Kind",
    "Profile",
    "__version__",
    "token_layout",
]
