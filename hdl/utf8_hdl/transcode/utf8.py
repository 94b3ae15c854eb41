"""UTF-8, read and written."""

from typing import Any

from amaranth.hdl import Const, Value

from ..encoding_scheme import EncodingScheme
from ..flow_control.credit import Credit
from ..flow_control.stage import Stage
from ..logic import any_of
from ..parallel.detection import SequenceDetector
from ..profile import Profile
from .code_points import Reading, Unit, make_code_points


def read(credit: Credit, i: Any, profile: Profile, scheme: EncodingScheme) -> Reading:
    """Read UTF-8, in which each byte is a unit."""
    lanes = SequenceDetector(credit, i, profile)
    named = lanes.named()
    counts = range(2, profile.longest_form + 1)
    longer = [named[f"character_{count}"] for count in counts]
    at_least = [named[f"at_least_{count}"] for count in counts]
    return make_code_points(credit, named, named["ends"], lanes.code_points(), longer, at_least)


def write(step: Stage, width: int) -> list[Unit]:
    """Write UTF-8: a code point is up to four bytes (RFC 3629, section 3)."""
    token = step["token"]
    at_least = [token, *(step[f"bytes_{count}"] for count in (2, 3, 4))]
    none = Const(0, len(token))
    exactly = [one & ~more for one, more in zip(at_least, [*at_least[1:], none], strict=True)]
    bits = [step[f"code_point_{bit}"] if bit < width else none for bit in range(24)]

    def byte(number: int) -> Unit:
        """A byte of the sequence, counted from 0, selected by the length of the sequence."""
        planes: list[list[Value]] = [[] for _ in range(8)]
        for length in range(number + 1, 5):
            lowest = 6 * (length - 1 - number)
            payload = 7 if length == 1 else 6 if number else 7 - length
            marker = 0 if length == 1 else 0x80 if number else 0xFF << 8 - length & 0xFF
            for bit, plane in enumerate(planes):
                if bit < payload:
                    plane.append(bits[lowest + bit] & exactly[length - 1])
                elif marker >> bit & 1:
                    plane.append(exactly[length - 1])
        return Unit([any_of(plane) if plane else none for plane in planes], at_least[number])

    return [byte(number) for number in range(4)]
