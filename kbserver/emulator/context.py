"""Records shared between Python and the generated code: arrays of 64-bit words with named slots.

`CONTEXT` belongs to one host thread and is what kernel and runtime functions see as `%ctx`; `LAUNCH` is what the grid
loop reads. Python fills them through NumPy, generated code through `slot_pointer`.
"""

from __future__ import annotations

from kbserver.emulator.ir import Emitter, Value
from kbserver.emulator.types import Type, u64


def _slots(*names: str) -> dict[str, int]:
    return {name: place for place, name in enumerate(names)}


CONTEXT = _slots(
    "ranges",  # address of the table of ranges that a kernel may touch
    "range_count",
    "findings",  # address of the table of findings
    "finding_capacity",
    "finding_count",  # counts on past the capacity
    "clipped",  # counts lanes that a buffer resource's range check stopped
    "lds_bytes",  # what this launch allocated for a workgroup
    "counters",  # address of the counters, two words a segment
    "workgroup",  # linear number of the running workgroup
    "wave",  # number of the running wavefront in its workgroup
    "symbols",  # address of the table of symbols: one address a slot
    "lost_site",  # the instruction whose computed target is no entry of the program, and that target
    "lost_address",
    "trace",  # address of the table of recorded accesses, when the kernel was translated with a recorder
)
RANGE = _slots(
    "base",
    "end",
    "rights",
    "line_end",  # the end rounded up to a whole 64-byte line: compilers widen scalar loads that far
)
READ, WRITE = 1, 2
FINDING = _slots("kind", "site", "lane", "address", "bytes", "workgroup", "wave", "_reserved")

LAUNCH = _slots(
    "context",
    "vgprs",  # address of the VGPR files of a workgroup's wavefronts
    "vgpr_bytes",  # bytes of one wavefront's file
    "sgprs",
    "lds",
    "lds_allocated",  # bytes to fill before a workgroup starts
    "states",  # address of one i32 a wavefront
    "initial_sgprs",  # address of the SGPR file that every wavefront starts with
    "initial_exec",  # address of one word a wavefront
    "initial_v0",  # address of 64 dwords a wavefront
    "order",  # address of ORDER_ROUNDS permutations of the wavefronts, i32 each
    "waves",
    "groups_x",
    "groups_y",
    "id_x",  # SGPR that receives the workgroup id, or a slot past the file's end when the kernel takes none
    "id_y",
    "id_z",
    "fill_registers",  # 1: fill VGPRs with the poison byte before a wavefront starts
    "poison",  # the byte
    "fuel",  # loop budget of a wavefront
    "divergence",  # counts rounds in which some wavefronts waited at a barrier and others at another or had ended
)
ORDER_ROUNDS = 16

# How a wavefront left the kernel function: a state >= 0 is where to resume after a barrier.
ENDED, OUT_OF_FUEL, TRAPPED, LOST, ABORTED = -1, -2, -3, -4, -5

# Upper dwords of flat addresses that mean LDS and private memory; the lower dword is the address there. These are the
# values of the Linux driver (kfd_flat_memory.c: MAKE_LDS_APP_BASE_V9, MAKE_SCRATCH_APP_BASE_V9).
SHARED_APERTURE, PRIVATE_APERTURE = 0x10000, 0x20000

FINDING_KINDS = {
    1: "global read out of range",
    2: "global write out of range",
    3: "LDS read out of range",
    4: "LDS write out of range",
    5: "scalar read out of range",
    6: "global atomic out of range",
    7: "LDS atomic out of range",
    8: "scratch access out of range",
    9: "LDS atomic not aligned",
    10: "global atomic not aligned",
    11: "flat atomic on private memory",
    12: "LDS transposing read without all lanes",
    13: "LDS transposing read not aligned",
    14: "buffer access not aligned",
    15: "buffer resource of a kind that is not emulated",
    16: "buffer access in range only without its SGPR offset",
}
DISPUTED_KINDS = frozenset(("buffer access in range only without its SGPR offset",))
"""Kinds on which sources disagree: said, but no verdict rests on them."""
KIND_NUMBERS = {name: number for number, name in FINDING_KINDS.items()}


def slot_pointer(emitter: Emitter, record: str, slots: dict[str, int], name: str) -> str:
    """Return the pointer of one slot of a record."""
    return emitter.offset(record, slots[name] * 8)


def load_slot(emitter: Emitter, record: str, slots: dict[str, int], name: str, type_: Type = u64) -> Value:
    """Emit a load of one slot."""
    return emitter.load(slot_pointer(emitter, record, slots, name), type_)
