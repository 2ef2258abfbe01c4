"""The register file of one wavefront as the translator sees it: memory, with a cache of values inside a basic block.

VGPR n is 64 consecutive dwords, one a lane. Scalar operands keep the numbers of `operands`. Reads load once a block.
VGPR writes go to memory at once, scalar writes at the block's end: a vector value that had to live until then would be
spilled to the stack on the way.
"""

from __future__ import annotations

from kbserver.emulator.ir import LANES, Emitter, Value, select
from kbserver.emulator.operands import EXEC, SCC
from kbserver.emulator.types import u32, u64

VGPR_BYTES = 4 * LANES


class Registers:
    """Values of registers while one basic block is translated. `%v` and `%s` point at the files."""

    def __init__(self, emitter: Emitter) -> None:
        self.emitter = emitter
        self._vectors: dict[int, Value] = {}
        self._words: dict[int, Value] = {}
        self._pairs: dict[int, Value] = {}
        self._dirty_words: set[int] = set()
        self._mask: Value | None = None
        self.exec_changed = True
        """True when EXEC was written since the last look: a new counting segment starts."""

    # Vector registers

    def vgpr_pointer(self, index: int) -> str:
        return self.emitter.offset("%v", index * VGPR_BYTES)

    def vgpr(self, index: int) -> Value:
        if index not in self._vectors:
            self._vectors[index] = self.emitter.load(self.vgpr_pointer(index), u32, LANES, align=64)
        return self._vectors[index].as_(u32)

    def set_vgpr(self, index: int, value: Value, *, all_lanes: bool = False) -> None:
        """Write the active lanes, or all lanes for the few instructions that ignore EXEC.

        New or old is chosen in the value's own type: there it folds into masked arithmetic.
        """
        if not all_lanes:
            value = select(self.exec_mask, value, self.vgpr(index).as_(value.type))
        self.emitter.store(value.as_(u32), self.vgpr_pointer(index), align=64)
        self._vectors[index] = value

    # Scalar registers: dwords, and pairs that were written or read as 64 bits

    def sgpr_pointer(self, index: int) -> str:
        return self.emitter.offset("%s", index * 4)

    def sgpr(self, index: int) -> Value:
        if index not in self._words:
            base = index if index in self._pairs else index - 1
            if base in self._pairs:
                pair = self._pairs[base]
                self._words[index] = (pair if base == index else pair >> 32).to(u32)
            else:
                self._words[index] = self.emitter.load(self.sgpr_pointer(index), u32)
        return self._words[index]

    def set_sgpr(self, index: int, value: Value) -> None:
        self._break_pairs(index)
        self._words[index] = value.as_(u32)
        self._dirty_words.add(index)
        self._note_exec(index)

    def sgpr_pair(self, index: int) -> Value:
        if index not in self._pairs:
            cached = index in self._words or index + 1 in self._words or self._overlaps(index)
            if cached:
                low, high = self.sgpr(index), self.sgpr(index + 1)
                self._pairs[index] = low.to(u64) | (high.to(u64) << 32)
            else:
                self._pairs[index] = self.emitter.load(self.sgpr_pointer(index), u64, align=4)
        return self._pairs[index]

    def set_sgpr_pair(self, index: int, value: Value) -> None:
        for place in (index, index + 1):
            self._break_pairs(place)
            self._words.pop(place, None)
            self._dirty_words.add(place)
            self._note_exec(place)
        self._pairs[index] = value.as_(u64)

    def _overlaps(self, index: int) -> bool:
        return index - 1 in self._pairs or index + 1 in self._pairs

    def _break_pairs(self, index: int) -> None:
        """Keep the other half of every cached pair that a write of `index` invalidates."""
        for base in (index, index - 1):
            if base in self._pairs:
                other = base + 1 if base == index else base
                self.sgpr(other)
                del self._pairs[base]

    def _note_exec(self, index: int) -> None:
        if index in (EXEC, EXEC + 1):
            self._mask = None
            self.exec_changed = True

    # SCC is one bit; it is kept in memory as a dword of 0 or 1.

    @property
    def scc(self) -> Value:
        return self.sgpr(SCC).ne(0)

    def set_scc(self, value: Value) -> None:
        self.set_sgpr(SCC, value.to(u32))

    # EXEC

    @property
    def exec_bits(self) -> Value:
        return self.sgpr_pair(EXEC)

    @property
    def exec_mask(self) -> Value:
        """EXEC as one bit a lane."""
        if self._mask is None:
            self._mask = self.exec_bits.lane_mask()
        return self._mask

    # Memory

    def flush(self) -> None:
        """Store the scalar registers that were written."""
        for index in sorted(self._dirty_words):
            self.emitter.store(self.sgpr(index), self.sgpr_pointer(index))
        self._dirty_words.clear()

    def forget_vgprs(self) -> None:
        """Forget all values around a call: it may change them in memory, and no vector register of the host survives
        it, so that a kept value would be spilled to the stack instead of read again."""
        self._vectors.clear()
        self._mask = None

    def forget_sgprs(self, indices: range) -> None:
        """Drop cached values of SGPRs that a call has written in memory."""
        for index in indices:
            self._break_pairs(index)
            self._words.pop(index, None)
            self._dirty_words.discard(index)
            self._note_exec(index)

    def forget_all(self) -> None:
        """Start a block: nothing is known."""
        self._vectors.clear()
        self._words.clear()
        self._pairs.clear()
        self._dirty_words.clear()
        self._mask = None
        self.exec_changed = True
