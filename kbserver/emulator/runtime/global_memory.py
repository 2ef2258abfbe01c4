"""Global memory: 64 addresses, a mask, and the VGPRs to load to or store from.

Every routine takes (ptr %addresses, i64 %exec, ptr %data, ptr %ctx, i32 %site).
"""

from __future__ import annotations

from kbserver.emulator.context import KIND_NUMBERS, READ, WRITE
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


ROUTINES = {
    **{f"global_load_{suffix}": _load(f"global_load_{suffix}", element) for suffix, element in LOADS.items()},
    **{f"global_store_{suffix}": _store(f"global_store_{suffix}", element) for suffix, element in STORES.items()},
}
