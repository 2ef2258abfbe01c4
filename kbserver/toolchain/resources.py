"""What a kernel takes of the machine, as the compiler wrote it: registers, LDS, scratch, spills, its own occupancy.

The figures are in three places of the assembly text: the comment block after the function, the kernel descriptor and
the metadata. They say different things: `vgpr_count` of the metadata is VGPRs rounded up plus AGPRs, and
`next_free_vgpr` of the descriptor can be larger than what is used. `vgprs` and `agprs` here are what the code names.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from kbserver.toolchain.assembly import Function


@dataclass(frozen=True)
class Resources:
    """Figures of one kernel; None means that the compiler gave no number."""

    vgprs: int | None
    agprs: int | None
    total_vgprs: int | None
    """VGPRs rounded up to the AGPR offset, plus AGPRs: what the register file must hold."""
    sgprs: int | None
    """SGPRs with VCC and the other reserved ones, as the compiler's remark counts them."""
    lds_bytes: int | None
    scratch_bytes: int | None
    """Private memory per lane."""
    vgpr_spills: int | None
    sgpr_spills: int | None
    workgroup_max: int | None
    kernarg_bytes: int | None
    code_bytes: int | None
    wavefront: int | None
    compiler_waves_per_simd: int | None
    """`Occupancy [waves/SIMD]` of the compiler's remark."""
    dynamic_stack: bool | None


def kernel_resources(function: Function) -> Resources:
    """Return the figures of one kernel; symbolic values (a callee that is not in the text) become None."""
    notes, metadata, descriptor = function.notes, function.metadata, function.descriptor
    agprs = _first(notes.get("NumAgprs"), metadata.get("agpr_count"))
    total = _first(notes.get("TotalNumVgprs"), metadata.get("vgpr_count"))
    return Resources(
        vgprs=_first(notes.get("NumVgprs"), total if agprs == 0 else None),
        agprs=agprs,
        total_vgprs=total,
        sgprs=_first(notes.get("TotalNumSgprs"), notes.get("NumSgprs"), metadata.get("sgpr_count")),
        lds_bytes=_first(metadata.get("group_segment_fixed_size"), descriptor.get("group_segment_fixed_size")),
        scratch_bytes=_first(metadata.get("private_segment_fixed_size"), descriptor.get("private_segment_fixed_size")),
        vgpr_spills=_first(metadata.get("vgpr_spill_count")),
        sgpr_spills=_first(metadata.get("sgpr_spill_count")),
        workgroup_max=_first(metadata.get("max_flat_workgroup_size")),
        kernarg_bytes=_first(metadata.get("kernarg_segment_size"), descriptor.get("kernarg_size")),
        code_bytes=_first(notes.get("codeLenInByte")),
        wavefront=_first(metadata.get("wavefront_size")),
        compiler_waves_per_simd=_first(notes.get("Occupancy")),
        dynamic_stack=metadata.get("uses_dynamic_stack") if metadata else None,
    )


def _first(*values: Any) -> int | None:
    """Return the first value that is a plain whole number."""
    for value in values:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
        if isinstance(value, str) and (match := re.fullmatch(r"(\d+)(?: bytes/.*)?", value.strip())):
            return int(match[1])
    return None


_REMARK = re.compile(
    r"remark:\s+(?:<unknown>:0:0:\s+)?([A-Z][\w \[\]/]*?):\s+(\S[^\n]*?)(?:\s+\[-Rpass-analysis=[\w-]+\])?\s*$"
)
_REMARK_KEYS = {
    "TotalSGPRs": "sgprs",
    "SGPRs": "sgprs",
    "VGPRs": "vgprs",
    "AGPRs": "agprs",
    "ScratchSize [bytes/lane]": "scratch_bytes",
    "Occupancy [waves/SIMD]": "compiler_waves_per_simd",
    "SGPRs Spill": "sgpr_spills",
    "VGPRs Spill": "vgpr_spills",
    "LDS Size [bytes/block]": "lds_bytes",
}


def parse_remarks(text: str) -> dict[str, dict[str, int | None]]:
    """Return kernel -> figures from `-Rpass-analysis=kernel-resource-usage` remarks; None for symbolic values."""
    kernels: dict[str, dict[str, int | None]] = {}
    current: dict[str, int | None] | None = None
    for line in text.splitlines():
        match = _REMARK.search(line)
        if not match:
            continue
        if match[1] == "Function Name":
            current = kernels.setdefault(match[2], {})
        elif current is not None and match[1] in _REMARK_KEYS:
            current[_REMARK_KEYS[match[1]]] = _first(match[2])
    return kernels
