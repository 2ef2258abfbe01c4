"""Transposing reads from LDS (gfx950): lanes of a group of 16 read rows of a matrix and get columns of it.

A group reads as many rows of 16 elements as one lane's bits hold elements: lanes 0, 1, ... the first row, left to
right, then the next. Lane i gets column i, the first row lowest. The rule is one for all four widths; it agrees with
AMD's correction of its simulator for 16 bits (rocm-systems pull request 10175) and with what rocRoller's tests on GPUs
expect of 16, 8, 6 and 4 bits (TransposeLoadsTest).

AMD's manual demands that all lanes are active and that addresses are multiples of the size (16 bytes for the 96-bit
form, as rocRoller says). What breaks either is recorded; lanes without a value to give count as 0.
"""

from __future__ import annotations

from kbserver.emulator.context import KIND_NUMBERS
from kbserver.emulator.runtime.lane_loops import CTTZ
from kbserver.emulator.runtime.routine import Routine

# Suffix of the mnemonic -> bits of an element and dwords a lane.
FORMS = {"b64_tr_b16": (16, 2), "b64_tr_b8": (8, 2), "b64_tr_b4": (4, 2), "b96_tr_b6": (6, 3)}

_INACTIVE = KIND_NUMBERS["LDS transposing read without all lanes"]
_ODD = KIND_NUMBERS["LDS transposing read not aligned"]
_PARAMETERS = "ptr %addresses, i64 %exec, i64 %offset, ptr %data, ptr %lds, ptr %ctx, i32 %site"


def source(lane: int, row: int, count: int) -> tuple[int, int]:
    """Return (lane that read it, its number there) of the element that `lane` gets from a row of its group."""
    place = 16 * row + lane % 16
    return lane // 16 * 16 + place // count, place % count


def _shuffled() -> str:
    """The 16-bit form as one shuffle of the 256 halves in two VGPRs."""

    def half(lane: int, element: int) -> int:
        return element // 2 * 128 + lane * 2 + element % 2

    sources = [0] * 256
    for lane in range(64):
        for row in range(4):
            sources[half(lane, row)] = half(*source(lane, row, 4))
    mask = ", ".join(f"i32 {place}" for place in sources)
    return f"""  %halves = load <256 x i16>, ptr %raw, align 64
  %moved = shufflevector <256 x i16> %halves, <256 x i16> poison, <256 x i32> <{mask}>
  store <256 x i16> %moved, ptr %turned, align 64
  br label %keep"""


def _looped(width: int, dwords: int) -> str:
    """The other forms element by element, over each lane's bits as one integer."""
    bits = 32 * dwords
    count = bits // width
    gather, scatter = [], []
    value = "0"
    for place in range(dwords):
        gather.append(f"""  %from{place} = getelementptr i32, ptr %from, i64 {place * 64}
  %word{place} = load i32, ptr %from{place}, align 4
  %wide{place} = zext i32 %word{place} to i{bits}
  %part{place} = shl i{bits} %wide{place}, {place * 32}
  %whole{place} = or i{bits} {value}, %part{place}""")
        value = f"%whole{place}"
        scatter.append(f"""  %to{place} = getelementptr i32, ptr %to, i64 {place * 64}
  %down{place} = lshr i{bits} %all, {place * 32}
  %out{place} = trunc i{bits} %down{place} to i32
  store i32 %out{place}, ptr %to{place}, align 4""")
    return f"""  br label %lane
lane:
  %i = phi i64 [ 0, %read_done ], [ %i_next, %lane_done ]
  %column = and i64 %i, 15
  %group = and i64 %i, 48
  br label %row
row:
  %k = phi i64 [ 0, %lane ], [ %k_next, %row ]
  %got = phi i{bits} [ 0, %lane ], [ %all, %row ]
  %first = mul i64 %k, 16
  %place = add i64 %first, %column
  %among = udiv i64 %place, {count}
  %element = urem i64 %place, {count}
  %reader = add i64 %group, %among
  %from = getelementptr i32, ptr %raw, i64 %reader
{chr(10).join(gather)}
  %right64 = mul i64 %element, {width}
  %right = {"add i64 %right64, 0" if bits == 64 else f"zext i64 %right64 to i{bits}"}
  %moved = lshr i{bits} {value}, %right
  %one = and i{bits} %moved, {(1 << width) - 1}
  %left64 = mul i64 %k, {width}
  %left = {"add i64 %left64, 0" if bits == 64 else f"zext i64 %left64 to i{bits}"}
  %placed = shl i{bits} %one, %left
  %all = or i{bits} %got, %placed
  %k_next = add i64 %k, 1
  %k_end = icmp eq i64 %k_next, {count}
  br i1 %k_end, label %lane_done, label %row
lane_done:
  %to = getelementptr i32, ptr %turned, i64 %i
{chr(10).join(scatter)}
  %i_next = add i64 %i, 1
  %i_end = icmp eq i64 %i_next, 64
  br i1 %i_end, label %keep, label %lane"""


def _routine(suffix: str, width: int, dwords: int) -> Routine:
    words = 64 * dwords
    vector = f"<{words} x i32>"
    repeated = ", ".join(f"i32 {n % 64}" for n in range(words))
    text = f"""define internal void @lds_load_{suffix}({_PARAMETERS}) {{
entry:
  %raw = alloca {vector}, align 64
  %turned = alloca {vector}, align 64
  store {vector} zeroinitializer, ptr %raw, align 64
  %full = icmp eq i64 %exec, -1
  br i1 %full, label %read, label %partial
partial:
  %idle = icmp eq i64 %exec, 0
  br i1 %idle, label %done, label %report
report:
  %off = xor i64 %exec, -1
  %lowest = call i64 @llvm.cttz.i64(i64 %off, i1 true)
  call void @record_finding(ptr %ctx, i64 {_INACTIVE}, i32 %site, i64 %lowest, i64 0, i64 {4 * dwords})
  br label %read
read:
  %even = call i64 @aligned_lds(ptr %addresses, i64 %exec, i64 %offset, i64 {8 if dwords == 2 else 16}, i64 {_ODD}, \
ptr %ctx, i32 %site)
  call void @lds_load_dwordx{dwords}(ptr %addresses, i64 %even, i64 %offset, ptr %raw, ptr %lds, ptr %ctx, i32 %site)
  br label %read_done
read_done:
{_shuffled() if width == 16 else _looped(width, dwords)}
keep:
  %words = load {vector}, ptr %turned, align 64
  %old = load {vector}, ptr %data, align 64
  %one_register = bitcast i64 %exec to <64 x i1>
  %mask = shufflevector <64 x i1> %one_register, <64 x i1> poison, <{words} x i32> <{repeated}>
  %new = select <{words} x i1> %mask, {vector} %words, {vector} %old
  store {vector} %new, ptr %data, align 64
  br label %done
done:
  ret void
}}
"""
    return Routine(text, ("aligned_lds", f"lds_load_dwordx{dwords}", "record_finding"), (CTTZ,))


ROUTINES = {f"lds_load_{suffix}": _routine(suffix, *form) for suffix, form in FORMS.items()}
