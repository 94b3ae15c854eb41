"""The validator's entry: its golden model, its campaign, its coverage, how it is shown."""

from typing import Any

import numpy as np

from utf8_hdl import Kind, Validator

from ..campaign import beginnings, boundary_encodings
from ..golden.lanes import ArrayVerdicts, VerdictTransducer
from ..golden.text import decode
from ..golden.timing import Credit
from ..trace import Trace
from .beats import BeatComponent, BeatCoverage, show_beat, show_verdict, verdict
from .component import Lane, register

TIMING = Credit(stages=12)


class VerdictCoverage(BeatCoverage):
    """Also texts: in ``verdicts`` by kind, those with an error by its lane in ``wrong``."""

    def __init__(self, engine: Any) -> None:
        super().__init__(engine)
        self.verdicts = self.counter("verdicts", len(Kind))
        self.wrong = self.counter("wrong", self.lanes)

    def add(self, trace: Trace) -> None:
        super().add(trace)
        taken = trace.taken()
        kinds = taken["o.kind"][taken["o.last"] != 0]
        self.verdicts += np.bincount(kinds, minlength=len(self.verdicts))
        offsets = taken["o.offset"][taken["o.error"] != 0]
        self.wrong += np.bincount(offsets % self.lanes, minlength=self.lanes)

    def gaps(self) -> list[str]:
        profile = self.engine.profile
        texts = [*boundary_encodings(profile), *beginnings(profile)]
        kinds = {token.kind for text in texts for token in decode(text, profile)}
        missing = [kind.label for kind in Kind if kind in kinds and not self.verdicts[kind.value]]
        lanes = np.flatnonzero(self.wrong == 0)
        return [
            *super().gaps(),
            *(f"verdict x {kind}" for kind in missing),
            *(f"first error x lane {lane}" for lane in lanes),
        ]


def _parameters(design: Any) -> tuple[Any, int, int]:
    return design.profile, design.lanes, design.offset_width


VALIDATOR = register(
    BeatComponent(
        name="validator",
        make=Validator,
        transducer=lambda design: VerdictTransducer(*_parameters(design)),
        array_transducer=lambda design: ArrayVerdicts(*_parameters(design)),
        timing=lambda design: TIMING,
        coverage=VerdictCoverage,
        show_result=show_verdict,
        lanes=(
            Lane("o.data", lambda beat: show_beat(beat, "o")),
            Lane("verdict", verdict),
        ),
        text=verdict,
    )
)
