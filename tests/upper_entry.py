"""The toy components' entries, made when this module is imported."""

from typing import TextIO

from rich.text import Text

from upper import BEATS, UPPER
from utf8_flow.components import entry
from utf8_flow.formal.streams import properties_of
from utf8_flow.verify.report import Report
from utf8_sim.trace import Columns


class UpperReport(Report):
    """The bytes that came out."""

    def __init__(self, file: TextIO | None) -> None:
        super().__init__(file)
        self._taken = b""

    def _count(self, taken: Columns) -> None:
        self._taken += taken["o.data"].tobytes()
        if self._file:
            self._file.writelines(f'{{"byte": {byte}}}\n' for byte in taken["o.data"].tolist())

    def lines(self) -> list[Text]:
        return [Text(f"begins      {self._taken.decode('latin-1')}")]


PROPERTIES = {False: properties_of(UPPER.name, None, {}, {})}


entry.register(
    entry.Entry(
        component=UPPER,
        report=UpperReport,
        ports=lambda design: "// s_axis_*         bytes in\n// m_axis_*         bytes out",
        promises=lambda timing: f"// Latency: {timing.latency} cycle.",
        formal=__name__,
    )
)
entry.register(entry.Entry(component=BEATS, report=UpperReport, formal="beats_properties"))
