"""Flow control for wide components: a pipeline that never stalls, behind credit.

A clock enable that reaches thousands of registers is slow. So there is none: what is accepted moves
on in every cycle, and there is a place for it at the end in any case::

              credit: how many beats are accepted and not in the output register
           +-----------------------------------------------------------------+
           v                                                                 |
        -------> stage 1 -> stage 2 -> ... -> stage S -> memory -> output register ---->
        i                                                16 beats                     o

The golden timing
-----------------
Cycles are counted from 0, the first one after reset. A beat is *accepted* if ``i.valid`` and
``i.ready`` are high, and *taken* if ``o.valid`` and ``o.ready`` are. S is the number of stages.

1. A beat that is accepted in cycle t is at the output in cycle t + S + 2, or if there is one before
   it then, in the cycle after that one is taken. It stays until it is taken.
2. A beat is *outstanding* in a cycle if it was accepted in an earlier one and is not at the output,
   and was not. ``i.ready`` is low in cycle 0 and high in cycle 1. In any later one it is high if
   not more than 13 beats were outstanding two cycles before: while it is seen that there are too
   many, three more may be accepted.

What follows from it:

- Latency: S + 2 cycles from acceptance to output, not counting cycles in which the output waits.
- Throughput: with a ready consumer S + 1 beats are outstanding, so S may be up to 12 for one beat
  in every cycle.
- Nothing is lost: 16 beats are outstanding at most.
- No output depends on an input within a cycle, ``i.ready`` neither.

A beat's number goes along with it and is its place in the memory. So what is outstanding is always
the difference of two numbers, and no credit can be lost: from any register contents, all is right
once what was in the pipeline is out.
"""

from typing import Any

from amaranth.hdl import Array, Cat, Const, Module, Signal, Value
from amaranth.lib import memory

DEPTH = 16
"""How many beats the memory holds: as many as distributed memory of FPGAs has in one table."""

MOST_STAGES = DEPTH - 4
"""More would not give a beat in every cycle."""
