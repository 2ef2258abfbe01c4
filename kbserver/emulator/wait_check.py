"""The discipline of s_waitcnt: no register is touched while a load into it may still be under way.

The compiler inserts waits for its own loads, never for those inside inline assembly. Execution here delivers every
load at once, so a missing wait changes no result; this check follows all paths of the control-flow graph instead.

How loads complete (CDNA 3 and CDNA 4 ISA reference, chapter on data dependency resolution): vector memory operations
count in vmcnt and return in order; LDS operations count in lgkmcnt and return in order; scalar loads count in lgkmcnt
and return in any order, so while one is under way only lgkmcnt(0) proves anything that counts there. Otherwise
`vmcnt(n)` and `lgkmcnt(n)` prove every operation with at least n younger ones. Flat operations count in both, because
LDS or the vector memory may serve them, in no order with either: they are done when both counters were 0.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from kbserver.emulator.blocks import Block, find_blocks
from kbserver.emulator.decode import Decoded
from kbserver.emulator.effects import Effects, effects
from kbserver.emulator.kernel import Kernel
from kbserver.emulator.linking import targets
from kbserver.emulator.operands import Register
from kbserver.emulator.rows import Flow
from kbserver.emulator.semantics.atomics import LDS_ATOMICS

MOST_YOUNGER = 64
"""vmcnt has 6 bits and lgkmcnt 4: a larger distance proves nothing more, and the analysis must end."""

UNORDERED = frozenset(f"s_load_dword{width}" for width in ("", "x2", "x4", "x8", "x16"))
LDS_DIRECT = frozenset(
    f"{unit}_load_lds_{width}"
    for unit in ("global", "scratch")
    for width in ("dword", "dwordx3", "dwordx4", "ubyte", "sbyte", "ushort", "sshort")
)
_LDS = "lds"
"""The "register file" under which direct loads into LDS are kept, by the site of the load."""
_NONE_ARRIVED = ("no direct load into LDS has arrived", 0)
"""In the state while this holds on some path: whatever a read means then, it is too early."""


@dataclass(frozen=True)
class MissingWait:
    """One use of a register, or of LDS that a direct load fills, which no wait has proved on some path."""

    site: int
    loader: int
    counter: str
    what: str
    certain: bool = True
    """False where the read may mean bytes that an earlier direct load has filled: a pipeline over two buffers that is
    right has the same form, and only addresses tell."""

    def message(self, kernel: Kernel) -> str:
        """Return the finding in one sentence."""
        load, use = (" ".join(kernel.code[at].instruction.text.split()) for at in (self.loader, self.site))
        told = f"`{use}` uses {self.what} while `{load}` may be under way: no s_waitcnt {self.counter} proves it"
        return told if self.certain else f"{told}; a fault if both mean the same bytes, which addresses alone can tell"


@dataclass(frozen=True)
class _Load:
    """A load that may be under way. younger: the fewest operations issued after it, over all paths.

    counters: the counters that have yet to prove it, two for a flat load.
    crossed: a direct load into LDS that was under way at a barrier, so that other wavefronts may read too early;
    arrived: it has been waited for since, which tells this wavefront only.
    """

    site: int
    counters: frozenset[str]
    younger: int = 0
    ordered: bool = True
    crossed: bool = False
    arrived: bool = False


_State = dict[tuple[str, int], _Load]


def missing_waits(kernel: Kernel) -> list[MissingWait]:
    """Return every use before its wait, in program order.

    A direct load into LDS that stands in one loop with the read is left out: it is most often a pipeline over two
    buffers. Outside of loops it is told, and `certain` while no direct load has arrived on some path.
    """
    blocks = {block.start: block for block in find_blocks(kernel.code, kernel.rows, kernel.labels, kernel.entries)}
    ways = {start: _successors(kernel, block) for start, block in blocks.items()}
    done = [effects(d, row) for d, row in zip(kernel.code, kernel.rows, strict=True)]
    loops = _Loops(blocks, ways)
    entry: dict[int, _State] = {0: {_NONE_ARRIVED: _Load(-1, frozenset())}}
    found: dict[tuple[int, int], MissingWait] = {}
    work = [0]
    while work:
        start = work.pop()
        state = dict(entry[start])
        for index in range(start, blocks[start].end):
            for use in _uses(kernel.code[index], done[index], state, loops):
                found[use.site, use.loader] = use
            _issue(kernel, index, done[index], state)
        for target in ways[start]:
            if target not in entry:
                entry[target] = dict(state)
                work.append(target)
            elif _join(entry[target], state) and target not in work:
                work.append(target)
    return [found[key] for key in sorted(found)]


def _uses(d: Decoded, effect: Effects, state: _State, loops: _Loops) -> Iterator[MissingWait]:
    """Yield what this instruction touches too early. A use that was told once is not told again on the same path.

    A load over its own earlier result is no fault: the two return in order.
    """
    for register in (*effect.reads, *effect.writes):
        for key in _keys(register):
            load = state.get(key)
            if load is not None and load.site != d.index:
                del state[key]
                yield MissingWait(d.index, load.site, _named(load.counters), str(register))
    if d.name.startswith("ds_read") or d.name in LDS_ATOMICS:
        for key, load in list(state.items()):
            if key[0] == _LDS and not loops.together(load.site, d.index):
                del state[key]
                yield MissingWait(d.index, load.site, _named(load.counters), "LDS", _NONE_ARRIVED in state)


def _issue(kernel: Kernel, index: int, effect: Effects, state: _State) -> None:
    """Change the state as this instruction does: a wait, a barrier, or one more operation under way."""
    d, row = kernel.code[index], kernel.rows[index]
    if d.name == "s_waitcnt":
        for counter, left in _waits(d).items():
            _wait(state, counter, left)
    elif isinstance(row, Flow) and row.kind == "barrier":
        for key, load in list(state.items()):
            if load.arrived:
                _arrive(state, key)
            elif key[0] == _LDS:
                state[key] = replace(load, crossed=True)
    elif effect.counter is not None:
        raised = frozenset(effect.counter.split(" and "))
        for key, load in state.items():
            if load.counters & raised and not load.arrived:
                state[key] = replace(load, younger=min(load.younger + 1, MOST_YOUNGER))
        load = _Load(index, raised, ordered=d.name not in UNORDERED and len(raised) == 1)
        if d.name in LDS_DIRECT or "lds" in d.modifiers:
            state[_LDS, index] = load
        for register in effect.writes:
            state.update(dict.fromkeys(_keys(register), load))


def _wait(state: _State, counter: str, left: int) -> None:
    counted = {key: load for key, load in state.items() if counter in load.counters and not load.arrived}
    ordered = all(load.ordered for load in counted.values())
    for key, load in counted.items():
        if left and not (ordered and load.younger >= left):
            continue
        if load.counters != {counter}:
            state[key] = replace(load, counters=load.counters - {counter})
        elif load.crossed:
            state[key] = replace(load, arrived=True)
        else:
            _arrive(state, key)


def _arrive(state: _State, key: tuple[str, int]) -> None:
    del state[key]
    if key[0] == _LDS:
        state.pop(_NONE_ARRIVED, None)


def _waits(d: Decoded) -> dict[str, int]:
    """Return counter -> operations that may be left. A bare number is the encoded field (vmcnt 3:0 and 15:14)."""
    if d.operands:
        code = d.immediate(0)
        return {"vmcnt": code & 15 | (code >> 14 & 3) << 4, "lgkmcnt": code >> 8 & 15}
    return {name: d.number(name) for name in ("vmcnt", "lgkmcnt") if name in d.modifiers}


def _join(into: _State, state: _State) -> bool:
    """Merge what another path brings: under way on one path is under way; the fewest younger operations count."""
    changed = False
    for key, load in state.items():
        known = into.get(key)
        worse = load if known is None else _worse(known, load)
        if worse != known:
            into[key] = worse
            changed = True
    return changed


def _worse(one: _Load, other: _Load) -> _Load:
    first, second = sorted((one, other), key=lambda load: (load.arrived, load.younger, load.ordered, load.site))
    return replace(
        first,
        counters=first.counters | second.counters,
        crossed=first.crossed or second.crossed,
        ordered=first.ordered and second.ordered,
    )


def _named(counters: frozenset[str]) -> str:
    return " and ".join(sorted(counters, reverse=True))


def _keys(register: Register) -> list[tuple[str, int]]:
    return [(register.file, register.index + offset) for offset in range(register.count)]


def _successors(kernel: Kernel, block: Block) -> list[int]:
    d, row = kernel.code[block.end - 1], kernel.rows[block.end - 1]
    if not isinstance(row, Flow):
        return [block.end]
    return targets(d, kernel.labels, kernel.entries, row.kind)


class _Loops:
    """Which instructions stand in one loop: each can be reached from the other."""

    def __init__(self, blocks: dict[int, Block], ways: dict[int, list[int]]) -> None:
        self._block_of = {index: start for start, block in blocks.items() for index in range(start, block.end)}
        self._ways = ways
        self._reached: dict[int, set[int]] = {}

    def together(self, one: int, other: int) -> bool:
        first, second = self._block_of[one], self._block_of[other]
        return second in self._reach(first) and first in self._reach(second)

    def _reach(self, start: int) -> set[int]:
        if start not in self._reached:
            reached: set[int] = set()
            work = list(self._ways[start])
            while work:
                block = work.pop()
                if block not in reached:
                    reached.add(block)
                    work.extend(self._ways[block])
            self._reached[start] = reached
        return self._reached[start]
