"""Rows of the vector unit: a signature and a function of one value a lane, with every modifier of the encodings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from kbserver.emulator import access, dpp, sdwa
from kbserver.emulator.access import BadOperand
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import Value, select
from kbserver.emulator.matching import Function, Matched, list_bit, match, op_sel, outputs_of
from kbserver.emulator.operands import EXEC, VCC, Number, Operand, Register
from kbserver.emulator.signature import Signature, Slot, parse_signature
from kbserver.emulator.types import u16, u32, unsigned

if TYPE_CHECKING:
    from kbserver.emulator.translate import Translation

_FLOAT_OUTPUT = frozenset({"clamp", "mul", "div"})
_OMOD = {("mul", 2): 2.0, ("mul", 4): 4.0, ("div", 2): 0.5}


@dataclass(frozen=True)
class Lane:
    """An operation of the vector unit: one result a lane, written where EXEC is 1.

    keeps_high_half: a 16-bit result leaves the register's other half alone (most gfx9 instructions zero it).
    takes: modifiers passed to the function by name. saturating: the function under an integer `clamp`.
    """

    signature: Signature
    function: Function
    keeps_high_half: bool = False
    takes: tuple[str, ...] = ()
    saturating: Function | None = None

    @property
    def modifiers(self) -> frozenset[str]:
        extra = _FLOAT_OUTPUT if any(slot.type.is_float for slot in self.signature.results) else frozenset()
        if self.saturating is not None:
            extra |= {"clamp"}
        if any(slot.type.bits == 16 for slot in (*self.signature.results, *self.signature.sources)):
            extra |= {"op_sel"}
        return frozenset(self.takes) | extra | dpp.MODIFIERS | sdwa.MODIFIERS

    def translate(self, t: Translation, d: Decoded) -> None:
        results, sources = match(d, self.signature)
        write_mask: Value | None = None
        values = []
        for place, (slot, operand) in enumerate(sources):
            if d.encoding == "dpp" and place == 0:
                value, write_mask = dpp.read(t.registers, d, operand, slot.type)
            else:
                value = self._read(t, d, place, slot, operand, results)
            if operand is not None and (operand.negate or operand.absolute):
                if not slot.allows_float_modifiers:
                    raise BadOperand(f"operand {place} is {slot.word}: neg and abs are not defined for it")
                value = access.apply_float_modifiers(value, operand)
            values.append(value)
        words = {name: d.number(name) for name in self.takes}
        clamps_integer = "clamp" in d.modifiers and self.saturating is not None
        outputs = outputs_of((self.saturating if clamps_integer else self.function)(*values, **words))
        for place, ((slot, operand), value) in enumerate(zip(results, outputs, strict=True)):
            self._write(t, d, slot, operand, value, write_mask if place == 0 else None)

    def _read(
        self, t: Translation, d: Decoded, place: int, slot: Slot, operand: Operand | None, results: list[Matched]
    ) -> Value:
        if slot.word == "vcc":
            return t.registers.sgpr_pair(VCC).lane_mask()
        if slot.word == "dst":
            operand = results[0][1]
        assert operand is not None
        if slot.word == "mask":
            return access.read_scalar(t.registers, operand, slot.type).lane_mask()
        if d.encoding == "sdwa" and slot.word != "dst":
            return sdwa.read(t.registers, d, place, operand, slot.type)
        if operand.sign_extend:
            raise BadOperand("sext() belongs to SDWA")
        return access.read_lanes(t.registers, operand, slot.type, high=op_sel(d, place))

    def _write(
        self, t: Translation, d: Decoded, slot: Slot, operand: Operand | None, value: Value, where: Value | None
    ) -> None:
        registers = t.registers
        register = Register("s", VCC, 2) if slot.word == "vcc" else operand.register if operand else None
        if slot.word in ("mask", "vcc", "exec"):
            bits = value.lane_bits() & registers.exec_bits
            if slot.word == "exec":
                registers.set_sgpr_pair(EXEC, bits)
            else:
                access.write_scalar(registers, register, bits)
            return
        if register is None or register.file != "v":
            raise BadOperand("the destination is no vector register")
        value = _output_modifiers(d, slot, value).as_(unsigned(value.type.bits))
        if d.encoding == "sdwa":
            value = sdwa.merge(d, value, registers.vgpr(register.index))
        elif value.type.bits <= 16:
            value = self._in_dword(d, value, registers.vgpr(register.index))
        if where is not None:
            old = access.vgpr_bits(registers, register, value.type.bits)
            value = select(where, value, old)
        access.write_dwords(registers, register, value)

    def _in_dword(self, d: Decoded, value: Value, old: Value) -> Value:
        """Place a 16-bit result: op_sel's last bit chooses the high half, and then the other half stays."""
        wide = value.to(u32)
        if op_sel(d, len([s for s in self.signature.sources if s.explicit])):
            return (old & 0xFFFF) | (wide << 16)
        return (old & 0xFFFF0000) | wide if self.keeps_high_half else wide


@dataclass(frozen=True)
class Packed:
    """A VOP3P operation: the function runs on the low and on the high half of every dword (or dword of a pair).

    op_sel and op_sel_hi choose the source half of each, neg_lo and neg_hi negate it.
    """

    signature: Signature
    function: Function
    saturating: Function | None = None
    modifiers: frozenset[str] = frozenset({"op_sel", "op_sel_hi", "neg_lo", "neg_hi", "clamp"})

    def translate(self, t: Translation, d: Decoded) -> None:
        results, sources = match(d, self.signature)
        slot, destination = results[0]
        if destination is None or destination.register is None or destination.register.file != "v":
            raise BadOperand("the destination is no vector register")
        if "clamp" in d.modifiers and not slot.type.is_float and self.saturating is None:
            raise BadOperand("clamp is not defined for this instruction")
        halves = [self._half(t, d, sources, results, high) for high in (False, True)]
        register = destination.register
        if slot.type.bits == 32:
            for place, half in enumerate(halves):
                t.registers.set_vgpr(register.index + place, half)
            return
        low, high = (half.as_(u16).to(u32) for half in halves)
        access.write_dwords(t.registers, register, low | (high << 16))

    def _half(self, t: Translation, d: Decoded, sources: list[Matched], results: list[Matched], high: bool) -> Value:
        values = []
        for place, (slot, operand) in enumerate(sources):
            operand = results[0][1] if slot.word == "dst" else operand
            assert operand is not None
            chosen = list_bit(d, "op_sel_hi" if high else "op_sel", place, default=high)
            value = self._read(t, operand, slot, chosen)
            if list_bit(d, "neg_hi" if high else "neg_lo", place):
                if not slot.type.is_float:
                    raise BadOperand("neg_lo and neg_hi are not defined for integers")
                value = -value
            values.append(value)
        clamps_integer = "clamp" in d.modifiers and self.saturating is not None
        (value,) = outputs_of((self.saturating if clamps_integer else self.function)(*values))
        return _output_modifiers(d, results[0][0], value)

    def _read(self, t: Translation, operand: Operand, slot: Slot, high: bool) -> Value:
        register = operand.register
        if slot.type.bits == 32:
            if register is None:
                return access.read_lanes(t.registers, operand, slot.type)
            single = Operand(Register(register.file, register.index + int(high)))
            return access.read_lanes(t.registers, single, slot.type)
        if register is None:
            # An inline constant fills the low half only; the high half of the dword is zero.
            assert isinstance(operand.value, Number)
            inline = isinstance(operand.value.value, float) or -16 <= operand.value.value <= 64
            bits = access.constant_bits(operand.value, slot.type if inline and slot.type.is_float else u32)
            if inline and isinstance(operand.value.value, int):
                bits = operand.value.value & 0xFFFFFFFF
            half = (bits >> 16 if high else bits) & 0xFFFF
            return access.read_lanes(t.registers, Operand(Number(half)), u16).as_(slot.type)
        return access.read_lanes(t.registers, operand, slot.type, high=high)


def _output_modifiers(d: Decoded, slot: Slot, value: Value) -> Value:
    """Scale (omod), then clamp a float result to 0..1; NaN clamps to 0 (DX10_CLAMP, set by every HIP kernel)."""
    if not slot.type.is_float:
        return value
    for name in ("mul", "div"):
        if name in d.modifiers:
            factor = _OMOD.get((name, d.number(name)))
            if factor is None:
                raise BadOperand(f"unknown output modifier {name}")
            value = value * factor
    if "clamp" in d.modifiers:
        value = select(value > 0.0, value, 0.0)
        value = select(value < 1.0, value, 1.0)
    return value


def lane(signature: str, function: Function, **options: object) -> Lane:
    """Return a vector row: `lane("u32 = u32 u32", lambda x, y: x + y)`."""
    return Lane(parse_signature(signature), function, **options)  # type: ignore[arg-type]


def packed(signature: str, function: Function, **options: object) -> Packed:
    """Return a packed row: the signature is that of one half."""
    return Packed(parse_signature(signature), function, **options)  # type: ignore[arg-type]
