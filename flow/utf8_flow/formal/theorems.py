"""The theorem of each component: its claim, and the steps that lead to it.

A step is proved by properties, or it is an argument, which no tool has checked. Each assumption of
a step names the properties that discharge it, or is an argument as well. A property of another
component is named with that component, as in ``decoder: conservation``.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Assumption:
    """An assumption of a step."""

    text: str
    #: The properties that discharge it.
    by: tuple[str, ...] = ()
    #: Why it holds, if no property discharges all of it.
    argument: str = ""


@dataclass(frozen=True)
class Step:
    """A step of a theorem."""

    text: str
    #: The properties that prove it. Without any, the step is an argument.
    by: tuple[str, ...] = ()
    assumes: tuple[Assumption, ...] = ()


@dataclass(frozen=True)
class Theorem:
    """The theorem of a component."""

    claim: str
    steps: tuple[Step, ...]
    #: Claims that a reader may expect, and that are not proved.
    excluded: tuple[str, ...] = ()


_TRANSFER = Assumption(
    "Every run of the design is a run of the specification and the timing model.", ("tokens",)
)
_TRANSFER_OF_ENCODER = Assumption(
    "Every run of the design is a run of the specification and the timing model.", ("bytes",)
)
_ANY_SEQUENCE = Assumption(
    "A lemma about the specification covers every sequence of accepted items.",
    ("in-order",),
    "The lemma has an item or none in any cycle, so every accepted sequence is among its runs.",
)


def _streams(compact: bool) -> Step:
    independent = "`o.valid` and the output payload do not depend"
    if not compact:
        independent = "no output pin depends"
    return Step(
        f"The stream rules hold: a waiting output does not change, {independent} on "
        "`o.ready` in the same cycle, and an input that is not accepted has no effect.",
        ("output-stream", "valid-independent", "input-stream"),
    )


_RESET = Step("A reset leads from any register contents to the initial state.", ("reset",))
_VERILOG = Step(
    "The generated Verilog equals the design on every pin in every cycle, from the initial state "
    "on and through resets.",
    ("verilog",),
)


_DRAINS = Step(
    "From any register contents, the component becomes empty and ready after a bounded number of "
    "cycles without input. The number of outputs that were never accepted is bounded, too.",
    ("drains",),
)


def _decoder(own_lemmas: Step, *, compact: bool = False) -> Theorem:
    return Theorem(
        "For every sequence of bytes and all stalls, the decoder outputs the tokens of the "
        "specification, in order, in the documented cycles. It keeps the stream rules. After a "
        "reset, or once it is synchronised, this holds from any register contents. The generated "
        "Verilog does the same.",
        (
            Step(
                "Every pin in every cycle equals the specification with the documented timing.",
                ("tokens",),
            ),
            Step("Every error kind, table row and decoder state is reachable.", ("covers",)),
            Step(
                "The documented timing loses no byte, keeps the order, can accept a byte "
                f"{_RATE_OF_COMPACT if compact else _RATE}, and has the documented latency.",
                ("in-order", "line-rate", "latency"),
                (_TRANSFER,),
            ),
            own_lemmas,
            _streams(compact),
            Step(
                "From any register contents, the tokens are right once enough bytes were accepted.",
                ("self-synchronisation",),
            ),
            _DRAINS,
            _RESET,
            _VERILOG,
        ),
        (
            "After self-synchronisation, the cycle of a token: it may be late until the tokens "
            "that the registers held have left.",
        ),
    )


_RATE = "two cycles after each cycle in which the output did not wait"
_RATE_OF_COMPACT = "in every cycle after the first in which the consumer is ready"
_OF_TOKENS = (
    "Tokens cover every accepted byte once, a character has exactly the bytes of its one encoding, "
    "and a well-formed text has no error."
)


def _encoder(lemmas: Step, own: tuple[Step, ...] = (), *, compact: bool = False) -> Theorem:
    return Theorem(
        "For every sequence of code points and all stalls, the encoder outputs the bytes of the "
        "specification, in order, in the documented cycles. It keeps the stream rules. After a "
        "reset this holds from any register contents. The generated Verilog does the same.",
        (
            Step(
                "Every pin in every cycle equals the specification with the documented timing.",
                ("bytes",),
            ),
            Step("Every length, limit, refusal and encoder state is reachable.", ("covers",)),
            Step(
                "The documented timing loses no code point, keeps the order, has the documented "
                "throughput and latency, and the last byte of every text leaves the encoder.",
                ("in-order", "rate", "latency", "last-arrives"),
                (_TRANSFER_OF_ENCODER,),
            ),
            lemmas,
            *own,
            _streams(compact),
            Step(
                "From any register contents, the encoder is as in the initial state after a "
                "bounded number of cycles without input.",
                ("self-synchronisation",),
            ),
            _RESET,
            _VERILOG,
        ),
    )


_OF_BYTES = (
    "The bytes are the shortest form, a decoder returns the code points, and byte strings sort as "
    "code points do."
)
_SHORTEST = "shortest-form", "round-trip", "order"
_TOKENS = "conservation", "only-well-formed", "well-formed-passes"

_WINDOWS = Step(
    "The token that ends with a byte depends only on a window of bytes around it.", ("windows",)
)
_GAPS = Step(
    "A cycle without an accepted beat does not change the later beats.",
    ("gaps",),
    (
        Assumption(
            "One such cycle at a time is enough.",
            (),
            "Every run with gaps becomes a run without gaps by removing one gap after another.",
        ),
    ),
)
_BEGINS = Step("The first beats after a reset are right, too.", ("begins",))
_BACK_TO_BACK = Assumption("The beats are accepted back to back.", ("gaps", "begins"))
_SERIAL = Assumption("The window function equals the serial specification.", ("windows",))
_PASSIVE = Step(
    "`valid-independent` and `input-stream` hold, too: in the timing model the outputs depend only "
    "on registers, and these change only with transfers.",
)


def _laned(logic: tuple[Step, ...], claim: str) -> Theorem:
    return Theorem(
        claim,
        (
            _WINDOWS,
            *logic,
            _GAPS,
            _BEGINS,
            Step(
                "After a cycle of reset, from any register contents, `i.ready` and `o.valid` are "
                "those of the documented timing in every cycle.",
                ("timing",),
            ),
            Step(
                "The output is the right beat by number, with what the last stage before the "
                "memory holds of it, also after a reset in any cycle.",
                ("passes",),
                (
                    Assumption(
                        "What the last stage holds of a beat is right.",
                        tuple(dict.fromkeys(by for step in logic for by in step.by)),
                    ),
                    Assumption("A beat is at the output when the timing says so.", ("timing",)),
                ),
            ),
            Step(
                "A waiting output does not change, and no beat overwrites one in the memory.",
                ("output-stream",),
                (Assumption("The design has the documented timing.", ("timing", "passes")),),
            ),
            _PASSIVE,
            _DRAINS,
            _VERILOG,
            Step("The steps compose: each one assumes only signals that another one is about."),
        ),
        (
            "Any number of lanes for which the steps did not run.",
            "The order and the cycles of beats after flow control has drained from any register "
            "contents, without a reset.",
        ),
    )


_FLOW_CONTROL = (
    Step(
        "`o.valid` is that of the documented timing, after a reset from any register contents.",
        ("timing",),
        (
            Assumption(
                "There are places for the beats that are given.",
                ("room", "credit"),
                "`timing` holds up to a cycle in which there are not, `credit` and `room` in every "
                "cycle; so an induction over cycles combines them.",
            ),
        ),
    ),
    Step("`i.ready` is that of the documented timing, also after a reset.", ("credit",)),
    Step(
        "From any register contents, after ten cycles the number of the next beat goes up by one "
        "with each beat that is taken. The addresses of the memory follow it when the consumer has "
        "been ready in five cycles.",
        ("reads",),
    ),
    Step(
        "No dense beat overwrites one that was not taken.",
        ("room",),
        (
            Assumption(
                "A beat is accepted only while the outstanding beats leave room.",
                ("credit",),
                "The step is about slots in a row. That there are places then is an argument: its "
                "statement has it.",
            ),
        ),
    ),
)

THEOREMS = {
    "decoder": _decoder(Step(_OF_TOKENS, _TOKENS, (_TRANSFER, _ANY_SEQUENCE))),
    "compact decoder": _decoder(
        Step(
            f"{_OF_TOKENS} The specification is that of the pipelined decoder.",
            tuple(f"decoder: {name}" for name in _TOKENS),
            (_TRANSFER, _ANY_SEQUENCE),
        ),
        compact=True,
    ),
    "decoder with lanes": _laned(
        (
            Step(
                "In every lane, the slots of a beat equal the window function, from any register "
                "contents.",
                ("slots",),
                (_BACK_TO_BACK, _SERIAL),
            ),
        ),
        "For every sequence of beats and all stalls, each slot holds the token of the "
        "specification that ends with its byte. Beats leave in order, in the documented cycles. "
        "After a reset this holds from any register contents. The generated Verilog does the same.",
    ),
    "encoder": _encoder(Step(_OF_BYTES, _SHORTEST, (_TRANSFER_OF_ENCODER, _ANY_SEQUENCE))),
    "compact encoder": _encoder(
        Step(
            f"{_OF_BYTES} The specification is that of the pipelined encoder.",
            tuple(f"encoder: {name}" for name in _SHORTEST),
            (_TRANSFER_OF_ENCODER, _ANY_SEQUENCE),
        ),
        (Step("The output keeps its value while nothing is offered.", ("idle-output",)),),
        compact=True,
    ),
    "validator": _laned(
        (
            Step(
                "The first error of a beat equals that of the window function, from any register "
                "contents.",
                ("first-error",),
                (_BACK_TO_BACK, _SERIAL),
            ),
            Step(
                "The verdict of a text is that of the first errors of its beats, with a saturating "
                "offset.",
                ("verdict",),
                (
                    Assumption(
                        "The first errors of the beats are right and can occur: no error begins "
                        "before its text.",
                        ("first-error", "decoder: conservation"),
                    ),
                ),
            ),
            Step(
                "From any register contents, verdicts are right after the first accepted `last`.",
                ("self-synchronisation",),
            ),
        ),
        "For every sequence of beats and all stalls, the beats leave unchanged and in order, in "
        "the documented cycles, and each text has the verdict of the specification: error, kind "
        "and offset of its first error. After a reset this holds from any register contents. The "
        "generated Verilog does the same.",
    ),
    "compactor": Theorem(
        "For every sequence of beats and all stalls, the output holds the values of each text in "
        "order, none lost and none added, in dense beats, in the documented cycles. After a reset "
        "this holds from any register contents. The generated Verilog does the same.",
        (
            Step("After a reset, no values wait.", ("begins",)),
            Step(
                "If all stages agree on the number of waiting values before a slot, they agree on "
                "the right number after it.",
                ("counted",),
            ),
            Step(
                "Each slot produces a dense beat when it must, with the right number, `keep`, "
                "`last` and `user`.",
                ("given",),
                (Assumption("The stages agree before the slot.", ("begins", "counted")),),
            ),
            Step(
                "Each value is written once, to its lane and its dense beat.",
                ("sums", "routes", "places"),
                (
                    Assumption("The stages agree before the slot.", ("begins", "counted")),
                    Assumption("`routes` swaps the pairs of lanes that `sums` names.", ("sums",)),
                ),
            ),
            Step(
                "The facts about single slots give the claim about all values of a run: an "
                "induction over slots."
            ),
            Step(
                "Each lane of the output has the value that was last written for its dense beat, "
                "also after a reset in any cycle.",
                ("passes",),
                (Assumption("Nothing overwrites a waiting beat.", ("room",)),),
            ),
            *_FLOW_CONTROL,
            Step(
                "From any register contents, the stages agree after an accepted `last`.",
                ("self-synchronisation",),
            ),
            _DRAINS,
            Step(
                "The stream rules hold: the pins depend only on registers of the timing models, "
                "and these change only with transfers."
            ),
            _VERILOG,
        ),
        (
            "Any number of lanes, and any width of a value, for which the steps did not run.",
            "`user` on the command line, where designs have none. Tests prove `given` with two "
            "bits of it.",
        ),
    ),
    "transcoder": Theorem(
        "For every sequence of beats and all stalls, the output holds the units of the target form "
        "for each text, with U+FFFD for each error, in order, in dense beats, and `error` with the "
        "last beat. After a reset this holds from any register contents. The generated Verilog "
        "does the same.",
        (
            _WINDOWS,
            Step(
                "The units, `last` and the error flag of a beat equal the specification, from any "
                "register contents.",
                ("units",),
                (_BACK_TO_BACK, _SERIAL),
            ),
            _GAPS,
            _BEGINS,
            Step(
                "In the specification, the units of slot 0 belong to the beat before, whose last "
                "index is empty.",
                ("apart",),
            ),
            Step(
                "`error` of a text is that of its beats.",
                ("error",),
                (Assumption("The error flag of each beat is right.", ("units",)),),
            ),
            Step(
                "From any register contents, `error` is right after the first accepted `last`.",
                ("self-synchronisation",),
            ),
            Step(
                "Each accepted beat leaves the merge once, in order, with the units of slot 0 of "
                "the next beat of its text.",
                ("joins",),
                (
                    Assumption(
                        "Unused units of slot 0 are zero, and the index before them is empty.",
                        ("units", "apart"),
                    ),
                ),
            ),
            Step(
                "The stages behind the merge make the beats dense, in the steps of the compactor's "
                "theorem.",
                ("packing-begins", "counted", "given", "sums", "routes", "places"),
                (Assumption("The beats that come to them leave the merge.", ("joins",)),),
            ),
            Step(
                "Each unit of the output is what was last written for its dense beat, also after a "
                "reset in any cycle.",
                ("passes",),
                (Assumption("Nothing overwrites a waiting beat.", ("room",)),),
            ),
            *_FLOW_CONTROL,
            Step("The bytes at the output are those of the dense beats.", ("delivers",)),
            Step(
                "The steps compose: the units of a text are those of its code points and errors, "
                "in order. Each step assumes only signals that another step is about."
            ),
            Step(
                "From any register contents, all is right as soon as each step is: the units "
                "after the beats of a window, `error` and the dense beats after a `last`.",
                ("packing-self-synchronisation",),
            ),
            Step(
                "With `--errors`, what is known of a beat's errors equals the specification: their "
                "number, and kind and place of the first one.",
                ("first-error", "report-gaps", "report-begins"),
                (_SERIAL,),
            ),
            Step(
                "With `--errors`, the report of a text is that of its beats, and comes to packing "
                "two cycles after the last one. From any register contents this holds after the "
                "first accepted `last`.",
                ("report", "report-self-synchronisation"),
                (Assumption("What is known of the errors of beats is right.", ("first-error",)),),
            ),
            _DRAINS,
            _VERILOG,
        ),
        ("Any number of lanes and any pair of forms for which the steps did not run.",),
    ),
}
"""The theorems by component.

A component with lanes has its own theorem if it also exists without lanes.
"""
