"""The platform of the Tang Nano 20K, which is missing in amaranth-boards 0.0.21."""

from amaranth.build import Attrs, Clock, Pins, PinsN, Resource, Subsignal
from amaranth.vendor import GowinPlatform

_LEVELS = Attrs(IO_TYPE="LVCMOS33")


class TangNano20kPlatform(GowinPlatform):
    """The board, with the resources that the demo needs.

    The pins are from litex-boards (`sipeed_tang_nano_20k`), whose source is Sipeed's schematic
    Tang_Nano_20K_3921.
    """

    part = "GW2AR-LV18QN88C8/I7"
    family = "GW2AR-18C"
    default_clk = "clk27"
    resources = (
        Resource("clk27", 0, Pins("4", dir="i"), Clock(27e6), _LEVELS),
        Resource(
            "uart",
            0,
            Subsignal("rx", Pins("70", dir="i")),
            Subsignal("tx", Pins("69", dir="o")),
            Attrs(PULL_MODE="UP", IO_TYPE="LVCMOS33"),
        ),
        Resource("led", 0, PinsN("15", dir="o"), _LEVELS),
    )
    connectors = ()
