"""Global memory: 64 addresses, a mask, and the VGPRs to load to or store from.

Every routine takes (ptr %addresses, i64 %exec, ptr %data, ptr %ctx, i32 %site); the LDS-direct loads take the LDS
and the byte where lane 0 writes as well.
"""

from __future__ import annotations

from kbserver.emulator.context import CONTEXT, KIND_NUMBERS, READ, WRITE
from kbserver.emulator.runtime.elements import LOADS, STORES, Element
from kbserver.emulator.runtime.lane_loops import CTTZ, over_lanes
from kbserver.emulator.runtime.moves import moves
from kbserver.emulator.runtime.routine import Routine

_ADDRESS = """  %slot_{n} = getelementptr i64, ptr %addresses, i64 {lane}
  %address_{n} = load i64, ptr %slot_{n}, align 8
  %pointer_{n} = inttoptr i64 %address_{n} to ptr
"""
_NEEDS = ("check_global",)


def _signature(name: str) -> str:
    return f"define internal void @{name}(ptr %addresses, i64 %exec, ptr %data, ptr %ctx, i32 %site)"


def _check(element: Element, need: int, kind: str) -> str:
    return (
        f"  %ok = call i64 @check_global(ptr %addresses, i64 %exec, i64 {element.bytes}, i64 {need}, "
        f"i64 {KIND_NUMBERS[kind]}, ptr %ctx, i32 %site)"
    )


def _load(name: str, element: Element) -> Routine:
    text = f"""{_signature(name)} {{
entry:
{_check(element, READ, "global read out of range")}
  %bad = xor i64 %ok, %exec
  br label %refused
{over_lanes("%bad", element.clear(), "refused", "move")}
{moves(element, _ADDRESS, "i64", load=True)}
done:
  ret void
}}
"""
    return Routine(text, _NEEDS, (CTTZ,))


def _store(name: str, element: Element) -> Routine:
    text = f"""{_signature(name)} {{
entry:
{_check(element, WRITE, "global write out of range")}
  br label %move
{moves(element, _ADDRESS, "i64", load=False)}
done:
  ret void
}}
"""
    return Routine(text, _NEEDS, (CTTZ,))


def _load_to_lds(name: str, element: Element) -> Routine:
    """Lane i writes LDS at start + i * size, whatever its address; inactive lanes write nothing."""
    size = max(4, element.bytes)
    narrow = f"i{element.bytes * 8}"
    if element.form:
        convert = f"""  %word_{{n}} = {element.form} {narrow} %raw_{{n}} to i32
  store i32 %word_{{n}}, ptr %to_{{n}}, align 1"""
    else:
        convert = f"  store {narrow} %raw_{{n}}, ptr %to_{{n}}, align 1"
    move = f"""{_ADDRESS}  %raw_{{n}} = load {narrow}, ptr %pointer_{{n}}, align 1
  %far_{{n}} = mul i64 {{lane}}, {size}
  %place_{{n}} = add i64 %start, %far_{{n}}
  %to_{{n}} = getelementptr i8, ptr %lds, i64 %place_{{n}}
{convert}"""
    kind = KIND_NUMBERS["LDS write out of range"]
    text = f"""define internal void @{name}(ptr %addresses, i64 %exec, ptr %lds, i64 %start, ptr %ctx, i32 %site) {{
entry:
{_check(element, READ, "global read out of range")}
  %idle = icmp eq i64 %ok, 0
  br i1 %idle, label %done, label %room
room:
  %bytes_at = getelementptr i8, ptr %ctx, i64 {CONTEXT["lds_bytes"] * 8}
  %bytes = load i64, ptr %bytes_at, align 8
  %zeros = call i64 @llvm.ctlz.i64(i64 %ok, i1 true)
  %top = sub i64 63, %zeros
  %reach = mul i64 %top, {size}
  %reach2 = add i64 %reach, {size}
  %end = add i64 %start, %reach2
  %fits = icmp ule i64 %end, %bytes
  br i1 %fits, label %move, label %refuse
refuse:
  call void @record_finding(ptr %ctx, i64 {kind}, i32 %site, i64 %top, i64 %end, i64 {size})
  br label %done
{over_lanes("%ok", move, "move", "done")}
done:
  ret void
}}
"""
    return Routine(text, ("check_global", "record_finding"), (CTTZ, "declare i64 @llvm.ctlz.i64(i64, i1)"))


_TO_LDS = ("ubyte", "sbyte", "ushort", "sshort", "dword", "dwordx3", "dwordx4")

ROUTINES = {
    **{f"global_load_{suffix}": _load(f"global_load_{suffix}", element) for suffix, element in LOADS.items()},
    **{f"global_store_{suffix}": _store(f"global_store_{suffix}", element) for suffix, element in STORES.items()},
    **{f"global_load_lds_{suffix}": _load_to_lds(f"global_load_lds_{suffix}", LOADS[suffix]) for suffix in _TO_LDS},
}
