"""The registers of a design by stage, as its RTLIL has them: what the page shows of the inside."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from typing import Any

from utf8_sim.tools.rtlil import to_rtlil
from utf8_sim.trace import LARGEST_PART, Pin

MODULE = re.compile(r"module \\top\.?(\S*)")
ATTRIBUTE = re.compile(r'attribute \\(\w+) "(.*)"')
WIRE = re.compile(r"wire width (\d+) (?:output \d+ +)?\\(?!i__|o__payload|o__valid\$)(\S+)$")
FIELD = re.compile(r"connect \\(\S+)\.(\w+) \\(\S+) \[(\d+)(?::(\d+))?\]$")
STAGE_NUMBER = re.compile(r"Stage (\d+), ")
VALID = re.compile(r"\w+_valid(\$\d+)?|skid_taken")


@dataclass
class Register:
    """A register that is under a heading."""

    #: The module that it is in, below the uppermost one.
    module: str
    name: str
    width: int
    heading: str
    #: The clock enable of the stage, if this is the valid bit of one that has an enable.
    enable: str
    #: Of a structure: name, lowest bit, and width of each.
    fields: list[tuple[str, int, int]] = field(default_factory=list)

    @property
    def stage(self) -> str:
        """What its stage is called: the heading, and the module if there are several."""
        return f"{self.module}: {self.heading}" if self.module else self.heading

    @property
    def pin(self) -> Pin:
        """The register, to be looked at like a pin."""
        begins = range(0, self.width, LARGEST_PART)
        parts = tuple((lowest, min(self.width - lowest, LARGEST_PART)) for lowest in begins)
        name = self.name.replace("__", ".")  # of a pin
        return Pin(".".join(filter(None, [self.module, name])), parts)


@lru_cache(maxsize=16)  # of a wide design it takes seconds
def registers_of(design: Any) -> list[Register]:
    """The registers of a design, from the first stage to the last.

    Of one with lanes there are hundreds, so it is only the valid bits of the stages.
    """
    i, o = design.i, design.o
    ports = [i.valid, i.ready, o.valid, o.ready, i.payload.as_value(), o.payload.as_value()]
    state = [design.state] if hasattr(design, "state") else []
    rtlil = to_rtlil(design, [*ports, *state])
    # One that is nothing but an output's pins is there already.
    found = [r for r in _registers(rtlil) if f"connect \\{r.name} \\o__" not in rtlil]
    modules = list(dict.fromkeys(register.module for register in found))

    def place(register: Register) -> tuple[int, int, str]:
        number = STAGE_NUMBER.match(register.heading)
        return modules.index(register.module), int(number[1]) if number else 0, register.stage

    found.sort(key=place)
    if getattr(design, "lanes", 1) == 1:
        return found
    return [register for register in found if VALID.fullmatch(register.name)]


def _registers(rtlil: str) -> Iterator[Register]:
    attributes: dict[str, str] = {}
    known: dict[str, Register] = {}
    module = ""
    for line in map(str.strip, rtlil.splitlines()):
        if found := ATTRIBUTE.match(line):
            attributes[found[1]] = found[2]
            continue
        if found := MODULE.match(line):
            module, known = found[1], {}
        elif (found := WIRE.match(line)) and "stage" in attributes and int(found[1]):
            enable = attributes.get("enable", "")
            known[found[2]] = Register(module, found[2], int(found[1]), attributes["stage"], enable)
            yield known[found[2]]
        elif (found := FIELD.match(line)) and found[1] == found[3] and found[1] in known:
            highest, lowest = int(found[4]), int(found[5] or found[4])
            known[found[1]].fields.append((found[2], lowest, highest - lowest + 1))
        attributes = {}


def described(registers: list[Register]) -> list[dict[str, Any]]:
    """The stages with their registers, as values for JSON.

    ``valid`` is the register that says whether there is something in a stage, and ``enable`` the
    one that says whether things move into it in a cycle; without one, they always do. The skid
    register is a stage as well, and so is the output.
    """
    stages = []
    for stage, group in groupby(registers, key=lambda register: register.stage):
        members = list(group)
        valid = next((r for r in members if VALID.fullmatch(r.name)), None)
        rest = [{"name": r.pin.name, "width": r.width, "fields": r.fields} for r in members]
        valid_name = valid.pin.name if valid else None
        enable = valid.enable if valid else ""
        stages.append({"name": stage, "valid": valid_name, "enable": enable, "registers": rest})
    return stages
