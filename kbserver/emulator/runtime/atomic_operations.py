"""What an atomic does to one address, as IR functions: `iN @<name>(ptr %at, iN %data, iN %second)` gives the old value.

Each is atomic on the host as well: workgroups that run on different host threads share global memory. Meanings follow
the pseudocode of AMD's CDNA4 ISA manual. Where it compares floats (`src < tmp ? src : tmp`), a NaN on either side
leaves memory as it is. Denormals count: kernels in a mode that flushes them are refused, and gfx942 and gfx950 keep
them in atomics on memory.
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
# The float that memory holds against the one given; equal floats of different bits, as -0 and +0, are equal.
_CHOOSE = """  %held = bitcast {i} %old to {f}
  %given = bitcast {i} {one} to {f}
  %wins = fcmp {relation} {f} %given, %held
  %new = select i1 %wins, {i} %data, {i} %old"""
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


def _choose(bits: int, relation: str, one: str = "%data") -> str:
    return _CHOOSE.format(i=f"i{bits}", f="float" if bits == 32 else "double", relation=relation, one=one)


def _operations() -> dict[str, Operation]:
    table = {
        "pk_add_f16": Operation(32, update=_HALVES),
        "pk_add_bf16": Operation(32, update=_BFLOATS),
        "wrap_32": Operation(32, update=_WRAP.format(i="i32"), two=True),
    }
    for bits in (32, 64):
        integer = f"i{bits}"
        table |= {f"{name}_{bits}": Operation(bits, word) for name, word in _WORDS.items()}
        table |= {
            f"rsub_{bits}": Operation(bits, update=_REVERSE.format(i=integer)),
            f"mskor_{bits}": Operation(bits, update=_MASKED_OR.format(i=integer), two=True),
            f"cmpswap_{bits}": Operation(bits, COMPARE, two=True),
            f"cmpswap_f{bits}": Operation(bits, update=_choose(bits, "oeq", "%second"), two=True),
            f"add_f{bits}": Operation(bits, "fadd"),
            f"min_f{bits}": Operation(bits, update=_choose(bits, "olt")),
            f"max_f{bits}": Operation(bits, update=_choose(bits, "ogt")),
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
    return f"""  %first = load {integer}, ptr %at, align {operation.bits // 8}
  br label %try
try:
  %old = phi {integer} [ %first, %entry ], [ %seen, %try ]
{operation.update}
  %pair = cmpxchg ptr %at, {integer} %old, {integer} %new monotonic monotonic
  %seen = extractvalue {{ {integer}, i1 }} %pair, 0
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
