"""Element types of the machine's operands: what a dword or a half means to one instruction."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Type:
    """An element type. `kind` is u (unsigned), i (signed), f (IEEE) or bf (bfloat)."""

    kind: str
    bits: int

    @property
    def llvm(self) -> str:
        """The LLVM spelling; signedness lives in the operation there, not in the type."""
        if self.kind == "f":
            return {16: "half", 32: "float", 64: "double"}[self.bits]
        return "bfloat" if self.kind == "bf" else f"i{self.bits}"

    @property
    def is_float(self) -> bool:
        return self.kind in ("f", "bf")

    @property
    def dwords(self) -> int:
        """How many registers hold one element."""
        return max(1, self.bits // 32)

    def __str__(self) -> str:
        return f"{self.kind}{self.bits}"


u1, u8, u16, u32, u64 = (Type("u", bits) for bits in (1, 8, 16, 32, 64))
i8, i16, i32, i64 = (Type("i", bits) for bits in (8, 16, 32, 64))
f16, f32, f64 = (Type("f", bits) for bits in (16, 32, 64))
bf16 = Type("bf", 16)

# The names that signatures use; b16, b32 and b64 are bits without a meaning.
BY_NAME = {
    "u8": u8, "u16": u16, "u32": u32, "u64": u64, "i8": i8, "i16": i16, "i32": i32, "i64": i64,
    "f16": f16, "f32": f32, "f64": f64, "bf16": bf16, "b16": u16, "b32": u32, "b64": u64,
}  # fmt: skip


def unsigned(bits: int) -> Type:
    """Return the unsigned type of this width."""
    return Type("u", bits)


def floating(bits: int) -> Type:
    """Return the IEEE type of this width."""
    return Type("f", bits)
