"""Where matrix elements live in the 64 lanes: the rules for A and B (along K) and for C and D (rows).

A lane holds neighbouring k of one row of A or one column of B. K is cut into groups of lanes; each lane of a group
holds `chunk` consecutive elements. An operand of 8 registers is read in two halves: its first 16 bytes hold the lower
half of K, spread over all groups, and its last 16 bytes the upper half. Narrow formats that fit 16 bytes, and 6-bit
ones in their 24 bytes, lie in one piece. 32-bit results sit four rows to a group of lanes.

Sources: AMD's matrix calculator (dense CDNA 2 and 3, sparse CDNA 3); AMD's blog on matrix cores of CDNA 4, CK's test
of MX operations and AMD's hip-fpsan, whose tests compare layouts on an MI350, for the halves, f8f6f4 and sparse forms.
"""

from __future__ import annotations

from dataclasses import dataclass

from kbserver.emulator.ir import LANES

HALF_BYTES = 16


@dataclass(frozen=True)
class Side:
    """A or B of one instruction: `outer` rows of A or columns of B, `depth` elements along K, stored `bits` wide."""

    outer: int
    depth: int
    blocks: int
    bits: int

    @property
    def groups(self) -> int:
        """Groups of lanes that share K."""
        return max(1, LANES // (self.outer * self.blocks))

    @property
    def per_lane(self) -> int:
        """Elements in one lane."""
        return self.depth // self.groups

    @property
    def dwords(self) -> int:
        return max(1, self.per_lane * self.bits // 32)

    @property
    def chunk(self) -> int:
        """Consecutive k in one lane."""
        whole_bytes = self.bits % 8 == 0 and self.per_lane * self.bits > 8 * HALF_BYTES
        return 8 * HALF_BYTES // self.bits if whole_bytes else self.per_lane

    def place(self, k: int) -> tuple[int, int]:
        """Return (element, first lane) of k: row i of block b is `b * outer + i` lanes after the first."""
        half, rest = divmod(k, self.chunk * self.groups)
        group, element = divmod(rest, self.chunk)
        return half * self.chunk + element, group * self.outer * self.blocks


@dataclass(frozen=True)
class Shape:
    """C and D of one instruction: rows, columns, depth, blocks, and the width of a result."""

    m: int
    n: int
    k: int
    blocks: int = 1
    result_bits: int = 32

    @property
    def result_elements(self) -> int:
        """Elements of C and D in one lane."""
        return self.m * self.n * self.blocks // LANES

    @property
    def result_dwords(self) -> int:
        return self.result_elements * self.result_bits // 32

    def side_a(self, bits: int, depth: int | None = None) -> Side:
        """Return A's side; `depth` when A is stored shorter than K."""
        return Side(self.m, depth or self.k, self.blocks, bits)

    def side_b(self, bits: int) -> Side:
        return Side(self.n, self.k, self.blocks, bits)

    def result_place(self, block: int, i: int, j: int) -> tuple[int, int]:
        """Return (lane, element) of D[i][j]. Along j, lanes are consecutive."""
        if self.result_bits == 64:
            if self.m == 4:
                return 16 * i + 4 * block + j, 0
            return j + 16 * (i % 4), i // 4
        if self.m == 4:
            return 4 * block + j, i
        quad, groups = i // 4, LANES // self.n
        return quad % groups * self.n + j, block * self.m * self.n // LANES + quad // groups * 4 + i % 4
