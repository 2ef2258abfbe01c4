"""The discipline of wait states: no instruction follows one that it depends on sooner than the hardware allows.

Execution here has no pipeline, so a missing s_nop changes no result; this check follows all paths of the control-flow
graph and counts wait states since every event that something may depend on. What the rules are: `hazard_rules`.

An overwritten register carries the hazards of its new writer only. Left out: s_setreg, gfx90a's f64 matrix operation
between a vector and a memory instruction, buffer stores with an SGPR offset, and the conversions to 8 and 4-bit floats
that write a part of a register.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kbserver.emulator import hazard_rules as rules
from kbserver.emulator.blocks import Block, find_blocks
from kbserver.emulator.decode import Decoded
from kbserver.emulator.effects import Effects, effects
from kbserver.emulator.hazard_rules import LIMITS, Traits
from kbserver.emulator.kernel import Kernel
from kbserver.emulator.linking import targets
from kbserver.emulator.operands import EXEC, M0, VCC, Number, Register
from kbserver.emulator.rows import Flow

_Key = tuple[str, str, int]
"""(kind of event, register file, register); events without a register use file ""."""
_State = dict[_Key, tuple[int, int]]
"""Event -> (site, wait states since)."""
_OF_ONE_WRITER = (
    "matrix result", "dot result", "vector result", "transcendental result", "partial result", "vector scalar",
)  # fmt: skip


@dataclass(frozen=True)
class Hazard:
    """One use that comes too early on some path."""

    site: int
    source: int
    event: str
    what: str
    have: int
    need: int

    def message(self, kernel: Kernel) -> str:
        """Return the finding in one sentence."""
        first, use = (" ".join(kernel.code[at].instruction.text.split()) for at in (self.source, self.site))
        return (
            f"`{use}` comes {self.have} wait states after `{first}` ({self.event}, {self.what}); {kernel.arch} needs "
            f"{self.need}: put s_nop {self.need - self.have - 1} between"
        )


def hazards(kernel: Kernel) -> list[Hazard]:
    """Return every dependent pair without its wait states, in program order; one for each pair of instructions."""
    return _Analysis(kernel).run()


class _Analysis:
    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel
        self._traits = [rules.traits_of(d, kernel.arch) for d in kernel.code]
        self._effects = [effects(d, row) for d, row in zip(kernel.code, kernel.rows, strict=True)]
        self._found: dict[tuple[int, int], Hazard] = {}

    def run(self) -> list[Hazard]:
        blocks = {block.start: block for block in self._blocks()}
        entry: dict[int, _State] = {0: {}}
        work = [0]
        while work:
            start = work.pop()
            state = dict(entry[start])
            for index in range(start, blocks[start].end):
                self._step(index, state)
            for target in self._successors(blocks[start].end - 1):
                if target not in entry:
                    entry[target] = dict(state)
                    work.append(target)
                elif _join(entry[target], state) and target not in work:
                    work.append(target)
        return [self._found[key] for key in sorted(self._found)]

    def _blocks(self) -> list[Block]:
        kernel = self._kernel
        return find_blocks(kernel.code, kernel.rows, kernel.labels, kernel.entries)

    def _successors(self, last: int) -> list[int]:
        d, row = self._kernel.code[last], self._kernel.rows[last]
        return targets(d, self._kernel.labels, self._kernel.entries, row.kind) if isinstance(row, Flow) else [last + 1]

    def _step(self, index: int, state: _State) -> None:
        for key, need, what in self._needs(index, state):
            source, have = state[key]
            pair = index, source
            known = self._found.get(pair)
            if have < need and (known is None or need - have > known.need - known.have):
                self._found[pair] = Hazard(index, source, key[0], what, have, need)
        self._record(index, state)

    # What an instruction needs

    def _needs(self, index: int, state: _State) -> Iterator[tuple[_Key, int, str]]:
        """Yield (event, wait states that it must be old, what depends on it) for every event that concerns this."""
        d, user, effect = self._kernel.code[index], self._traits[index], self._effects[index]
        for register, role in self._reads(d, user, effect):
            for one in range(register.index, register.index + register.count):
                if register.file == "v":
                    yield from self._vector_needs(state, one, user, role, register)
                else:
                    yield from self._scalar_needs(state, one, user, role)
        if user.unit in ("vector", "memory", "lds"):
            for register in effect.writes:
                for one in range(register.index, register.index + register.count):
                    if register.file == "v":
                        yield from self._overwrite_needs(state, one, user)
        yield from self._other_needs(state, user)

    def _reads(self, d: Decoded, user: Traits, effect: Effects) -> Iterator[tuple[Register, str]]:
        """Yield what is read, with its role: C, or input."""
        c_place = self._c_place(d, user)
        c = d.operands[c_place].register if c_place is not None and c_place < len(d.operands) else None
        lane = d.operands[2].register if user.name in ("v_readlane_b32", "v_writelane_b32") else None
        for register in effect.reads:
            role = "C" if c is not None and register == c else "lane" if register == lane else "input"
            yield register, role
        if user.unit in ("vector", "matrix"):
            yield Register("s", EXEC, 2), "EXEC"

    @staticmethod
    def _c_place(d: Decoded, user: Traits) -> int | None:
        if user.unit == "matrix":
            return 0 if d.name.startswith("v_smfmac") else 3
        if user.is_dot:
            return 0 if d.name[6] == "c" else 3
        return None

    def _vector_needs(
        self, state: _State, one: int, user: Traits, role: str, register: Register
    ) -> Iterator[tuple[_Key, int, str]]:
        arch, what = self._kernel.arch, str(register)
        key: _Key = ("matrix result", "v", one)
        if key in state:
            matrix = self._traits[state[key][0]]
            use = "vector"
            if user.unit == "matrix":
                written = self._effects[state[key][0]].writes
                same = role == "C" and register in written
                use = "same C" if same else "overlapping C" if role == "C" else "input"
            elif user.reads_memory_or_lds:
                use = "memory"
            yield key, rules.matrix_result_states(arch, matrix, use, user), what
        key = ("dot result", "v", one)
        if key in state and user.unit in ("vector", "memory", "lds"):
            yield key, rules.dot_states(self._traits[state[key][0]], user, role), what
        key = ("vector result", "v", one)
        if key in state:
            if user.unit == "matrix" or user.encoding == "dpp" or user.is_permlane:
                yield key, 2, what
            elif arch != "gfx90a" and user.name in ("v_readlane_b32", "v_readfirstlane_b32"):
                yield key, 1, what
        if arch != "gfx90a" and user.unit in ("vector", "matrix"):
            for kind in ("transcendental result", "partial result"):
                key = (kind, "v", one)
                if key in state and not (kind.startswith("trans") and user.is_transcendental):
                    yield key, 1, what

    def _scalar_needs(self, state: _State, one: int, user: Traits, role: str) -> Iterator[tuple[_Key, int, str]]:
        key: _Key = ("vector scalar", "s", one)
        if key not in state or (role != "EXEC" and one in (EXEC, EXEC + 1)):
            return
        use = "EXEC" if role == "EXEC" else "VCC" if one in (VCC, VCC + 1) else "operand"
        if role == "lane":
            use = "lane"
        what = "EXEC" if use == "EXEC" else str(Register("s", one))
        yield key, rules.scalar_states(self._kernel.arch, user, use), what

    def _overwrite_needs(self, state: _State, one: int, user: Traits) -> Iterator[tuple[_Key, int, str]]:
        arch, what = self._kernel.arch, f"overwriting {Register('v', one)}"
        for kind in ("matrix result", "matrix C", "dot result", "wide store", "partial result"):
            key: _Key = (kind, "v", one)
            if key not in state:
                continue
            source = self._traits[state[key][0]]
            if kind == "matrix result":
                yield key, rules.matrix_result_states(arch, source, "overwrite", user), what
            elif kind == "matrix C":
                yield key, rules.matrix_c_states(arch, source), what
            elif kind == "dot result":
                yield key, rules.dot_states(source, user, "overwrite"), what
            elif kind == "wide store" and user.unit == "vector":
                yield key, rules.wide_store_states(arch, source), what
            elif kind == "partial result" and user.unit == "vector" and arch != "gfx90a":
                yield key, 1, what

    @staticmethod
    def _other_needs(state: _State, user: Traits) -> Iterator[tuple[_Key, int, str]]:
        if user.name in ("v_fma_f64", "v_fmac_f64") and ("f64 matrix", "", 0) in state:
            yield ("f64 matrix", "", 0), 2, "the f64 unit"
        if ("M0", "", 0) in state and user.uses_m0_as_address:
            yield ("M0", "", 0), 1, "m0"

    # What an instruction leaves behind

    def _record(self, index: int, state: _State) -> None:
        d, traits, effect = self._kernel.code[index], self._traits[index], self._effects[index]
        _pass(state, _states(d))
        for register in effect.writes:
            for one in range(register.index, register.index + register.count):
                for kind in _OF_ONE_WRITER:
                    state.pop((kind, register.file, one), None)
                for kind in self._events(d, traits, register):
                    state[kind, register.file, one] = index, 0
        if traits.unit == "matrix":
            if traits.f64:
                state["f64 matrix", "", 0] = index, 0
            c = d.operands[3].register if not d.name.startswith("v_smfmac") else d.operands[0].register
            if c is not None:
                state.update({("matrix C", "v", c.index + n): (index, 0) for n in range(c.count)})
        if traits.is_wide_store:
            data = max(effect.reads, key=lambda register: register.count if register.file == "v" else 0)
            state.update({("wide store", "v", data.index + n): (index, 0) for n in range(data.count)})
        if traits.unit == "scalar" and Register("s", M0) in effect.writes:
            state["M0", "", 0] = index, 0

    def _events(self, d: Decoded, traits: Traits, register: Register) -> list[str]:
        """Return the kinds of event that a write of this register is."""
        if traits.unit == "matrix":
            return ["matrix result"]
        if traits.unit != "vector":
            return []
        if register.file == "s":
            return ["vector scalar"]
        if traits.is_dot:
            return ["dot result"]
        kinds = ["vector result"]
        if traits.is_transcendental:
            kinds.append("transcendental result")
        if _writes_a_part(d):
            kinds.append("partial result")
        return kinds


def _writes_a_part(d: Decoded) -> bool:
    """Return whether the result is shifted into a part of its register (SDWA dst_sel, VOP3 op_sel of the result)."""
    if d.encoding == "sdwa":
        return d.modifiers.get("dst_sel", "DWORD") != "DWORD"
    selected = d.modifiers.get("op_sel", ())
    return isinstance(selected, tuple) and len(selected) == len(d.operands) and bool(selected[-1])


def _states(d: Decoded) -> int:
    """Return the wait states that an instruction is itself."""
    if d.name == "s_nop" and d.operands and isinstance(d.operands[0].value, Number):
        return d.immediate(0) + 1
    return 1


def _pass(state: _State, count: int) -> None:
    """Let time pass after the instruction before: its own events were recorded at 0."""
    for key, (site, since) in list(state.items()):
        if since + count > LIMITS[key[0]]:
            del state[key]
        else:
            state[key] = site, since + count


def _join(into: _State, state: _State) -> bool:
    """Merge what another path brings: the fewest wait states count."""
    changed = False
    for key, found in state.items():
        known = into.get(key)
        if known is None or found[1] < known[1]:
            into[key] = found
            changed = True
    return changed
