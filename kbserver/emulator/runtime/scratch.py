"""Private memory: 64 byte addresses of 32 bits, a mask, and the VGPRs to load to or store from.

Each lane has `lane_bytes` of its own at %scratch, one lane's after the other's. Every routine takes (ptr %addresses,
i64 %exec, ptr %data, ptr %scratch, i64 %lane_bytes, ptr %ctx, i32 %site). An access out of range reads 0 or is dropped
and is recorded.
"""

from __future__ import annotations

from kbserver.emulator.context import KIND_NUMBERS
from kbserver.emulator.runtime.elements import LOADS, STORES, Element
from kbserver.emulator.runtime.lane_loops import CTTZ, over_lanes
from kbserver.emulator.runtime.routine import Routine

_KIND = KIND_NUMBERS["scratch access out of range"]
PARAMETERS = "ptr %addresses, i64 %exec, ptr %data, ptr %scratch, i64 %lane_bytes, ptr %ctx, i32 %site"

# Return the lanes whose [address, address + size) lies in their private memory; record the others.
_CHECK = f"""define internal i64 @check_scratch(ptr %addresses, i64 %exec, i64 %lane_bytes, i64 %size, ptr %ctx, \
i32 %site) {{
entry:
  br label %next
next:
  %rest = phi i64 [ %exec, %entry ], [ %after, %looked ]
  %allowed = phi i64 [ %exec, %entry ], [ %still, %looked ]
  %none = icmp eq i64 %rest, 0
  br i1 %none, label %done, label %look
look:
  %lane = call i64 @llvm.cttz.i64(i64 %rest, i1 true)
  %less = sub i64 %rest, 1
  %after = and i64 %rest, %less
  %lane_at = getelementptr i32, ptr %addresses, i64 %lane
  %address32 = load i32, ptr %lane_at, align 4
  %address = zext i32 %address32 to i64
  %end = add i64 %address, %size
  %inside = icmp ule i64 %end, %lane_bytes
  br i1 %inside, label %looked, label %refuse
refuse:
  call void @record_finding(ptr %ctx, i64 {_KIND}, i32 %site, i64 %lane, i64 %address, i64 %size)
  %bit = shl i64 1, %lane
  %cleared = xor i64 %allowed, %bit
  br label %looked
looked:
  %still = phi i64 [ %allowed, %look ], [ %cleared, %refuse ]
  br label %next
done:
  ret i64 %allowed
}}
"""

ADDRESS = """  %slot_{n} = getelementptr i32, ptr %addresses, i64 {lane}
  %low_{n} = load i32, ptr %slot_{n}, align 4
  %wide_address_{n} = zext i32 %low_{n} to i64
  %skip_{n} = mul i64 {lane}, %lane_bytes
  %place_in_{n} = add i64 %skip_{n}, %wide_address_{n}
  %pointer_{n} = getelementptr i8, ptr %scratch, i64 %place_in_{n}
"""


def _routine(name: str, element: Element, *, load: bool) -> Routine:
    refused = over_lanes("%bad", element.clear(), "refused", "move") if load else "refused:\n  br label %move"
    one = ADDRESS + (element.load("%pointer_{n}") if load else element.store("%pointer_{n}"))
    text = f"""define internal void @{name}({PARAMETERS}) {{
entry:
  %ok = call i64 @check_scratch(ptr %addresses, i64 %exec, i64 %lane_bytes, i64 {element.bytes}, ptr %ctx, i32 %site)
  %bad = xor i64 %ok, %exec
  br label %refused
{refused}
{over_lanes("%ok", one, "move", "done")}
done:
  ret void
}}
"""
    return Routine(text, ("check_scratch",), (CTTZ,))


ROUTINES = {
    "check_scratch": Routine(_CHECK, ("record_finding",), (CTTZ,)),
    **{f"scratch_load_{name}": _routine(f"scratch_load_{name}", element, load=True) for name, element in LOADS.items()},
    **{
        f"scratch_store_{name}": _routine(f"scratch_store_{name}", element, load=False)
        for name, element in STORES.items()
    },
}
