"""Which hardware counters one executed instruction raises: a table from exact mnemonic to SQ_INSTS_* names.

Names and meaning follow AMD's counter list (rocm-counters-mi300). Where its wording leaves room, recorded profiles of
a vector copy on MI200, MI300X and MI350 decide, because the same kernel compiled here has the same instructions; what
they cannot settle is an assumption and listed in `ASSUMPTIONS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import lru_cache

from kbserver.toolchain.mix import base_mnemonic, classify

ALL = "SQ_INSTS"
MAIN = (
    "SQ_INSTS_VALU", "SQ_INSTS_SALU", "SQ_INSTS_SMEM", "SQ_INSTS_LDS", "SQ_INSTS_VMEM", "SQ_INSTS_VMEM_RD",
    "SQ_INSTS_VMEM_WR", "SQ_INSTS_MFMA", "SQ_INSTS_BRANCH",
)  # fmt: skip
"""Counters that a profile always shows; others are shown when they are not 0."""

EVIDENCE = (
    "s_waitcnt counts in SQ_INSTS only, s_endpgm in SENDMSG, branches in BRANCH, none of them in SALU: profiles of a "
    "vector copy on MI200, MI300X and MI350 agree with that kernel compiled here, instruction for instruction",
    "INT32 and INT64 hold instructions with an i32, u32, i64 or u64 type, not bitwise b32 and b64 ones: same profiles",
    "s_nop is not in SALU: step 3 executes more than 500 a wavefront, the published SALU count is 493",
)
ASSUMPTIONS = (
    "s_barrier, s_nop, s_sleep and s_setprio count in SQ_INSTS only",
    "v_nop counts as VALU; atomics count in VMEM but in neither RD nor WR; cache control counts in SQ_INSTS only",
    "24-bit and 16-bit integer arithmetic and dot products are in no subclass",
)

# Class of toolchain.mix -> counters. `flat` differs by target, see `_memory`.
_CLASSES: Mapping[str, tuple[str, ...]] = {
    "VALU": ("SQ_INSTS_VALU",),
    "MFMA": ("SQ_INSTS_VALU", "SQ_INSTS_MFMA"),
    "SALU": ("SQ_INSTS_SALU",),
    "SMEM": ("SQ_INSTS_SMEM",),
    "LDS": ("SQ_INSTS_LDS",),
    "GWS": ("SQ_INSTS_GDS",),
    "branch": ("SQ_INSTS_BRANCH",),
}
_EXACT: Mapping[str, tuple[str, ...]] = {
    "s_endpgm": ("SQ_INSTS_SENDMSG",),
    "s_sendmsg": ("SQ_INSTS_SENDMSG",),
    "s_sendmsghalt": ("SQ_INSTS_SENDMSG",),
    "v_nop": ("SQ_INSTS_VALU",),
}

_FLOAT = {
    "ADD": ("add", "sub", "subrev", "pk_add"),
    "MUL": ("mul", "mul_legacy", "pk_mul"),
    "FMA": (
        "fma", "fmac", "fmaak", "fmamk", "mad", "mac", "madak", "madmk", "mad_legacy", "mac_legacy", "pk_fma",
        "fma_mix", "fma_mixlo", "fma_mixhi", "mad_mix", "mad_mixlo", "mad_mixhi", "div_fmas",
    ),
    "TRANS": ("rcp", "rcp_iflag", "rsq", "sqrt", "exp", "log", "exp_legacy", "log_legacy", "sin", "cos"),
}  # fmt: skip
_INTEGER = (
    "add", "sub", "subrev", "add_co", "addc_co", "sub_co", "subb_co", "subrev_co", "subbrev_co", "add_nc", "sub_nc",
    "mul_lo", "mul_hi", "min", "max", "min3", "max3", "med3", "add3", "lshl_add", "add_lshl", "xad", "ashrrev", "bfe",
    "ffbh", "sad", "mad_co",
)  # fmt: skip
_COMPARISONS = tuple(
    f"{verb}_{relation}" for verb in ("cmp", "cmpx") for relation in ("f", "lt", "eq", "le", "gt", "ne", "ge", "t")
)
_MFMA_TYPES = {
    "f16": "F16", "bf16": "BF16", "1k": "BF16", "f32": "F32", "xf32": "F32", "f64": "F64", "i8": "I8",
    "fp8": "F8", "bf8": "F8", "f6f4": "F6F4", "f8f6f4": "F6F4",
}  # fmt: skip
"""Last word of a matrix instruction -> its counter; bf16_1k ends in 1k, fp8_bf8 in either."""


@lru_cache(maxsize=1)
def _valu() -> Mapping[str, str]:
    """Return mnemonic -> subclass counter of the vector ALU."""
    table = {}
    for kind, verbs in _FLOAT.items():
        for bits in (16, 32, 64):
            table.update({f"v_{verb}_f{bits}": f"SQ_INSTS_VALU_{kind}_F{bits}" for verb in verbs})
    for bits in (32, 64):
        for letter in "iu":
            names = (*_INTEGER, *_COMPARISONS)
            table.update({f"v_{name}_{letter}{bits}": f"SQ_INSTS_VALU_INT{bits}" for name in names})
    table.update({"v_mad_u64_u32": "SQ_INSTS_VALU_INT64", "v_mad_i64_i32": "SQ_INSTS_VALU_INT64"})
    return table


@lru_cache(maxsize=4096)
def counters_of(mnemonic: str, arch: str) -> tuple[str, ...]:
    """Return the counters that one execution raises, SQ_INSTS among them always."""
    name = base_mnemonic(mnemonic)
    kind = classify(name)
    if name in _EXACT:
        return (ALL, *_EXACT[name])
    counters = [ALL, *_CLASSES.get(kind, ())]
    if kind == "VALU":
        if name.startswith("v_cvt_"):
            counters.append("SQ_INSTS_VALU_CVT")
        elif name in _valu():
            counters.append(_valu()[name])
    elif kind == "MFMA":
        type_ = _MFMA_TYPES.get(name.rsplit("_", 1)[-1])
        counters += [f"SQ_INSTS_VALU_MFMA_{type_}"] if type_ else []
    elif kind in ("global", "buffer", "flat", "scratch"):
        counters += _memory(name, kind, arch)
    return tuple(counters)


def _memory(name: str, kind: str, arch: str) -> list[str]:
    counters = ["SQ_INSTS_VMEM"]
    if "_load" in name:
        counters.append("SQ_INSTS_VMEM_RD")
    elif "_store" in name:
        counters.append("SQ_INSTS_VMEM_WR")
    # FLAT is the encoding that global and scratch instructions share; the counter is listed up to MI300.
    if kind != "buffer" and arch in ("gfx90a", "gfx942"):
        counters.append("SQ_INSTS_FLAT")
    if kind == "flat" and arch == "gfx90a":
        counters.append("SQ_INSTS_LDS")
    return counters


def count(mnemonics: Iterable[str], executions: Iterable[int], arch: str) -> dict[str, int]:
    """Return counter -> sum over the instructions, the main counters first, then the others that are not 0."""
    totals = dict.fromkeys((ALL, *MAIN), 0)
    for mnemonic, times in zip(mnemonics, executions, strict=True):
        for counter in counters_of(mnemonic, arch):
            totals[counter] = totals.get(counter, 0) + times
    others = sorted(name for name, total in totals.items() if name not in (ALL, *MAIN) and total)
    return {name: totals[name] for name in (ALL, *MAIN, *others)}
