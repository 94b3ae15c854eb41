"""The entry of the decoder with lanes, which is not registered but part of the decoder's."""

from utf8_hdl import Decoder

from ..golden.lanes import ArraySlots, SlotsTransducer
from ..golden.timing import Credit
from ..stimulus import beats
from . import beats as common
from .component import Component

TIMING = Credit(stages=7)

WIDE_DECODER = Component(
    name="decoder",
    make=Decoder,
    transducer=lambda design: SlotsTransducer(design.profile, design.lanes),
    array_transducer=lambda design: ArraySlots(design.profile, design.lanes),
    timing=lambda design: TIMING,
    campaign=common.campaign,
    coverage=common.BeatCoverage,
    item="beat",
    result="beat",
    show_item=lambda beat: common.show_beat(beat, "i"),
    show_result=lambda slots: "",
    lanes=(),
    pack=beats,
    kept=common.kept,
)
