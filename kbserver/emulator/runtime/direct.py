"""Loads that go to LDS past the VGPRs. Lane i writes LDS at start + i * step, whatever its address.

The step is 4 bytes, or 16 for three and four dwords: of these a load of three skips the last (CDNA4 manual, sections
9.1.9 and 10.3). A lane whose place lies outside the LDS does not load, and is recorded.

`direct_lanes` takes (i64 %exec, i64 %start, i64 %bytes, i64 %step, ptr %ctx, i32 %site) and gives the lanes that may
load; `direct_store_<dwords>` takes (ptr %data, i64 %exec, ptr %lds, i64 %start), the values as a load leaves them in
VGPRs.
"""

from __future__ import annotations

from kbserver.emulator.context import CONTEXT, KIND_NUMBERS
from kbserver.emulator.runtime.elements import LOADS, Element
from kbserver.emulator.runtime.lane_loops import CTTZ, over_lanes, spread
from kbserver.emulator.runtime.routine import Routine

SUFFIXES = ("ubyte", "sbyte", "ushort", "sshort", "dword", "dwordx3", "dwordx4")
_KIND = KIND_NUMBERS["LDS write out of range"]

_ALL = ", ".join(f"i64 {lane}" for lane in range(64))
_REPORT = f"""  %far_{{n}} = mul i64 {{lane}}, %step
  %place_{{n}} = add i64 %start, %far_{{n}}
  call void @record_finding(ptr %ctx, i64 {_KIND}, i32 %site, i64 {{lane}}, i64 %place_{{n}}, i64 %bytes)"""
_LANES = f"""define internal i64 @direct_lanes(i64 %exec, i64 %start, i64 %bytes, i64 %step, ptr %ctx, i32 %site) {{
entry:
  %size_at = getelementptr i8, ptr %ctx, i64 {CONTEXT["lds_bytes"] * 8}
  %size = load i64, ptr %size_at, align 8
{spread("steps", "%step")}
  %behind = mul <64 x i64> <{_ALL}>, %steps
  %reach = add i64 %start, %bytes
{spread("reaches", "%reach")}
  %ends = add <64 x i64> %behind, %reaches
{spread("sizes", "%size")}
  %over = icmp ugt <64 x i64> %ends, %sizes
  %over_bits = bitcast <64 x i1> %over to i64
  %bad = and i64 %over_bits, %exec
  br label %report
{over_lanes("%bad", _REPORT, "report", "done")}
done:
  %good = xor i64 %bad, %exec
  ret i64 %good
}}
"""


def step_bytes(element: Element) -> int:
    """Return how far apart in LDS the lanes of a direct load write."""
    return 4 if element.dwords == 1 else 16


def _store(dwords: int) -> Routine:
    lines = [
        f"  %far_{{n}} = mul i64 {{lane}}, {4 if dwords == 1 else 16}",
        "  %place_{n} = add i64 %start, %far_{n}",
        "  %to_{n} = getelementptr i8, ptr %lds, i64 %place_{n}",
        "  %from_{n} = getelementptr i32, ptr %data, i64 {lane}",
    ]
    for place in range(dwords):
        lines.append(f"""  %from{place}_{{n}} = getelementptr i32, ptr %from_{{n}}, i64 {64 * place}
  %word{place}_{{n}} = load i32, ptr %from{place}_{{n}}, align 4
  %to{place}_{{n}} = getelementptr i8, ptr %to_{{n}}, i64 {4 * place}
  store i32 %word{place}_{{n}}, ptr %to{place}_{{n}}, align 4""")
    text = f"""define internal void @direct_store_{dwords}(ptr %data, i64 %exec, ptr %lds, i64 %start) {{
entry:
  br label %move
{over_lanes("%exec", chr(10).join(lines), "move", "done")}
done:
  ret void
}}
"""
    return Routine(text, (), (CTTZ,))


def _global(suffix: str, element: Element) -> Routine:
    parameters = "ptr %addresses, i64 %exec, ptr %lds, i64 %start, ptr %ctx, i32 %site"
    dwords = element.dwords
    text = f"""define internal void @global_load_lds_{suffix}({parameters}) {{
entry:
  %between = alloca [{64 * dwords} x i32], align 64
  %lanes = call i64 @direct_lanes(i64 %exec, i64 %start, i64 {4 * dwords}, i64 {step_bytes(element)}, ptr %ctx, \
i32 %site)
  call void @global_load_{suffix}(ptr %addresses, i64 %lanes, ptr %between, ptr %ctx, i32 %site)
  call void @direct_store_{dwords}(ptr %between, i64 %lanes, ptr %lds, i64 %start)
  ret void
}}
"""
    return Routine(text, ("direct_lanes", f"global_load_{suffix}", f"direct_store_{dwords}"))


ROUTINES = {
    "direct_lanes": Routine(_LANES, ("record_finding",), (CTTZ,)),
    **{f"direct_store_{dwords}": _store(dwords) for dwords in (1, 3, 4)},
    **{f"global_load_lds_{suffix}": _global(suffix, LOADS[suffix]) for suffix in SUFFIXES},
}
