"""How many wait states must lie between two dependent instructions, where hardware does not wait by itself.

Source: LLVM's GCNHazardRecognizer (the wait states that LLVM 22.1.8 inserts, and one after wide buffer stores with an
SGPR offset, which LLVM has inserted since its pull request 197267), which agrees with the tables of the ISA
documents (CDNA 4: 4.5 Table 11, 7.6 Table 38); the tests hold both against `gpu_arch/facts/hazards.yaml`. A wait state
is one instruction, or N + 1 for s_nop N. Compilers insert them, never inside inline assembly nor behind it.
"""

from __future__ import annotations

from dataclasses import dataclass

from kbserver.emulator.decode import Decoded

LIMITS = {
    "matrix result": 20, "matrix C": 15, "dot result": 3, "vector result": 2, "transcendental result": 1,
    "partial result": 1, "vector scalar": 5, "f64 matrix": 2, "wide store": 2, "M0": 1,
}  # fmt: skip
"""Kind of event -> the most wait states after which nothing can depend on it any more."""

_TRANSCENDENTAL = ("v_exp_", "v_log_", "v_rcp_", "v_rsq_", "v_sqrt_", "v_sin_", "v_cos_")
_LANE_ACCESS = frozenset({"v_readlane_b32", "v_readfirstlane_b32", "v_writelane_b32"})
_WIDE_STORES = tuple(f"{unit}_store_dwordx{n}" for unit in ("global", "flat", "scratch", "buffer") for n in (3, 4))
_MEMORY = ("global_", "flat_", "scratch_", "buffer_", "tbuffer_", "ds_")
_EIGHT_BIT_SELECTORS = (0, 1)


@dataclass(frozen=True)
class Traits:
    """What the rules ask about an instruction. unit: matrix, vector, memory, lds, scalar or other. scalar_offset: a
    buffer instruction whose soffset is an SGPR. into_lds: a load that goes to LDS directly."""

    unit: str
    name: str
    encoding: str = ""
    passes: int = 0
    f64: bool = False
    xdl: bool = False
    size: int = 0
    scalar_offset: bool = False
    into_lds: bool = False

    @property
    def is_dot(self) -> bool:
        return self.name.startswith("v_dot")

    @property
    def is_transcendental(self) -> bool:
        return self.unit == "vector" and self.name.startswith(_TRANSCENDENTAL)

    @property
    def is_permlane(self) -> bool:
        return self.name.startswith("v_permlane")

    @property
    def is_wide_store(self) -> bool:
        return self.name.startswith(_WIDE_STORES)

    @property
    def uses_m0_as_address(self) -> bool:
        return self.into_lds or "addtid" in self.name

    @property
    def reads_memory_or_lds(self) -> bool:
        return self.unit in ("memory", "lds")


def traits_of(d: Decoded, arch: str) -> Traits:
    """Return an instruction's traits."""
    name = d.name
    if name.startswith(("v_mfma_", "v_smfmac_")) and "ld_scale" not in name:
        return _matrix(d, arch)
    unit = "other"
    if name.startswith("v_"):
        unit = "vector"
    elif name.startswith(_MEMORY):
        unit = "lds" if name.startswith("ds_") else "memory"
    elif name.startswith("s_"):
        unit = "scalar"
    scalar_offset = name.startswith("buffer_") and bool(d.operands) and d.operands[-1].register is not None
    into_lds = "_load_lds_" in name or "lds" in d.modifiers
    return Traits(unit, name, d.encoding, scalar_offset=scalar_offset, into_lds=into_lds)


def matrix_inputs(name: str) -> tuple[bool, bool]:
    """Return whether a matrix instruction multiplies F64, and whether it multiplies F32: neither is an XDL form."""
    f64 = "_f64_" in name
    return f64, not f64 and name.endswith("f32") and not name.endswith("xf32")


def _matrix(d: Decoded, arch: str) -> Traits:
    name = d.name
    parts = name.removeprefix("v_").split("_")
    shape = next(part for part in parts if part.count("x") == 2)
    size = int(shape.partition("x")[0])
    f64, plain_f32 = matrix_inputs(name)
    return Traits("matrix", name, "", _passes(d, arch, size, f64, plain_f32), f64, not f64 and not plain_f32, size)


def _passes(d: Decoded, arch: str, size: int, f64: bool, plain_f32: bool) -> int:
    """Return the passes of LLVM's schedule model, 4 clocks each."""
    if f64:
        return 4 if size == 4 else 16 if arch == "gfx950" else 8
    if size == 4:
        return 2
    full = 8 if size == 16 else 16
    several_blocks = any(f"_{blocks}b_" in d.name for blocks in (2, 4))
    if arch == "gfx90a" or plain_f32 or several_blocks:
        return full
    if "f8f6f4" in d.name and any(d.number(name) in _EIGHT_BIT_SELECTORS for name in ("cbsz", "blgp")):
        return full
    return full // 2


def matrix_result_states(arch: str, matrix: Traits, use: str, user: Traits) -> int:
    """Return the wait states after a matrix instruction. use: same C, overlapping C, input, vector, memory, overwrite.

    `same C`: the user accumulates into exactly the registers that were written.
    """
    if use == "same C":
        if matrix.f64 and matrix.size == 4:
            return 4 if user.f64 and user.size == 4 else 0
        return 2 if arch != "gfx90a" and matrix.passes == 2 else 0
    if matrix.f64:
        return _f64_states(arch, matrix, use, user)
    if arch == "gfx90a":
        if use == "overlapping C":
            return matrix.passes + user.f64
        return {2: 5, 8: 11, 16: 19}[matrix.passes]
    later = arch == "gfx950"
    if not matrix.xdl:
        if use == "overlapping C":
            return 0 if user.xdl else matrix.passes
        return matrix.passes + 2
    if use == "overlapping C":
        return matrix.passes + 1 + (later and (user.xdl or matrix.passes != 2))
    return matrix.passes + 3 + (later and matrix.passes != 2)


def _f64_states(arch: str, matrix: Traits, use: str, user: Traits) -> int:
    later, small = arch == "gfx950", matrix.size == 4
    if use == "overlapping C":
        if not user.f64 and (user.xdl or arch == "gfx90a"):
            return 0
        return 4 if small else 17 if later else 9
    if use == "memory":
        return 9 if small else 18
    if use == "overwrite":
        return 6 if small else 11
    return 6 if small else 19 if later else 11


def matrix_c_states(arch: str, matrix: Traits) -> int:
    """Return the wait states before a vector or memory instruction may overwrite C of a matrix instruction."""
    if matrix.f64 or (arch != "gfx90a" and not matrix.xdl):
        return 0
    return {2: 1, 4: 3, 8: 7, 16: 15}[matrix.passes]


def wide_store_states(arch: str, store: Traits) -> int:
    """Return the wait states before a vector instruction may overwrite data of a store of more than 8 bytes."""
    return (1 if arch == "gfx90a" else 2) - store.scalar_offset


def dot_states(dot: Traits, user: Traits, use: str) -> int:
    """Return the wait states after a dot product. use: C, input, or overwrite; its own kind forwards C by itself."""
    same = (dot.name, dot.encoding) == (user.name, user.encoding)
    return 0 if same and use != "input" else 3


def scalar_states(arch: str, user: Traits, use: str) -> int:
    """Return the wait states after a vector instruction wrote an SGPR. use: EXEC, VCC, lane, or another operand."""
    if use == "EXEC":
        if user.unit == "matrix" or user.is_permlane:
            return 4
        if user.encoding == "dpp":
            return 5
        return 4 if arch != "gfx90a" and user.name in _LANE_ACCESS else 0
    if user.unit == "memory":
        return 5
    if use == "lane" or (use == "VCC" and user.name.startswith("v_div_fmas")):
        return 4
    return 2 if user.unit == "vector" and arch != "gfx90a" else 0
