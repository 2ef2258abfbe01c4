"""How machine code mixes matrix products with the instructions that feed them, told in a few figures."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from kbserver.toolchain.assembly import Instruction

SOON = 4
"""Products: four of 16 cycles are about what an LDS read takes."""


@dataclass(frozen=True)
class Interleave:
    """Figures of a stretch of code.

    longest: most instructions between two neighbouring products. soon: LDS reads whose value a product takes with fewer
    than SOON products between. cover: products between the last global load and the first write to LDS.
    """

    products: int
    reads: int
    longest: int
    soon: int
    cover: int


def interleave(code: Sequence[Instruction]) -> Interleave:
    """Return the figures of straight code, such as the body of a loop. There are products and reads in it."""
    places = [place for place, item in enumerate(code) if is_product(item)]
    reads = [place for place, item in enumerate(code) if item.mnemonic.startswith("ds_read")]
    loads = [place for place, item in enumerate(code) if item.mnemonic.startswith("global_load")]
    writes = [place for place, item in enumerate(code) if item.mnemonic.startswith("ds_write")]
    return Interleave(
        products=len(places),
        reads=len(reads),
        longest=max(after - before - 1 for before, after in pairwise(places)),
        soon=sum(products_until_use(code, place) < SOON for place in reads),
        cover=sum(loads[-1] < place < writes[0] for place in places) if loads and writes else 0,
    )


def is_product(item: Instruction) -> bool:
    return item.mnemonic.startswith("v_mfma")


def products_until_use(code: Sequence[Instruction], place: int) -> int:
    """Return how many products stand between an LDS read and the first one that takes what was read."""
    wanted, between = registers(code[place].operands[0]), 0
    for item in code[place + 1 :]:
        if is_product(item):
            if any(registers(operand) & wanted for operand in item.operands[1:3]):
                return between
            between += 1
    raise ValueError(f"no product takes the value of {code[place].text}")


def registers(operand: str) -> set[int]:
    """Return the VGPRs of `v7` or `v[4:7]`."""
    found = re.fullmatch(r"v(?:(\d+)|\[(\d+):(\d+)\])", operand)
    if not found:
        return set()
    first, last = (int(found[1]),) * 2 if found[1] else (int(found[2]), int(found[3]))
    return set(range(first, last + 1))
