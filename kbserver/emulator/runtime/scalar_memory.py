"""Scalar loads: consecutive dwords from one address into SGPRs.

The first dword must lie in a buffer. Compilers widen a load of three dwords to four where alignment shows that it
stays in its 64-byte line, so the others may reach to the end of the buffer's last line.
"""

from __future__ import annotations

from kbserver.emulator.context import KIND_NUMBERS, RANGE, READ
from kbserver.emulator.runtime.routine import Routine

_KIND = KIND_NUMBERS["scalar read out of range"]
_LOAD = f"""define internal void @scalar_load(i64 %address, i64 %bytes, ptr %data, ptr %ctx, i32 %site) {{
entry:
  %aligned = and i64 %address, -4
  %range = call ptr @find_range(i64 %aligned, i64 1, i64 {READ}, ptr %ctx)
  %missing = icmp eq ptr %range, null
  br i1 %missing, label %refuse, label %reach
reach:
  %end_at = getelementptr i8, ptr %range, i64 {RANGE["line_end"] * 8}
  %end = load i64, ptr %end_at, align 8
  %last = add i64 %aligned, %bytes
  %inside = icmp ule i64 %last, %end
  br i1 %inside, label %copy, label %refuse
refuse:
  call void @record_finding(ptr %ctx, i64 {_KIND}, i32 %site, i64 0, i64 %aligned, i64 %bytes)
  call void @llvm.memset.p0.i64(ptr %data, i8 0, i64 %bytes, i1 false)
  ret void
copy:
  %from = inttoptr i64 %aligned to ptr
  call void @llvm.memcpy.p0.p0.i64(ptr %data, ptr %from, i64 %bytes, i1 false)
  ret void
}}
"""

ROUTINES = {
    "scalar_load": Routine(
        _LOAD,
        ("find_range", "record_finding"),
        (
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
        ),
    )
}
