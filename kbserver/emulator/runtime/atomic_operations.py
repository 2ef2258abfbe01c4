"""What an atomic does to one address, as IR functions: `iN @<name>(ptr %at, iN %data, iN %second)` gives the old value.

Each is atomic on the host as well: workgroups that run on different host threads share global memory. Meanings follow
AMD's CDNA4 ISA manual: integers its pseudocode, floats its chapter on float memory atomics. There a minimum or maximum
takes -0 as smaller than +0, a number before a quiet NaN, and turns a signaling NaN into the quiet one. Denormals count
in LDS, because kernels in a mode that flushes them are refused, and in f16, bf16 and f64; additions of f32 in memory
flush those that come in.
"""

from __future__ import annotations

from dataclasses import dataclass

from kbserver.emulator.runtime.routine import Routine


@dataclass(frozen=True)
class Operation:
    """One operation. word: of `atomicrmw`, with the type it works on (i, float, double).

    update: else, lines that make %new from %old, %data and %second. two: %second counts: the value to find, the
    bits to set, or what to add.
    """

    bits: int
    word: str = ""
    update: str = ""
    two: bool = False


_WORDS = {
    "add": "add", "sub": "sub", "inc": "uinc_wrap", "dec": "udec_wrap", "smin": "min", "smax": "max", "umin": "umin",
    "umax": "umax", "and": "and", "or": "or", "xor": "xor", "swap": "xchg",
}  # fmt: skip
COMPARE = "compare"

_REVERSE = "  %new = sub {i} %data, %old"
_MASKED_OR = """  %kept = xor {i} %data, -1
  %rest = and {i} %old, %kept
  %new = or {i} %rest, %second"""
_WRAP = """  %less = sub {i} %old, %data
  %more = add {i} %old, %second
  %enough = icmp uge {i} %old, %data
  %new = select i1 %enough, {i} %less, {i} %more"""
# Floats of different bits can be equal, as -0 and +0 are.
_SAME = """  %held = bitcast {i} %old to {f}
  %wanted = bitcast {i} %second to {f}
  %same = fcmp oeq {f} %held, %wanted
  %new = select i1 %same, {i} %data, {i} %old"""
# As integers the bits of floats are in order, when those of negative ones are inverted below the sign.
_CHOOSE = """  %held = bitcast {i} %old to {f}
  %given = bitcast {i} %data to {f}
  %held_nan = fcmp uno {f} %held, %held
  %given_nan = fcmp uno {f} %given, %given
  %held_sign = ashr {i} %old, {top}
  %held_mask = lshr {i} %held_sign, 1
  %held_key = xor {i} %old, %held_mask
  %given_sign = ashr {i} %data, {top}
  %given_mask = lshr {i} %given_sign, 1
  %given_key = xor {i} %data, %given_mask
  %beats = icmp {relation} {i} %given_key, %held_key
  %number = xor i1 %given_nan, true
  %ahead = or i1 %beats, %held_nan
  %wins = and i1 %ahead, %number
  %chosen = select i1 %wins, {i} %data, {i} %old
  %held_quiet = or {i} %old, {quiet}
  %given_quiet = or {i} %data, {quiet}
  %held_differs = icmp ne {i} %held_quiet, %old
  %given_differs = icmp ne {i} %given_quiet, %data
  %held_signals = and i1 %held_nan, %held_differs
  %given_signals = and i1 %given_nan, %given_differs
  %without_given = select i1 %given_signals, {i} %given_quiet, {i} %chosen
  %new = select i1 %held_signals, {i} %held_quiet, {i} %without_given"""
# A denormal that comes in counts as the zero of its sign.
_FLUSHED_SUM = """  %held_size = and i32 %old, 2147483647
  %held_tiny = icmp ult i32 %held_size, 8388608
  %held_zero = and i32 %old, -2147483648
  %held_bits = select i1 %held_tiny, i32 %held_zero, i32 %old
  %given_size = and i32 %data, 2147483647
  %given_tiny = icmp ult i32 %given_size, 8388608
  %given_zero = and i32 %data, -2147483648
  %given_bits = select i1 %given_tiny, i32 %given_zero, i32 %data
  %held = bitcast i32 %held_bits to float
  %given = bitcast i32 %given_bits to float
  %sum = fadd float %held, %given
  %new = bitcast float %sum to i32"""
_HALVES = """  %held = bitcast i32 %old to <2 x half>
  %given = bitcast i32 %data to <2 x half>
  %sum = fadd <2 x half> %held, %given
  %new = bitcast <2 x half> %sum to i32"""
# bfloat16 as the high half of a float; the sum is rounded to nearest even, a NaN becomes quiet.
_BFLOATS = """  %held = bitcast i32 %old to <2 x i16>
  %given = bitcast i32 %data to <2 x i16>
  %held32 = zext <2 x i16> %held to <2 x i32>
  %given32 = zext <2 x i16> %given to <2 x i32>
  %held_up = shl <2 x i32> %held32, splat (i32 16)
  %given_up = shl <2 x i32> %given32, splat (i32 16)
  %held_float = bitcast <2 x i32> %held_up to <2 x float>
  %given_float = bitcast <2 x i32> %given_up to <2 x float>
  %sum = fadd <2 x float> %held_float, %given_float
  %bits = bitcast <2 x float> %sum to <2 x i32>
  %high = lshr <2 x i32> %bits, splat (i32 16)
  %odd = and <2 x i32> %high, splat (i32 1)
  %bias = add <2 x i32> %odd, splat (i32 32767)
  %up = add <2 x i32> %bits, %bias
  %rounded = lshr <2 x i32> %up, splat (i32 16)
  %quiet = or <2 x i32> %high, splat (i32 64)
  %nan = fcmp uno <2 x float> %sum, zeroinitializer
  %chosen = select <2 x i1> %nan, <2 x i32> %quiet, <2 x i32> %rounded
  %narrow = trunc <2 x i32> %chosen to <2 x i16>
  %new = bitcast <2 x i16> %narrow to i32"""


def _floats(text: str, bits: int, relation: str = "") -> str:
    quiet = 1 << (22 if bits == 32 else 51)
    f = "float" if bits == 32 else "double"
    return text.format(i=f"i{bits}", f=f, top=bits - 1, quiet=quiet, relation=relation)


def _operations() -> dict[str, Operation]:
    table = {
        "pk_add_f16": Operation(32, update=_HALVES),
        "pk_add_bf16": Operation(32, update=_BFLOATS),
        "add_f32_flushed": Operation(32, update=_FLUSHED_SUM),
        "wrap_32": Operation(32, update=_WRAP.format(i="i32"), two=True),
    }
    for bits in (32, 64):
        integer = f"i{bits}"
        table |= {f"{name}_{bits}": Operation(bits, word) for name, word in _WORDS.items()}
        table |= {
            f"rsub_{bits}": Operation(bits, update=_REVERSE.format(i=integer)),
            f"mskor_{bits}": Operation(bits, update=_MASKED_OR.format(i=integer), two=True),
            f"cmpswap_{bits}": Operation(bits, COMPARE, two=True),
            f"cmpswap_f{bits}": Operation(bits, update=_floats(_SAME, bits), two=True),
            f"add_f{bits}": Operation(bits, "fadd"),
            f"min_f{bits}": Operation(bits, update=_floats(_CHOOSE, bits, "slt")),
            f"max_f{bits}": Operation(bits, update=_floats(_CHOOSE, bits, "sgt")),
        }
    return table


OPERATIONS = _operations()
"""Name -> operation; the name ends in its width, or in the type of its floats."""


def _body(operation: Operation) -> str:
    integer = f"i{operation.bits}"
    if operation.word == COMPARE:
        return f"""  %pair = cmpxchg ptr %at, {integer} %second, {integer} %data monotonic monotonic
  %old = extractvalue {{ {integer}, i1 }} %pair, 0
  ret {integer} %old"""
    if operation.word == "fadd":
        number = "float" if operation.bits == 32 else "double"
        return f"""  %number = bitcast {integer} %data to {number}
  %was = atomicrmw fadd ptr %at, {number} %number monotonic
  %old = bitcast {number} %was to {integer}
  ret {integer} %old"""
    if operation.word:
        return f"""  %old = atomicrmw {operation.word} ptr %at, {integer} %data monotonic
  ret {integer} %old"""
    return f"""  br label %try
try:
  %old = load {integer}, ptr %at, align {operation.bits // 8}
{operation.update}
  %pair = cmpxchg ptr %at, {integer} %old, {integer} %new monotonic monotonic
  %done = extractvalue {{ {integer}, i1 }} %pair, 1
  br i1 %done, label %end, label %try
end:
  ret {integer} %old"""


def routine_name(name: str) -> str:
    """Return the name of an operation's function."""
    return f"atomic_{name}"


ROUTINES = {
    routine_name(name): Routine(
        f"""define internal i{operation.bits} @{routine_name(name)}(ptr %at, i{operation.bits} %data, \
i{operation.bits} %second) {{
entry:
{_body(operation)}
}}
"""
    )
    for name, operation in OPERATIONS.items()
}
