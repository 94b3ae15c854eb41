"""A stage of a pipeline: registers that are loaded together."""

from typing import Any

from amaranth.hdl import Module, Signal, Value

from ..logic import unmerged


class Stage:
    """A pipeline stage, or another group of registers, under one heading in the generated Verilog.

    Parameters
    ----------
    m : Module
        The module of the registers.
    heading : str
        The heading.
    name : str
        Prefix of the names of new registers.
    previous : Stage or None
        The stage before it, from which :meth:`carry` copies.
    enable : Signal or None
        Clock enable. Without one, registers are loaded in every cycle.

    Attributes
    ----------
    valid : Signal
        True while an item is in a pipeline stage. The pipeline creates it.
    next_valid : Value
        Next value of ``valid``.
    """

    valid: Signal
    next_valid: Value

    def __init__(
        self,
        m: Module,
        heading: str,
        name: str = "",
        *,
        previous: "Stage | None" = None,
        enable: Signal | None = None,
    ) -> None:
        self.m = m
        self._heading, self._prefix = heading, name and f"{name}_"
        self._previous, self._enable = previous, enable
        self._registers: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """A register of this stage. Reading it creates none: see :meth:`carry`."""
        if name not in self._registers:
            raise KeyError(
                f"{self._heading!r} has no register {name!r}: it has {[*self._registers]}"
            )
        return self._registers[name]

    def adopt(self, register: Any) -> Any:
        """Put an existing register under this heading."""
        Value.cast(register).attrs["stage"] = self._heading
        return register

    def follow(self, valid: Value) -> "Stage":
        """Create ``valid`` with this next value."""
        self.valid, self.next_valid = self.signal("valid"), valid
        self.m.d.sync += self.valid.eq(valid)
        return self

    def signal(
        self, name: str, shape: Any = 1, *, init: Any = None, reset_less: bool = False
    ) -> Any:
        """Create a register whose next value the caller assigns."""
        full_name = self._prefix + name
        register = self.adopt(Signal(shape, name=full_name, init=init, reset_less=reset_less))
        self._registers[name] = register
        return register

    def register(
        self, name: str, value: Any, *, init: int | None = None, when: Value | None = None
    ) -> Any:
        """Create a register and load it with a value in every enabled cycle, or while ``when``.

        A new register is reset only if ``init`` is given. One that :meth:`signal` created keeps its
        reset and is only loaded.
        """
        value = Value.cast(value)
        if name not in self._registers:
            self.signal(name, len(value), init=init, reset_less=init is None)
        register = self._registers[name]
        enable = self._enable if when is None else when
        if enable is None:
            self.m.d.sync += register.eq(value)
        else:
            with self.m.If(enable):
                self.m.d.sync += register.eq(value)
        return register

    def load(self, *, when: Value | None = None, **values: Any) -> "Stage":
        """Call :meth:`register` for several values; return the stage."""
        for name, value in values.items():
            self.register(name, value, when=when)
        return self

    def carry(self, *names: str) -> "Stage":
        """Load registers of the previous stage into registers of the same names."""
        assert self._previous is not None
        return self.load(**{name: self._previous[name] for name in names})

    def copy(self, name: str, value: Any, *, reset_less: bool = True) -> Any:
        """Create a register that synthesis does not merge with others of the same next value.

        It is loaded in every cycle.
        """
        value = Value.cast(value)
        register = self.signal(name, len(value), reset_less=reset_less)
        self.m.d.sync += register.eq(unmerged(value, register))
        return register
