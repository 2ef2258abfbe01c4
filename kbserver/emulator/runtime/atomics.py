"""Atomics on LDS and global memory: each lane reads, computes and writes back before the next lane does.

Lanes go in ascending order, which is one of the orders that the hardware may take.

Every routine takes (pointer to 64 addresses, i64 %exec, i64 %offset, ptr %data, ptr %second, ptr %result, ptr %lds,
ptr %ctx, i32 %site). The offset counts for LDS alone; global addresses are whole. %result is null when the old value
is not wanted. A lane out of range, or at an address that is no multiple of the operand's size, changes nothing, gets
0 and is recorded.
"""

from __future__ import annotations

from kbserver.emulator.context import KIND_NUMBERS, READ, WRITE
from kbserver.emulator.runtime.atomic_operations import OPERATIONS, Operation, routine_name
from kbserver.emulator.runtime.lane_loops import CTTZ, over_lanes
from kbserver.emulator.runtime.routine import Routine

_PARAMETERS = (
    "ptr %addresses, i64 %exec, i64 %offset, ptr %data, ptr %second, ptr %result, ptr %lds, ptr %ctx, i32 %site"
)
_ADDRESS = {
    "lds": """  %slot_{n} = getelementptr i32, ptr %addresses, i64 {lane}
  %low_{n} = load i32, ptr %slot_{n}, align 4
  %wide_address_{n} = zext i32 %low_{n} to i64
  %address_{n} = add i64 %wide_address_{n}, %offset
""",
    "global": """  %slot_{n} = getelementptr i64, ptr %addresses, i64 {lane}
  %address_{n} = load i64, ptr %slot_{n}, align 8
""",
}
_POINTER = {
    "lds": "  %pointer_{n} = getelementptr i8, ptr %lds, i64 %address_{n}\n",
    "global": "  %pointer_{n} = inttoptr i64 %address_{n} to ptr\n",
}
_TYPES = {"lds": "i32", "global": "i64"}


def _aligned(unit: str) -> Routine:
    """Return the function that takes lanes at odd addresses out of a mask and records each."""
    type_ = _TYPES[unit]
    vector = f"<64 x {type_}>"
    report = f"""{_ADDRESS[unit]}  call void @record_finding(ptr %ctx, i64 %kind, i32 %site, i64 {{lane}}, \
i64 %address_{{n}}, i64 %size)"""
    narrow = {"lds": "trunc i64 %{0} to i32", "global": "or i64 %{0}, 0"}[unit]
    text = f"""define internal i64 @aligned_{unit}(ptr %addresses, i64 %exec, i64 %offset, i64 %size, i64 %kind, \
ptr %ctx, i32 %site) {{
entry:
  %low_bits = sub i64 %size, 1
  %mask = {narrow.format("low_bits")}
  %mask1 = insertelement {vector} poison, {type_} %mask, i64 0
  %masks = shufflevector {vector} %mask1, {vector} poison, <64 x i32> zeroinitializer
  %more = {narrow.format("offset")}
  %more1 = insertelement {vector} poison, {type_} %more, i64 0
  %offsets = shufflevector {vector} %more1, {vector} poison, <64 x i32> zeroinitializer
  %all = load {vector}, ptr %addresses, align 64
  %whole = add {vector} %all, %offsets
  %rest = and {vector} %whole, %masks
  %odd = icmp ne {vector} %rest, zeroinitializer
  %odd_bits = bitcast <64 x i1> %odd to i64
  %bad = and i64 %odd_bits, %exec
  br label %report
{over_lanes("%bad", report, "report", "done")}
done:
  %good = xor i64 %exec, %bad
  ret i64 %good
}}
"""
    return Routine(text, ("record_finding",), (CTTZ,))


def _read(name: str, base: str, bits: int) -> str:
    """Return lines that read lane `{lane}` of one or two VGPRs at `base` as one integer %<name>_{n}."""
    low = f"""  %{name}_at_{{n}} = getelementptr i32, ptr {base}, i64 {{lane}}
"""
    if bits == 32:
        return f"{low}  %{name}_{{n}} = load i32, ptr %{name}_at_{{n}}, align 4\n"
    return f"""{low}  %{name}_low_{{n}} = load i32, ptr %{name}_at_{{n}}, align 4
  %{name}_next_{{n}} = getelementptr i32, ptr %{name}_at_{{n}}, i64 64
  %{name}_high_{{n}} = load i32, ptr %{name}_next_{{n}}, align 4
  %{name}_wide_{{n}} = zext i32 %{name}_low_{{n}} to i64
  %{name}_top_{{n}} = zext i32 %{name}_high_{{n}} to i64
  %{name}_up_{{n}} = shl i64 %{name}_top_{{n}}, 32
  %{name}_{{n}} = or i64 %{name}_wide_{{n}}, %{name}_up_{{n}}
"""


def _give(bits: int, value: str) -> str:
    """Return lines that keep the value as lane `{lane}` of the result."""
    to = "  %to_{n} = getelementptr i32, ptr %kept, i64 {lane}\n"
    if bits == 32:
        return f"{to}  store i32 {value}, ptr %to_{{n}}, align 4"
    return f"""{to}  %old_low_{{n}} = trunc i64 {value} to i32
  %old_up_{{n}} = lshr i64 {value}, 32
  %old_high_{{n}} = trunc i64 %old_up_{{n}} to i32
  store i32 %old_low_{{n}}, ptr %to_{{n}}, align 4
  %to_next_{{n}} = getelementptr i32, ptr %to_{{n}}, i64 64
  store i32 %old_high_{{n}}, ptr %to_next_{{n}}, align 4"""


def _routine(unit: str, name: str, operation: Operation) -> Routine:
    bits = operation.bits
    spelt = "LDS" if unit == "lds" else "global"
    outside, odd = (KIND_NUMBERS[f"{spelt} atomic {what}"] for what in ("out of range", "not aligned"))
    where = f"i64 %offset, i64 {bits // 8}" if unit == "lds" else f"i64 {bits // 8}, i64 {READ | WRITE}"
    function = routine_name(name)
    words = f"<{2 * bits} x i32>"
    repeated = ", ".join(f"i32 {place % 64}" for place in range(2 * bits))
    second = _read("other", "%second", bits) if operation.two else f"  %other_{{n}} = or i{bits} 0, 0\n"
    move = f"""{_ADDRESS[unit]}{_POINTER[unit]}{_read("value", "%data", bits)}{second}\
  %old_{{n}} = call i{bits} @{function}(ptr %pointer_{{n}}, i{bits} %value_{{n}}, i{bits} %other_{{n}})
{_give(bits, "%old_{n}")}"""
    text = f"""define internal void @{unit}_atomic_{name}({_PARAMETERS}) {{
entry:
  %kept = alloca {words}, align 64
  %inside = call i64 @check_{unit}(ptr %addresses, i64 %exec, {where}, i64 {outside}, ptr %ctx, i32 %site)
  %ok = call i64 @aligned_{unit}(ptr %addresses, i64 %inside, i64 %offset, i64 {bits // 8}, i64 {odd}, ptr %ctx, \
i32 %site)
  %bad = xor i64 %ok, %exec
  br label %refused
{over_lanes("%bad", _give(bits, "0"), "refused", "move")}
{over_lanes("%ok", move, "move", "moved")}
moved:
  %unwanted = icmp eq ptr %result, null
  br i1 %unwanted, label %done, label %give
give:
  %olds = load {words}, ptr %kept, align 64
  %before = load {words}, ptr %result, align 64
  %active = bitcast i64 %exec to <64 x i1>
  %mask = shufflevector <64 x i1> %active, <64 x i1> poison, <{2 * bits} x i32> <{repeated}>
  %after = select <{2 * bits} x i1> %mask, {words} %olds, {words} %before
  store {words} %after, ptr %result, align 64
  br label %done
done:
  ret void
}}
"""
    return Routine(text, (f"check_{unit}", f"aligned_{unit}", function), (CTTZ,))


ROUTINES = {
    **{f"aligned_{unit}": _aligned(unit) for unit in _TYPES},
    **{
        f"{unit}_atomic_{name}": _routine(unit, name, operation)
        for unit in _TYPES
        for name, operation in OPERATIONS.items()
    },
}
