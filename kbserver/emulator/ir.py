"""Write LLVM IR as text through values that know their type: `x + y` emits one instruction and returns its result.

A value is a scalar (`lanes` = 1) or a vector with one element a lane. The type of the left operand decides the meaning:
`>>` is logical for u32 and arithmetic for i32, `<` compares as that type. Plain Python numbers become constants of the
other operand's type. Nothing here knows the machine.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

from kbserver.emulator.types import Type, floating, u1, u64, unsigned

LANES = 64


@dataclass
class Emitter:
    """The body of one LLVM function: lines of text and the names used in them."""

    lines: list[str] = field(default_factory=list)
    intrinsics: dict[str, str] = field(default_factory=dict)
    """name -> declaration; shared by all emitters of a module."""
    count: int = 0

    def name(self, stem: str = "x") -> str:
        self.count += 1
        return f"%{stem}{self.count}"

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}")

    def comment(self, text: str) -> None:
        self.lines.append(f"  ; {text}")

    def label(self, name: str) -> None:
        self.lines.append(f"{name}:")

    def value(self, text: str, type_: Type, lanes: int = 1) -> Value:
        """Emit `%name = text` and return it as a value."""
        name = self.name()
        self.line(f"{name} = {text}")
        return Value(self, name, type_, lanes)

    def load(self, pointer: str, type_: Type, lanes: int = 1, align: int = 0) -> Value:
        shape = llvm_type(type_, lanes)
        return self.value(f"load {shape}, ptr {pointer}, align {align or max(1, type_.bits // 8)}", type_, lanes)

    def store(self, value: Value, pointer: str, align: int = 0) -> None:
        self.line(f"store {value.typed}, ptr {pointer}, align {align or max(1, value.type.bits // 8)}")

    def offset(self, pointer: str, index: Value | int, element: str = "i8") -> str:
        """Return `pointer` advanced by `index` elements."""
        name = self.name("p")
        number = f"i64 {index}" if isinstance(index, int) else index.typed
        self.line(f"{name} = getelementptr {element}, ptr {pointer}, {number}")
        return name

    def constant(self, number: int | float, type_: Type, lanes: int = 1) -> Value:
        text = _literal(number, type_)
        return Value(self, f"splat ({type_.llvm} {text})" if lanes > 1 else text, type_, lanes)

    def intrinsic(self, name: str, result: tuple[Type, int], *arguments: Value) -> Value:
        """Call `llvm.<name>`; the declaration is added to the module."""
        shape = llvm_type(*result)
        self.intrinsics[name] = f"declare {shape} @{name}({', '.join(a.llvm for a in arguments)})"
        return self.value(f"call {shape} @{name}({', '.join(a.typed for a in arguments)})", *result)


def llvm_type(type_: Type, lanes: int) -> str:
    """Return the LLVM type of `lanes` elements."""
    return f"<{lanes} x {type_.llvm}>" if lanes > 1 else type_.llvm


def _literal(number: int | float, type_: Type) -> str:
    if not type_.is_float:
        return str(int(number) & ((1 << type_.bits) - 1))
    if type_.kind == "bf":
        return f"0xR{struct.unpack('<I', struct.pack('<f', number))[0] >> 16:04X}"
    if type_.bits == 16:
        return f"0xH{struct.unpack('<H', struct.pack('<e', number))[0]:04X}"
    # LLVM writes float constants with the bits of the double of the same value.
    value = struct.unpack("<f", struct.pack("<f", number))[0] if type_.bits == 32 else float(number)
    return f"0x{struct.unpack('<Q', struct.pack('<d', value))[0]:016X}"


@dataclass(frozen=True, slots=True, eq=False)
class Value:
    """One SSA value or constant."""

    emitter: Emitter
    ref: str
    type: Type
    lanes: int = 1

    @property
    def llvm(self) -> str:
        return llvm_type(self.type, self.lanes)

    @property
    def typed(self) -> str:
        return f"{self.llvm} {self.ref}"

    def like(self, number: int | float) -> Value:
        """Return a constant of this value's type and lanes."""
        return self.emitter.constant(number, self.type, self.lanes)

    # Arithmetic

    def _other(self, other: Value | int | float) -> Value:
        if not isinstance(other, Value):
            return self.emitter.constant(other, self.type, self.lanes)
        return other.splat(self.lanes) if other.lanes != self.lanes else other

    def _binary(self, integer: str, floating_: str | None, other: Value | int | float) -> Value:
        left = self.splat(other.lanes) if isinstance(other, Value) and other.lanes > self.lanes else self
        right = left._other(other)
        operation = floating_ if self.type.is_float else integer
        if operation is None or right.type.bits != self.type.bits or right.type.is_float != self.type.is_float:
            raise TypeError(f"{integer} of {self.type} and {right.type}")
        return self.emitter.value(f"{operation} {left.typed}, {right.ref}", self.type, left.lanes)

    def __add__(self, other: Value | int | float) -> Value:
        return self._binary("add", "fadd", other)

    def __sub__(self, other: Value | int | float) -> Value:
        return self._binary("sub", "fsub", other)

    def __rsub__(self, other: int | float) -> Value:
        return self.emitter.constant(other, self.type, self.lanes) - self

    def __mul__(self, other: Value | int | float) -> Value:
        return self._binary("mul", "fmul", other)

    def __truediv__(self, other: Value | float) -> Value:
        return self._binary("fdiv of integers", "fdiv", other)

    def __and__(self, other: Value | int) -> Value:
        return self._binary("and", None, other)

    def __or__(self, other: Value | int) -> Value:
        return self._binary("or", None, other)

    def __xor__(self, other: Value | int) -> Value:
        return self._binary("xor", None, other)

    def __invert__(self) -> Value:
        return self ^ ((1 << self.type.bits) - 1)

    def __neg__(self) -> Value:
        if self.type.is_float:
            return self.emitter.value(f"fneg {self.typed}", self.type, self.lanes)
        return 0 - self

    def __lshift__(self, count: Value | int) -> Value:
        """Shift; the caller masks the count, as the instruction says (LLVM leaves an oversized count undefined)."""
        return self._binary("shl", None, self._count(count))

    def __rshift__(self, count: Value | int) -> Value:
        return self._binary("ashr" if self.type.kind == "i" else "lshr", None, self._count(count))

    def _count(self, count: Value | int) -> Value | int:
        return count.to(self.type) if isinstance(count, Value) else count

    # Comparisons give one bit a lane. NaN makes every one of them false but `ne`.

    def _compare(self, unsigned_: str, signed: str, floating_: str, other: Value | int | float) -> Value:
        left = self.splat(other.lanes) if isinstance(other, Value) and other.lanes > self.lanes else self
        right = left._other(other)
        integer = signed if self.type.kind == "i" else unsigned_
        text = f"fcmp {floating_}" if self.type.is_float else f"icmp {integer}"
        return self.emitter.value(f"{text} {left.typed}, {right.ref}", u1, left.lanes)

    def __lt__(self, other: Value | int | float) -> Value:
        return self._compare("ult", "slt", "olt", other)

    def __le__(self, other: Value | int | float) -> Value:
        return self._compare("ule", "sle", "ole", other)

    def __gt__(self, other: Value | int | float) -> Value:
        return self._compare("ugt", "sgt", "ogt", other)

    def __ge__(self, other: Value | int | float) -> Value:
        return self._compare("uge", "sge", "oge", other)

    def eq(self, other: Value | int | float) -> Value:
        return self._compare("eq", "eq", "oeq", other)

    def ne(self, other: Value | int | float) -> Value:
        return self._compare("ne", "ne", "une", other)

    # Conversions

    def splat(self, lanes: int) -> Value:
        """Return the scalar in every lane."""
        if self.lanes == lanes:
            return self
        if self.lanes != 1:
            raise TypeError(f"{self.lanes} lanes cannot become {lanes}")
        if not self.ref.startswith("%"):
            return Value(self.emitter, f"splat ({self.typed})", self.type, lanes)
        shape = llvm_type(self.type, lanes)
        first = self.emitter.name()
        self.emitter.line(f"{first} = insertelement {shape} poison, {self.typed}, i64 0")
        zeros = f"<{lanes} x i32> zeroinitializer"
        return self.emitter.value(f"shufflevector {shape} {first}, {shape} poison, {zeros}", self.type, lanes)

    def as_(self, type_: Type) -> Value:
        """Return the same bits as another type of the same width."""
        if type_.llvm == self.type.llvm:
            return Value(self.emitter, self.ref, type_, self.lanes)
        return self._cast("bitcast", type_)

    def to(self, type_: Type) -> Value:
        """Return the same number as another type: integers extend by their own sign or drop high bits, floats round
        to nearest even, float to integer truncates and saturates, with NaN giving 0."""
        source = self.type
        if type_.llvm == source.llvm:
            return Value(self.emitter, self.ref, type_, self.lanes)
        if source.is_float and type_.is_float:
            return self._cast("fpext" if type_.bits > source.bits else "fptrunc", type_)
        if source.is_float and source.bits == 16:
            # LLVM 22 forgets that NaN gives 0 when the host converts halves itself.
            return self.to(floating(32)).to(type_)
        if source.is_float:
            verb = "fptosi" if type_.kind == "i" else "fptoui"
            name = f"llvm.{verb}.sat.{mangled(type_, self.lanes)}.{mangled(source, self.lanes)}"
            return self.emitter.intrinsic(name, (type_, self.lanes), self)
        if type_.is_float:
            return self._cast("sitofp" if source.kind == "i" else "uitofp", type_)
        if type_.bits < source.bits:
            return self._cast("trunc", type_)
        return self._cast("sext" if source.kind == "i" else "zext", type_)

    def _cast(self, operation: str, type_: Type) -> Value:
        shape = llvm_type(type_, self.lanes)
        return self.emitter.value(f"{operation} {self.typed} to {shape}", type_, self.lanes)

    def lane_bits(self) -> Value:
        """Return the one-bit lanes as a 64-bit scalar, lane 0 in bit 0."""
        return self.emitter.value(f"bitcast {self.typed} to i64", u64)

    def lane_mask(self) -> Value:
        """Return the bits of a 64-bit scalar as one bit a lane."""
        return self.emitter.value(f"bitcast {self.typed} to <{LANES} x i1>", u1, LANES)

    def shuffle(self, lanes: list[int]) -> Value:
        """Return the vector whose lane k is this one's lane `lanes[k]`."""
        if lanes == list(range(self.lanes)):
            return self
        mask = ", ".join(f"i32 {lane}" for lane in lanes)
        text = f"shufflevector {self.typed}, {self.llvm} poison, <{len(lanes)} x i32> <{mask}>"
        return self.emitter.value(text, self.type, len(lanes))

    def lane(self, index: Value | int) -> Value:
        """Return one lane as a scalar."""
        number = f"i64 {index}" if isinstance(index, int) else index.typed
        return self.emitter.value(f"extractelement {self.typed}, {number}", self.type)

    def with_lane(self, index: Value, value: Value) -> Value:
        """Return the vector with one lane replaced."""
        text = f"insertelement {self.typed}, {value.typed}, {index.typed}"
        return self.emitter.value(text, self.type, self.lanes)


def mangled(type_: Type, lanes: int) -> str:
    """Return the suffix that overloaded intrinsics carry, for example v64f32."""
    element = f"bf{type_.bits}" if type_.kind == "bf" else f"f{type_.bits}" if type_.is_float else f"i{type_.bits}"
    return f"v{lanes}{element}" if lanes > 1 else element


def select(condition: Value, yes: Value, no: Value | int | float) -> Value:
    """Return `yes` where the condition holds, else `no`."""
    lanes = max(condition.lanes, yes.lanes, no.lanes if isinstance(no, Value) else 1)
    yes = yes.splat(lanes)
    no = yes._other(no)
    # A scalar condition may choose between whole vectors.
    return yes.emitter.value(f"select {condition.typed}, {yes.typed}, {no.typed}", yes.type, lanes)


def call(name: str, first: Value, *others: Value | int | float) -> Value:
    """Call the intrinsic `llvm.<name>` that is overloaded on its first argument's type alone."""
    lanes = max(first.lanes, *(other.lanes for other in others if isinstance(other, Value)), 1)
    first = first.splat(lanes)
    rest = [first._other(other) for other in others]
    full = f"llvm.{name}.{mangled(first.type, lanes)}"
    return first.emitter.intrinsic(full, (first.type, lanes), first, *rest)


def fma(a: Value, b: Value, c: Value) -> Value:
    """Return a*b+c, rounded once. f16 goes through double, where product and sum are exact enough to round once:
    the product has 22 bits, and a sum that needs more than 53 is nowhere near a tie of the 11-bit result."""
    if a.type.bits == 16:
        wide = floating(64)
        return call("fma", a.to(wide), b.to(wide), c.to(wide)).to(a.type)
    return call("fma", a, b, c)


def absolute(x: Value) -> Value:
    """Return |x|: the sign bit cleared, for NaN too."""
    return call("fabs", x)


def count_zeros(x: Value, *, leading: bool) -> Value:
    """Return how many zero bits stand before the first one; the width when x is 0."""
    name = f"llvm.{'ctlz' if leading else 'cttz'}.{mangled(x.type, x.lanes)}"
    false = Value(x.emitter, "false", u1)
    return x.emitter.intrinsic(name, (x.type, x.lanes), x, false)


def popcount(x: Value) -> Value:
    """Return how many bits are set."""
    return call("ctpop", x)


def high_product(x: Value, y: Value) -> Value:
    """Return the high half of the full product, signed or unsigned as the type is."""
    wide = Type(x.type.kind, x.type.bits * 2)
    return ((x.to(wide) * y.to(wide)) >> x.type.bits).to(x.type)


def sign_bit(x: Value) -> Value:
    """Return one bit a lane: the top bit of x, whatever its type."""
    bits = x.as_(unsigned(x.type.bits))
    return (bits >> (x.type.bits - 1)).ne(0)
