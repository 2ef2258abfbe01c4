"""Read and write operands as typed values: registers, inline constants by operand type, neg and abs."""

from __future__ import annotations

import struct

from kbserver.emulator.context import CONTEXT, load_slot
from kbserver.emulator.ir import LANES, Emitter, Value, absolute
from kbserver.emulator.operands import Name, Number, Operand, Register, SymbolPart
from kbserver.emulator.registers import Registers
from kbserver.emulator.types import Type, floating, u16, u32, u64, unsigned

_INLINE_INTEGERS = range(-16, 65)
_FLOAT_FORMATS = {16: ("<e", "<H"), 32: ("<f", "<I"), 64: ("<d", "<Q")}


class BadOperand(ValueError):
    """The operand does not fit; the translator adds which instruction it was."""


def constant_bits(number: Number, type_: Type) -> int:
    """Return the bits that a constant has as an operand of this type.

    Inline floats take the operand's width; inline integers are sign-extended; a 32-bit literal is zero-extended for
    64-bit integers (sign-extended for i64) and is the high half of an f64.
    """
    value, bits = number.value, type_.bits
    mask = (1 << bits) - 1
    if isinstance(value, float):
        if type_.kind == "bf":
            return struct.unpack("<I", struct.pack("<f", value))[0] >> 16
        pack, unpack = _FLOAT_FORMATS[bits]
        # 1/(2*pi) is written 0.15915494 in every width: the nearest value of that width.
        return struct.unpack(unpack, struct.pack(pack, value))[0]
    if bits == 64 and value not in _INLINE_INTEGERS:
        literal = value & 0xFFFFFFFF
        if type_.kind == "f":
            return literal << 32
        return (literal - (1 << 32)) & mask if type_.kind == "i" and literal >> 31 else literal
    return value & mask


def read_scalar(registers: Registers, operand: Operand, type_: Type) -> Value:
    """Return a scalar operand: SGPRs or a constant."""
    value = operand.value
    if operand.modified:
        raise BadOperand("a scalar operand has no modifiers")
    if isinstance(value, Number):
        return _constant(registers.emitter, value, type_)
    if isinstance(value, SymbolPart):
        return _symbol_part(registers.emitter, value).as_(type_)
    if isinstance(value, Name) or value.file != "s":
        raise BadOperand(f"{value} is no scalar operand")
    return _sgpr_bits(registers, value, type_).as_(type_)


def _constant(emitter: Emitter, number: Number, type_: Type, lanes: int = 1) -> Value:
    bits = emitter.constant(constant_bits(number, type_), unsigned(type_.bits), lanes)
    if not type_.is_float:
        return Value(emitter, bits.ref, type_, lanes)
    return bits.as_(type_)


def _symbol_part(emitter: Emitter, part: SymbolPart) -> Value:
    """Return one dword of a variable's address, or of the address of its entry in the table."""
    table = load_slot(emitter, "%ctx", CONTEXT, "symbols")
    address = table + 8 * part.slot
    if not part.entry:
        entry = emitter.name("p")
        emitter.line(f"{entry} = inttoptr {address.typed} to ptr")
        address = emitter.load(entry, u64)
    moved = address + part.delta
    return (moved >> 32 if part.high else moved).to(u32)


def _sgpr_bits(registers: Registers, register: Register, type_: Type) -> Value:
    if register.count != type_.dwords:
        raise BadOperand(f"{register} is not {type_.dwords} dwords")
    if type_.bits == 64:
        return registers.sgpr_pair(register.index)
    word = registers.sgpr(register.index)
    return word if type_.bits == 32 else word.to(unsigned(type_.bits))


def read_lanes(registers: Registers, operand: Operand, type_: Type, *, high: bool = False) -> Value:
    """Return a vector operand, one element a lane, without its modifiers: VGPRs, or a scalar in every lane.

    high: a 16-bit operand is the register's high half.
    """
    value = operand.value
    if isinstance(value, Number):
        return _constant(registers.emitter, value, type_, LANES)
    if isinstance(value, SymbolPart):
        return _symbol_part(registers.emitter, value).as_(type_).splat(LANES)
    if isinstance(value, Name):
        raise BadOperand(f"{value} is no operand of the vector unit that the emulator knows")
    if value.file == "s":
        if high:
            return (registers.sgpr(value.index) >> 16).to(u16).as_(type_).splat(LANES)
        return _sgpr_bits(registers, value, type_).as_(type_).splat(LANES)
    return vgpr_bits(registers, value, type_.bits, high=high).as_(type_)


def vgpr_bits(registers: Registers, register: Register, bits: int, *, high: bool = False) -> Value:
    """Return the bits of one element a lane: 64 from a register pair, 32, or a half."""
    if register.count != max(1, bits // 32):
        raise BadOperand(f"{register} is not {max(1, bits // 32)} dwords")
    if bits == 64:
        low, upper = registers.vgpr(register.index), registers.vgpr(register.index + 1)
        return low.to(u64) | (upper.to(u64) << 32)
    word = registers.vgpr(register.index)
    return word if bits == 32 else ((word >> 16) if high else word).to(unsigned(bits))


def apply_float_modifiers(value: Value, operand: Operand) -> Value:
    """Return |x|, -x or -|x| as the operand asks. They change the sign bit only, of NaN too."""
    type_ = value.type
    as_float = value if type_.is_float else value.as_(floating(type_.bits))
    if operand.absolute:
        as_float = absolute(as_float)
    if operand.negate:
        as_float = -as_float
    return as_float.as_(type_)


def write_scalar(registers: Registers, register: Register | None, value: Value) -> None:
    """Write an SGPR or an SGPR pair."""
    if register is None or register.file != "s":
        raise BadOperand("the destination is no scalar register")
    if register.count != value.type.dwords:
        raise BadOperand(f"the destination {register} is not {value.type.dwords} dwords")
    if value.type.bits == 64:
        registers.set_sgpr_pair(register.index, value)
    else:
        registers.set_sgpr(register.index, value)


def write_dwords(registers: Registers, register: Register, value: Value) -> None:
    """Write a 32 or 64-bit element a lane to VGPRs, in the active lanes."""
    if register.count != value.type.dwords:
        raise BadOperand(f"the destination {register} is not {value.type.dwords} dwords")
    bits = value.as_(unsigned(value.type.bits))
    if value.type.bits == 64:
        registers.set_vgpr(register.index, bits.to(u32))
        registers.set_vgpr(register.index + 1, (bits >> 32).to(u32))
    else:
        registers.set_vgpr(register.index, bits)
