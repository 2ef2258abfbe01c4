"""Moves between lanes by way of the LDS crossbar, without touching LDS."""

from __future__ import annotations

from kbserver.emulator.runtime.lane_loops import CTTZ, over_lanes
from kbserver.emulator.runtime.routine import Routine

_SIGNATURE = "ptr %addresses, i64 %exec, i64 %offset, ptr %data, ptr %result"
_COPY = """  %from_{n} = getelementptr i32, ptr %data, i64 {lane}
  %copy_{n} = load i32, ptr %from_{n}, align 4
  %to_{n} = getelementptr i32, ptr %between, i64 {lane}
  store i32 %copy_{n}, ptr %to_{n}, align 4"""
_FINISH = """  %last_{n} = getelementptr i32, ptr %between, i64 {lane}
  %value_{n} = load i32, ptr %last_{n}, align 4
  %end_{n} = getelementptr i32, ptr %result, i64 {lane}
  store i32 %value_{n}, ptr %end_{n}, align 4"""
# Bits 2 to 7 of address plus offset are a lane's number.
_OTHER = """  %slot_{n} = getelementptr i32, ptr %addresses, i64 {lane}
  %address_{n} = load i32, ptr %slot_{n}, align 4
  %wide_{n} = zext i32 %address_{n} to i64
  %sum_{n} = add i64 %wide_{n}, %offset
  %dword_{n} = lshr i64 %sum_{n}, 2
  %other_{n} = and i64 %dword_{n}, 63
"""
_GATHER = f"""{_OTHER}  %from_{{n}} = getelementptr i32, ptr %between, i64 %other_{{n}}
  %value_{{n}} = load i32, ptr %from_{{n}}, align 4
  %to_{{n}} = getelementptr i32, ptr %result, i64 {{lane}}
  store i32 %value_{{n}}, ptr %to_{{n}}, align 4"""
_SCATTER = f"""{_OTHER}  %from_{{n}} = getelementptr i32, ptr %data, i64 {{lane}}
  %value_{{n}} = load i32, ptr %from_{{n}}, align 4
  %to_{{n}} = getelementptr i32, ptr %between, i64 %other_{{n}}
  store i32 %value_{{n}}, ptr %to_{{n}}, align 4"""


def _permute(name: str, first: str, second: str) -> Routine:
    """Lanes that are not active give 0; of several that write one lane, the highest stays."""
    text = f"""define internal void @{name}({_SIGNATURE}) {{
entry:
  %between = alloca [64 x i32], align 64
  store <64 x i32> zeroinitializer, ptr %between, align 64
  br label %first
{over_lanes("%exec", first, "first", "second")}
{over_lanes("%exec", second, "second", "done")}
done:
  ret void
}}
"""
    return Routine(text, (), (CTTZ,))


ROUTINES = {
    "bpermute": _permute("bpermute", _COPY, _GATHER),
    "permute": _permute("permute", _SCATTER, _FINISH),
}
