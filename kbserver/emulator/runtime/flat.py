"""Flat memory: each lane's 64-bit address is LDS, private memory or global memory by its upper dword, and the lanes of
each kind go to that kind's routine with its checks."""

from __future__ import annotations

from kbserver.emulator.context import KIND_NUMBERS, PRIVATE_APERTURE, SHARED_APERTURE
from kbserver.emulator.runtime.atomic_operations import OPERATIONS, Operation
from kbserver.emulator.runtime.elements import LOADS, STORES
from kbserver.emulator.runtime.lane_loops import CTTZ, over_lanes
from kbserver.emulator.runtime.routine import Routine

_PARAMETERS = "ptr %addresses, i64 %exec, ptr %data, ptr %lds, ptr %scratch, i64 %lane_bytes, ptr %ctx, i32 %site"

# Lanes by aperture, and the lower dwords of their addresses in %low.
SORT = f"""  %low = alloca [64 x i32], align 64
  %all = load <64 x i64>, ptr %addresses, align 64
  %words = trunc <64 x i64> %all to <64 x i32>
  store <64 x i32> %words, ptr %low, align 64
  %upper = lshr <64 x i64> %all, splat (i64 32)
  %in_lds = icmp eq <64 x i64> %upper, splat (i64 {SHARED_APERTURE})
  %in_scratch = icmp eq <64 x i64> %upper, splat (i64 {PRIVATE_APERTURE})
  %lds_bits = bitcast <64 x i1> %in_lds to i64
  %scratch_bits = bitcast <64 x i1> %in_scratch to i64
  %lds_lanes = and i64 %exec, %lds_bits
  %scratch_lanes = and i64 %exec, %scratch_bits
  %others = or i64 %lds_lanes, %scratch_lanes
  %global_lanes = xor i64 %exec, %others
  %some_lds = icmp ne i64 %lds_lanes, 0
  %some_scratch = icmp ne i64 %scratch_lanes, 0
  %some_global = icmp ne i64 %global_lanes, 0
"""


def _routine(verb: str, suffix: str) -> Routine:
    text = f"""define internal void @flat_{verb}_{suffix}({_PARAMETERS}) {{
entry:
{SORT}
  br i1 %some_lds, label %to_lds, label %lds_done
to_lds:
  call void @lds_{verb}_{suffix}(ptr %low, i64 %lds_lanes, i64 0, ptr %data, ptr %lds, ptr %ctx, i32 %site)
  br label %lds_done
lds_done:
  br i1 %some_scratch, label %to_scratch, label %scratch_done
to_scratch:
  call void @scratch_{verb}_{suffix}(ptr %low, i64 %scratch_lanes, ptr %data, ptr %scratch, i64 %lane_bytes, \
ptr %ctx, i32 %site)
  br label %scratch_done
scratch_done:
  br i1 %some_global, label %to_global, label %global_done
to_global:
  call void @global_{verb}_{suffix}(ptr %addresses, i64 %global_lanes, ptr %data, ptr %ctx, i32 %site)
  br label %global_done
global_done:
  ret void
}}
"""
    return Routine(text, tuple(f"{where}_{verb}_{suffix}" for where in ("lds", "scratch", "global")))


def _atomic(name: str, operation: Operation) -> Routine:
    """An atomic on private memory, which the hardware does not have, changes nothing and is recorded."""
    refuse = f"""  call void @record_finding(ptr %ctx, i64 {KIND_NUMBERS["flat atomic on private memory"]}, i32 %site, \
i64 {{lane}}, i64 0, i64 {operation.bits // 8})"""
    operands = "ptr %data, ptr %second, ptr %result, ptr %lds, ptr %ctx, i32 %site"
    text = f"""define internal void @flat_atomic_{name}(ptr %addresses, i64 %exec, i64 %offset, {operands}) {{
entry:
{SORT}
  br i1 %some_lds, label %to_lds, label %lds_done
to_lds:
  call void @lds_atomic_{name}(ptr %low, i64 %lds_lanes, i64 0, {operands})
  br label %lds_done
lds_done:
  br i1 %some_global, label %to_global, label %global_done
to_global:
  call void @global_atomic_{name}(ptr %addresses, i64 %global_lanes, i64 0, {operands})
  br label %global_done
global_done:
  br i1 %some_scratch, label %refuse, label %done
{over_lanes("%scratch_lanes", refuse, "refuse", "done")}
done:
  ret void
}}
"""
    return Routine(text, (f"lds_atomic_{name}", f"global_atomic_{name}", "record_finding"), (CTTZ,))


ROUTINES = {
    **{f"flat_atomic_{name}": _atomic(name, operation) for name, operation in OPERATIONS.items()},
    **{f"flat_load_{suffix}": _routine("load", suffix) for suffix in LOADS},
    **{f"flat_store_{suffix}": _routine("store", suffix) for suffix in STORES},
}
