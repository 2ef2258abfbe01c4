"""A kernel descriptor, 64 bytes of a code object, as the `.amdhsa_*` directives that say the same.

Bit places: LLVM's AMDGPUUsage, "Kernel Descriptor" and its tables of compute_pgm_rsrc1 to 3, for GFX90A and GFX942.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

# directive -> (lowest bit, bits) in the word that carries it.
_RSRC1 = {
    "float_round_mode_32": (12, 2), "float_round_mode_16_64": (14, 2), "float_denorm_mode_32": (16, 2),
    "float_denorm_mode_16_64": (18, 2), "dx10_clamp": (21, 1), "ieee_mode": (23, 1), "fp16_overflow": (26, 1),
}  # fmt: skip
_RSRC2 = {
    "enable_private_segment": (0, 1), "system_sgpr_workgroup_id_x": (7, 1), "system_sgpr_workgroup_id_y": (8, 1),
    "system_sgpr_workgroup_id_z": (9, 1), "system_sgpr_workgroup_info": (10, 1), "system_vgpr_workitem_id": (11, 2),
    "user_sgpr_count": (1, 5),
}  # fmt: skip
_RSRC3 = {"accum_offset": (0, 6), "tg_split": (16, 1)}
_PROPERTIES = {
    "user_sgpr_private_segment_buffer": (0, 1), "user_sgpr_dispatch_ptr": (1, 1), "user_sgpr_queue_ptr": (2, 1),
    "user_sgpr_kernarg_segment_ptr": (3, 1), "user_sgpr_dispatch_id": (4, 1), "user_sgpr_flat_scratch_init": (5, 1),
    "user_sgpr_private_segment_size": (6, 1), "uses_dynamic_stack": (11, 1),
}  # fmt: skip
_PRELOAD = {"user_sgpr_kernarg_preload_length": (0, 7), "user_sgpr_kernarg_preload_offset": (7, 9)}
_ONLY_WHEN_SET = ("user_sgpr_private_segment_buffer", "user_sgpr_flat_scratch_init")
"""Directives that targets with architected flat scratch (gfx942, gfx950) do not have."""
_GRANULE = 8
"""Registers of a wavefront are allocated in units of 8; the descriptor keeps the number of units less one."""


def directives(name: str, descriptor: bytes) -> str:
    """Return the `.amdhsa_kernel` block of a kernel of gfx90a, gfx942 or gfx950. Register counts are as allocated."""
    lines = [f"\t.amdhsa_kernel {name}", *(f"\t\t.amdhsa_{key} {value}" for key, value in _values(descriptor))]
    return "\n".join([*lines, "\t.end_amdhsa_kernel"])


def _values(descriptor: bytes) -> Iterator[tuple[str, int]]:
    lds, private, kernarg, rsrc3, rsrc1, rsrc2, properties, preload = struct.unpack("<III32xIIIHH4x", descriptor)
    yield "group_segment_fixed_size", lds
    yield "private_segment_fixed_size", private
    yield "kernarg_size", kernarg
    yield "next_free_vgpr", (_bits(rsrc1, (0, 6)) + 1) * _GRANULE
    yield "next_free_sgpr", (_bits(rsrc1, (6, 4)) + 1) * _GRANULE
    yield "reserve_vcc", 0  # VCC is among the registers counted
    for word, fields in ((properties, _PROPERTIES), (preload, _PRELOAD), (rsrc2, _RSRC2), (rsrc1, _RSRC1),
                         (rsrc3, _RSRC3)):  # fmt: skip
        for key, place in fields.items():
            value = _bits(word, place)
            if key == "accum_offset":
                value = (value + 1) * 4
            if value or key not in _ONLY_WHEN_SET:
                yield key, value


def _bits(word: int, place: tuple[int, int]) -> int:
    first, count = place
    return word >> first & ((1 << count) - 1)
