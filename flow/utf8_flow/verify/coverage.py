"""Reports of the coverage of a comparison."""

from collections.abc import Iterable, Iterator

from rich.text import Text

from utf8_sim.campaign import class_name
from utf8_sim.coverage import Coverage
from utf8_sim.tools.words import plural

MAX_POINTS = 12
"""Maximum number of cover points of a group that are listed one by one."""


def point_lines(coverage: Coverage) -> Iterator[Text]:
    """A line for each group of cover points: the count of each point, or a summary of many."""
    for name, labels in coverage.labels.items():
        points = zip(labels, coverage.counts[name].tolist(), strict=True)
        named = [(label, count) for label, count in points if label]
        if len(named) > MAX_POINTS:
            reached = sum(1 for _, count in named if count)
            least = min(count for _, count in named)
            yield Text(f"{name}: {reached} of {len(named)}, each {least} times or more")
        elif named:
            yield Text(f"{name}: " + ", ".join(f"{label} ({count})" for label, count in named))


def coverage_table(coverage: Coverage, more: Iterable[Text], blank: str = "") -> list[Text]:
    """The number of times each class occurred in each case (``blank`` if never), and ``more``."""
    names = [class_name(members) for members in coverage.classes]
    head = max(map(len, names)) + 2
    width = max(map(len, [*coverage.columns, str(coverage.cells.max()), blank])) + 2
    what = coverage.engine.component.value
    lines = [
        Text(f"{what}s accepted, by class and {coverage.title}", style="bold"),
        Text(" " * head + "".join(f"{name:>{width}}" for name in coverage.columns)),
    ]
    for name, counts in zip(names, coverage.cells.tolist(), strict=True):
        line = Text(f"{name:<{head}}")
        for count in counts:
            line.append(f"{count or blank:>{width}}", style="" if count else "bold red")
        line.rstrip()
        lines.append(line)
    lines += more
    if blank:
        lines += point_lines(coverage)
    lines.append(
        Text(
            f"input stalled in {plural(coverage.waiting_inputs, 'cycle')}, "
            f"output in {plural(coverage.waiting_outputs, 'cycle')}"
        )
    )
    return lines
