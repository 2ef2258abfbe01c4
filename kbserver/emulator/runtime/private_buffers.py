"""Private memory through a buffer resource: how gfx90a code reaches its stack.

The runtime's resource adds the lane's number and interleaves the lanes' dwords, so that SGPR offsets are those of a
whole wavefront: 64 bytes of them are one of a lane. Any other resource goes to the routines of `buffers`, whose
arguments these take, with `ptr %scratch, i64 %lane_bytes` before the context.
"""

from __future__ import annotations

from kbserver.emulator.ir import LANES
from kbserver.emulator.runtime.buffers import RESOURCE
from kbserver.emulator.runtime.elements import LOADS, STORES
from kbserver.emulator.runtime.routine import Routine

ADDS_LANE = 1 << 23
"""Of the fourth dword of a resource: ADD_TID_ENABLE. Only the runtime's resource for private memory has it here."""


def _routine(verb: str, suffix: str) -> Routine:
    words = f"<{LANES} x i32>"
    text = f"""define internal void @private_buffer_{verb}_{suffix}({RESOURCE}, i64 %exec, ptr %data, ptr %scratch, \
i64 %lane_bytes, ptr %ctx, i32 %site) {{
entry:
  %addresses = alloca [{LANES} x i32], align 64
  %bit = and i64 %high, {ADDS_LANE << 32}
  %private = icmp ne i64 %bit, 0
  br i1 %private, label %fixed, label %buffer
fixed:
  %frame = lshr i64 %scalar, {LANES.bit_length() - 1}
  %sum = add i64 %frame, %inst
  %low_sum = trunc i64 %sum to i32
  %one = insertelement {words} poison, i32 %low_sum, i64 0
  %all = shufflevector {words} %one, {words} poison, {words} zeroinitializer
  store {words} %all, ptr %addresses, align 64
  %without = icmp eq ptr %offsets, null
  br i1 %without, label %go, label %varying
varying:
  %own = load {words}, ptr %offsets, align 64
  %whole = add {words} %own, %all
  store {words} %whole, ptr %addresses, align 64
  br label %go
go:
  call void @scratch_{verb}_{suffix}(ptr %addresses, i64 %exec, ptr %data, ptr %scratch, i64 %lane_bytes, ptr %ctx, \
i32 %site)
  ret void
buffer:
  call void @buffer_{verb}_{suffix}(i64 %low, i64 %high, i64 %scalar, i64 %inst, ptr %offsets, ptr %indices, \
i64 %exec, ptr %data, ptr %ctx, i32 %site)
  ret void
}}
"""
    return Routine(text, (f"scratch_{verb}_{suffix}", f"buffer_{verb}_{suffix}"))


ROUTINES = {
    **{f"private_buffer_load_{suffix}": _routine("load", suffix) for suffix in LOADS},
    **{f"private_buffer_store_{suffix}": _routine("store", suffix) for suffix in STORES},
}
