"""LDS: 64 byte addresses of 32 bits, an offset, a mask, and the VGPRs to load to or store from.

Every routine takes (ptr %addresses, i64 %exec, i64 %offset, ptr %data, ptr %lds, ptr %ctx, i32 %site). An access out
of range reads 0 or is dropped, as on the hardware, and is recorded.
"""

from __future__ import annotations

from kbserver.emulator.context import KIND_NUMBERS
from kbserver.emulator.runtime.elements import LOADS, STORES, Element
from kbserver.emulator.runtime.lane_loops import CTTZ, over_lanes
from kbserver.emulator.runtime.moves import moves
from kbserver.emulator.runtime.routine import Routine

_ADDRESS = """  %slot_{n} = getelementptr i32, ptr %addresses, i64 {lane}
  %low_{n} = load i32, ptr %slot_{n}, align 4
  %wide_address_{n} = zext i32 %low_{n} to i64
  %address_{n} = add i64 %wide_address_{n}, %offset
  %pointer_{n} = getelementptr i8, ptr %lds, i64 %address_{n}
"""


def _routine(name: str, element: Element, kind: str, refused: str, *, load: bool) -> Routine:
    parameters = "ptr %addresses, i64 %exec, i64 %offset, ptr %data, ptr %lds, ptr %ctx, i32 %site"
    text = f"""define internal void @{name}({parameters}) {{
entry:
  %ok = call i64 @check_lds(ptr %addresses, i64 %exec, i64 %offset, i64 {element.bytes}, i64 {KIND_NUMBERS[kind]}, \
ptr %ctx, i32 %site)
  %bad = xor i64 %ok, %exec
  br label %refused
{refused}
{moves(element, _ADDRESS, "i32", load=load)}
done:
  ret void
}}
"""
    return Routine(text, ("check_lds",), (CTTZ,))


def _load(name: str, element: Element) -> Routine:
    refused = over_lanes("%bad", element.clear(), "refused", "move")
    return _routine(name, element, "LDS read out of range", refused, load=True)


def _store(name: str, element: Element) -> Routine:
    refused = "refused:\n  br label %move"
    return _routine(name, element, "LDS write out of range", refused, load=False)


ROUTINES = {
    **{f"lds_load_{suffix}": _load(f"lds_load_{suffix}", element) for suffix, element in LOADS.items()},
    **{f"lds_store_{suffix}": _store(f"lds_store_{suffix}", element) for suffix, element in STORES.items()},
}
