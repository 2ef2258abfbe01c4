"""What instrumented code calls, and the table of state that it shares with Python.

All watched memory (register files, LDS, private memory) lies in one arena. The mask of a byte, one bit for each of its
bits, 1 where nobody has written it, lies `shadow` bytes further on, and what the mask is when a workgroup starts
another `image` bytes from the byte. Memory outside the arena counts as written.
"""

from __future__ import annotations

SLOTS = {
    name: place
    for place, name in enumerate((
        "arena", "arena_bytes", "shadow", "image", "zeros", "dump", "uses", "uses_room", "uses_count",
        "trace", "trace_room", "trace_count", "context", "lds", "lds_bytes", "site",
    ))
}  # fmt: skip
STATE = "check_state"
PAGE_BYTES = 1 << 16

# What undefined bits reached.
STORED, ADDRESS, BRANCH, EXEC = 1, 2, 3, 4
# What a row of the trace is.
LDS_READ, LDS_WRITE, GLOBAL_READ, GLOBAL_WRITE, BARRIER = 1, 2, 3, 4, 5
USE_WORDS = 4
"""kind, site, workgroup, wave"""
TRACE_WORDS = 8
"""kind, site, address (LDS: from its start), bytes, workgroup, wave, value (of up to 8 bytes written), spare"""


def _slot(name: str, result: str, type_: str = "i64") -> str:
    return f"  %{result} = load {type_}, ptr getelementptr (i64, ptr @{STATE}, i64 {SLOTS[name]}), align 8"


def _where(context: dict[str, int]) -> str:
    return f"""{_slot("context", "ctx", "ptr")}
{_slot("site", "site")}
  %workgroup_at = getelementptr i64, ptr %ctx, i64 {context["workgroup"]}
  %workgroup = load i64, ptr %workgroup_at, align 8
  %wave_at = getelementptr i64, ptr %ctx, i64 {context["wave"]}
  %wave = load i64, ptr %wave_at, align 8"""


def _words(row: str, *values: str) -> str:
    lines = []
    for place, value in enumerate(values):
        lines.append(f"  {row}.{place} = getelementptr i64, ptr {row}, i64 {place}")
        lines.append(f"  store i64 {value}, ptr {row}.{place}, align 8")
    return "\n".join(lines)


def _shadow(name: str, elsewhere: str) -> str:
    return f"""define internal ptr @{name}(ptr %p) {{
  %a = ptrtoint ptr %p to i64
{_slot("arena", "base")}
{_slot("arena_bytes", "size")}
{_slot("shadow", "delta")}
{_slot(elsewhere, "other")}
  %off = sub i64 %a, %base
  %in = icmp ult i64 %off, %size
  %there = add i64 %a, %delta
  %chosen = select i1 %in, i64 %there, i64 %other
  %q = inttoptr i64 %chosen to ptr
  ret ptr %q
}}
"""


def support(context: dict[str, int]) -> str:
    """Return the module's part that every instrumented kernel has; `context` are the slots of the thread's record."""
    return f"""@{STATE} = global [{len(SLOTS)} x i64] zeroinitializer
{_shadow("shadow_at", "zeros")}
{_shadow("shadow_to", "dump")}
define internal void @check_use(i1 %bad, i64 %kind) {{
  br i1 %bad, label %note, label %done
note:
{_slot("uses_count", "count")}
  %more = add i64 %count, 1
  store i64 %more, ptr getelementptr (i64, ptr @{STATE}, i64 {SLOTS["uses_count"]}), align 8
{_slot("uses_room", "room")}
  %fits = icmp ult i64 %count, %room
  br i1 %fits, label %write, label %done
write:
{_where(context)}
{_slot("uses", "table", "ptr")}
  %skip = mul i64 %count, {USE_WORDS}
  %row = getelementptr i64, ptr %table, i64 %skip
{_words("%row", "%kind", "%site", "%workgroup", "%wave")}
  br label %done
done:
  ret void
}}
define internal void @check_stored(ptr %p, i1 %bad) {{
  br i1 %bad, label %look, label %done
look:
  %a = ptrtoint ptr %p to i64
{_slot("arena", "base")}
{_slot("arena_bytes", "size")}
  %off = sub i64 %a, %base
  %out = icmp uge i64 %off, %size
  call void @check_use(i1 %out, i64 {STORED})
  br label %done
done:
  ret void
}}
define internal void @check_fresh(ptr %p, i64 %bytes) {{
  %a = ptrtoint ptr %p to i64
{_slot("arena", "base")}
{_slot("arena_bytes", "size")}
  %off = sub i64 %a, %base
  %in = icmp ult i64 %off, %size
  br i1 %in, label %copy, label %done
copy:
{_slot("shadow", "delta")}
{_slot("image", "delta2")}
  %to = getelementptr i8, ptr %p, i64 %delta
  %from = getelementptr i8, ptr %p, i64 %delta2
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %from, i64 %bytes, i1 false)
  br label %done
done:
  ret void
}}
define internal void @check_row(i64 %kind, i64 %address, i64 %bytes, i64 %value) {{
{_slot("trace_count", "count")}
  %more = add i64 %count, 1
  store i64 %more, ptr getelementptr (i64, ptr @{STATE}, i64 {SLOTS["trace_count"]}), align 8
{_slot("trace_room", "room")}
  %fits = icmp ult i64 %count, %room
  br i1 %fits, label %write, label %done
write:
{_where(context)}
{_slot("trace", "table", "ptr")}
  %skip = mul i64 %count, {TRACE_WORDS}
  %row = getelementptr i64, ptr %table, i64 %skip
{_words("%row", "%kind", "%site", "%address", "%bytes", "%workgroup", "%wave", "%value")}
  br label %done
done:
  ret void
}}
define internal void @check_access(ptr %p, i64 %bytes, i64 %writes) {{
entry:
  %value_at = alloca i64, align 8
  %a = ptrtoint ptr %p to i64
{_slot("arena", "base")}
{_slot("arena_bytes", "size")}
  %off = sub i64 %a, %base
  %in = icmp ult i64 %off, %size
{_slot("lds", "lds")}
{_slot("lds_bytes", "lds_size")}
  %lds_off = sub i64 %a, %lds
  %in_lds = icmp ult i64 %lds_off, %lds_size
  %not_lds = xor i1 %in_lds, true
  %private = and i1 %in, %not_lds
  br i1 %private, label %done, label %seen
seen:
  %first = select i1 %in_lds, i64 {LDS_READ}, i64 {GLOBAL_READ}
  %kind = add i64 %first, %writes
  %address = select i1 %in_lds, i64 %lds_off, i64 %a
  %wrote = icmp ne i64 %writes, 0
  br i1 %wrote, label %chunk, label %read
read:
  call void @check_row(i64 %kind, i64 %address, i64 %bytes, i64 0)
  br label %done
chunk:
  %at = phi i64 [ 0, %seen ], [ %next, %chunk ]
  %left = sub i64 %bytes, %at
  %many = icmp ugt i64 %left, 8
  %some = select i1 %many, i64 8, i64 %left
  %from = getelementptr i8, ptr %p, i64 %at
  store i64 0, ptr %value_at, align 8
  call void @llvm.memcpy.p0.p0.i64(ptr %value_at, ptr %from, i64 %some, i1 false)
  %value = load i64, ptr %value_at, align 8
  %place = add i64 %address, %at
  call void @check_row(i64 %kind, i64 %place, i64 %some, i64 %value)
  %next = add i64 %at, 8
  %on = icmp ult i64 %next, %bytes
  br i1 %on, label %chunk, label %done
done:
  ret void
}}
"""


DECLARATIONS = (
    "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
    "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
)
