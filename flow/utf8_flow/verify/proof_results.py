"""Results of proofs, collected in a JSON file over many runs."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from utf8_hdl import UNICODE, __version__
from utf8_sim.components import COMPONENTS
from utf8_sim.tools.errors import UsageError
from utf8_sim.tools.files import open_output, refusing
from utf8_sim.tools.yowasp import package_versions, versions_line

from ..designs import DesignSpec
from ..formal.abc_program import PACKAGE
from ..formal.bench import Property
from ..formal.properties import every_property, module_of
from ..formal.prover import Proof
from .code_digest import code_digest

PROVED, UNDECIDED = "proved", "UNDECIDED"

PACKAGES = frozenset({"utf8_hdl", "utf8_flow.formal"})
"""The packages whose code a digest covers."""

WRITER = frozenset({"utf8_flow.export"})
"""The package of the Verilog writer, which the digest also covers for the property `verilog`."""

Key = tuple[DesignSpec, str, str]
"""A design with the rules of `unicode`, the name of a profile, and the name of a property."""


def digest_of(spec: DesignSpec, what: Property) -> str:
    """The digest of the code of a design and its properties, with their imports.

    It covers :data:`PACKAGES` and, for the property `verilog`, the Verilog writer.
    """
    packages = PACKAGES | WRITER if what.name == "verilog" else PACKAGES
    return code_digest(_modules(spec), packages)


@cache
def _modules(spec: DesignSpec) -> frozenset[str]:
    """The modules of a design and of its properties."""
    return frozenset({module_of(spec.entry), type(spec.make(UNICODE)).__module__})


@dataclass(frozen=True)
class Result:
    """The result of the last attempt to prove a property of a design."""

    #: The design, with the rules of `unicode`; ``profile`` has the rules of the attempt.
    spec: DesignSpec
    #: The names of the profile and of the property.
    profile: str
    name: str
    verdict: str
    #: The method of the proof, or the limit that ended the attempt.
    method: str
    seconds: float
    #: Versions of this package, and of the prover.
    version: str
    tool: str
    #: The digest of the code at the attempt; empty if it was not recorded.
    digest: str

    @classmethod
    def of(cls, key: Key, digest: str, p: Proof) -> "Result":
        """The result of a proof."""
        seconds, tool = round(p.seconds, 1), versions_line(package_versions([PACKAGE]))
        return cls(*key, p.verdict, p.method, seconds, __version__, tool, digest)

    @property
    def key(self) -> Key:
        return self.spec, self.profile, self.name

    @property
    def is_proved(self) -> bool:
        return self.verdict == PROVED

    def ran_out_of(self, limit: float) -> bool:
        """True if the attempt was undecided at this time limit."""
        return self.verdict == UNDECIDED and self.seconds >= limit

    def row(self) -> dict[str, Any]:
        """The result as a JSON object."""
        return self.spec.row() | {key: getattr(self, name) for key, name in _KEYS.items()}

    @classmethod
    def of_row(cls, row: dict[str, Any]) -> "Result":
        """The result from a JSON object; a `KeyError`, `TypeError` or `ValueError` if invalid."""
        spec = DesignSpec.of_row(row)
        _modules(spec)  # raises an error if no such design exists
        return cls(spec, *(row[key] for key in _KEYS))


_KEYS = {
    "property" if field.name == "name" else field.name: field.name
    for field in fields(Result)
    if field.name != "spec"
}
"""The attribute for each key of a JSON object, without the keys of the design."""


class Results:
    """The results in a file; a `UsageError` if it has other content, or is not a regular file."""

    def __init__(self, path: str, must_exist: bool = False) -> None:
        self._path = path
        if must_exist and not Path(path).exists():
            raise UsageError(f"{path!r} does not exist: choose a file that prove --json wrote")
        self._results: dict[Key, Result] = {}
        self._read()

    def _read(self) -> None:
        path = Path(self._path)
        if not path.exists():
            return
        if not (path.is_file() or path.is_dir()):
            raise UsageError(f"{self._path!r} must be a regular file")
        with refusing(f"read {self._path!r}"):
            text = path.read_text(encoding="utf-8", errors="replace")
        try:
            rows = json.loads(text)["results"]
            if not isinstance(rows, list):
                raise ValueError
            results = [Result.of_row(row) for row in rows]
        except (KeyError, TypeError, ValueError, RecursionError):
            wanted = "choose a file that prove --json wrote, or a new one"
            raise UsageError(f"{self._path!r} contains no results of proofs: {wanted}") from None
        self._results = {result.key: result for result in results}

    def __iter__(self) -> Iterator[Result]:
        return iter(self._results.values())

    def get(self, key: Key) -> Result | None:
        """The result for a design, a profile and a property, or ``None``."""
        return self._results.get(key)

    def add(self, result: Result) -> None:
        """Merge a result into the file.

        The file is read again first, because another run may have added results. An attempt that
        ran out of time does not replace a proof of the same code.
        """
        self._read()
        before = self.get(result.key)
        is_better = before and before.is_proved and before.digest == result.digest
        if result.verdict == UNDECIDED and is_better:
            return
        self._results[result.key] = result
        existing = sorted(filter(_exists, self), key=_order)
        rows = ",\n".join(json.dumps(each.row()) for each in existing)
        with open_output(self._path) as file:
            file.write(f'{{"results": [\n{rows}\n]}}\n')


def _exists(result: Result) -> bool:
    """False if the property was renamed or removed."""
    return result.name in _names(result.spec)


@cache
def _names(spec: DesignSpec) -> frozenset[str]:
    return frozenset(what.name for what in every_property(spec))


def _order(result: Result) -> tuple[Any, ...]:
    component = list(COMPONENTS).index(result.spec.component)
    return component, str(result.spec), result.profile, result.name
