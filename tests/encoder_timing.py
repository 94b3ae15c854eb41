"""The golden timing of the pipelined encoder, and with its text the levels of its pins."""

from collections import deque

from utf8_hdl import UNICODE, Profile
from utf8_sim.golden.model import Payload, encode_character

STAGES_BEFORE_SEND = 3
STAGES_AFTER_SEND = 2


class PipelinedEncoderTiming:
    """The pipelined encoder cycle by cycle, with lengths for code points and numbers for bytes.

    Three stages hold code points in front of the one that sends their bytes; two stages and the
    output buffer hold bytes behind it. In an enabled cycle every byte moves on. If the one that is
    sent is the last of its character, so does every code point, and what is offered enters: a code
    point or nothing. A cycle is enabled if the output did not wait in the one before; the first
    cycle is not.
    """

    def __init__(self) -> None:
        self._code_points = deque([0] * STAGES_BEFORE_SEND)
        self._to_send = 0
        self._bytes = deque([False] * STAGES_AFTER_SEND)
        self._buffered = 0
        self._taken = 0
        self._enabled = False

    def cycle(self, i_valid: int, length: int, o_ready: int) -> tuple[int, int, int]:
        """The output pins in this cycle; then the clock ticks.

        Parameters
        ----------
        i_valid, length, o_ready : int
            Whether a code point is offered, how many bytes it has, and whether a byte can be taken.

        Returns
        -------
        tuple of int
            ``i.ready``, ``o.valid``, and the number of the byte on offer, counted from reset.
        """
        i_ready = self._enabled and self._to_send <= 1
        o_valid = self._buffered > 0
        number = self._taken
        if self._enabled:
            self._bytes.append(self._to_send > 0)
            self._buffered += self._bytes.popleft()
            self._to_send -= 1
        if i_ready:
            self._code_points.append(length if i_valid else 0)
            self._to_send = self._code_points.popleft()
        if o_valid and o_ready:
            self._buffered -= 1
            self._taken += 1
        self._enabled = not o_valid or bool(o_ready)
        return int(i_ready), int(o_valid), number


class PipelinedEncoderCycles:
    """Every output pin in every cycle, as :class:`~utf8_sim.golden.model.CycleModel` has them."""

    def __init__(self, profile: Profile = UNICODE) -> None:
        self._profile = profile
        self._timing = PipelinedEncoderTiming()
        self._payloads: list[Payload] = []

    def cycle(self, i_valid: int, value: int, last: int, o_ready: int) -> Payload:
        encoded, refused = encode_character(value, self._profile) if i_valid else (b"", False)
        i_ready, o_valid, number = self._timing.cycle(i_valid, len(encoded), o_ready)
        if i_valid and i_ready:
            *others, final = ((byte, int(refused)) for byte in encoded)
            self._payloads += [*((*byte, 0) for byte in others), (*final, int(last))]
        return i_ready, o_valid, *(self._payloads[number] if o_valid else (0, 0, 0))
