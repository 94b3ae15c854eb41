"""The validator's entry: its golden model, its campaign, its coverage, how it is shown."""

from utf8_hdl import Validator

from ..golden.lanes import ArrayVerdicts, VerdictTransducer
from ..golden.timing import Credit
from ..stimulus import beats
from . import beats as common
from .component import Component, register


def stages(lanes: int) -> int:
    """How many stages it has: of the lanes, a quarter are left after each of the last ones."""
    return 8 + lanes.bit_length() // 2


VALIDATOR = register(
    Component(
        name="validator",
        make=Validator,
        transducer=lambda design: VerdictTransducer(design.profile, design.lanes),
        array_transducer=lambda design: ArrayVerdicts(design.profile, design.lanes),
        timing=lambda design: Credit(stages(design.lanes)),
        campaign=common.campaign,
        coverage=common.BeatCoverage,
        item="beat",
        result="beat",
        show_item=lambda beat: common.show_beat(beat, "i"),
        show_result=lambda beat: common.show_beat(beat, "o"),
        lanes=(),
        pack=beats,
        kept=common.kept,
    )
)
