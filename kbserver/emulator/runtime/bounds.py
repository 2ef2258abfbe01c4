"""Check addresses before they are touched: every lane inside one range of the launch's table, with the right to do it.

`check_global` returns the lanes that may proceed. All lanes in one range is the usual case and costs a few vector
compares; anything else goes lane by lane and records a finding for each lane that is out of range.
"""

from __future__ import annotations

from kbserver.emulator.context import CONTEXT, FINDING, RANGE
from kbserver.emulator.runtime.lane_loops import spread
from kbserver.emulator.runtime.routine import Routine


def _at(record: str, place: int, name: str) -> str:
    """Return the line that points `%name` at word `place` of a record."""
    return f"%{name} = getelementptr i8, ptr {record}, i64 {place * 8}"


_RANGE_BYTES = len(RANGE) * 8
_FINDING_BYTES = len(FINDING) * 8

# Find the range that holds [address, address + size) with the wanted rights; null when there is none.
_FIND = f"""define internal ptr @find_range(i64 %address, i64 %size, i64 %need, ptr %ctx) {{
entry:
  {_at("%ctx", CONTEXT["ranges"], "table_at")}
  %table = load ptr, ptr %table_at, align 8
  {_at("%ctx", CONTEXT["range_count"], "count_at")}
  %count = load i64, ptr %count_at, align 8
  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %j, %advance ]
  %left = icmp ult i64 %i, %count
  br i1 %left, label %look, label %none
look:
  %bytes = mul i64 %i, {_RANGE_BYTES}
  %range = getelementptr i8, ptr %table, i64 %bytes
  %base = load i64, ptr %range, align 8
  {_at("%range", RANGE["end"], "end_at")}
  %end = load i64, ptr %end_at, align 8
  {_at("%range", RANGE["rights"], "rights_at")}
  %rights = load i64, ptr %rights_at, align 8
  %from = icmp uge i64 %address, %base
  %room = sub i64 %end, %address
  %before = icmp ult i64 %address, %end
  %fits = icmp uge i64 %room, %size
  %has = and i64 %rights, %need
  %may = icmp eq i64 %has, %need
  %a = and i1 %from, %before
  %b = and i1 %fits, %may
  %ok = and i1 %a, %b
  br i1 %ok, label %found, label %advance
advance:
  %j = add i64 %i, 1
  br label %next
found:
  ret ptr %range
none:
  ret ptr null
}}
"""

_WHERE = "i64 %lane, i64 %address, i64 %size"
_RECORD = f"""define internal void @record_finding(ptr %ctx, i64 %kind, i32 %site, {_WHERE}) cold {{
entry:
  {_at("%ctx", CONTEXT["finding_count"], "count_at")}
  %count = load i64, ptr %count_at, align 8
  %more = add i64 %count, 1
  store i64 %more, ptr %count_at, align 8
  {_at("%ctx", CONTEXT["finding_capacity"], "capacity_at")}
  %capacity = load i64, ptr %capacity_at, align 8
  %room = icmp ult i64 %count, %capacity
  br i1 %room, label %write, label %done
write:
  {_at("%ctx", CONTEXT["findings"], "table_at")}
  %table = load ptr, ptr %table_at, align 8
  %bytes = mul i64 %count, {_FINDING_BYTES}
  %finding = getelementptr i8, ptr %table, i64 %bytes
  {_at("%finding", FINDING["kind"], "kind_at")}
  store i64 %kind, ptr %kind_at, align 8
  {_at("%finding", FINDING["site"], "site_at")}
  %site64 = zext i32 %site to i64
  store i64 %site64, ptr %site_at, align 8
  {_at("%finding", FINDING["lane"], "lane_at")}
  store i64 %lane, ptr %lane_at, align 8
  {_at("%finding", FINDING["address"], "address_at")}
  store i64 %address, ptr %address_at, align 8
  {_at("%finding", FINDING["bytes"], "size_at")}
  store i64 %size, ptr %size_at, align 8
  {_at("%ctx", CONTEXT["workgroup"], "workgroup_from")}
  %workgroup = load i64, ptr %workgroup_from, align 8
  {_at("%finding", FINDING["workgroup"], "workgroup_at")}
  store i64 %workgroup, ptr %workgroup_at, align 8
  {_at("%ctx", CONTEXT["wave"], "wave_from")}
  %wave = load i64, ptr %wave_from, align 8
  {_at("%finding", FINDING["wave"], "wave_at")}
  store i64 %wave, ptr %wave_at, align 8
  br label %done
done:
  ret void
}}
"""

_SITE = "i64 %kind, ptr %ctx, i32 %site"
_CHECK = f"""define internal i64 @check_global(ptr %addresses, i64 %exec, i64 %size, i64 %need, {_SITE}) {{
entry:
  %idle = icmp eq i64 %exec, 0
  br i1 %idle, label %empty, label %start
empty:
  ret i64 0
start:
  %first = call i64 @llvm.cttz.i64(i64 %exec, i1 true)
  %first_at = getelementptr i64, ptr %addresses, i64 %first
  %address0 = load i64, ptr %first_at, align 8
  %range = call ptr @find_range(i64 %address0, i64 %size, i64 %need, ptr %ctx)
  %missing = icmp eq ptr %range, null
  br i1 %missing, label %slow, label %vector
vector:
  %base = load i64, ptr %range, align 8
  {_at("%range", RANGE["end"], "end_at")}
  %end = load i64, ptr %end_at, align 8
  %last = sub i64 %end, %size
{spread("bases", "%base")}
{spread("lasts", "%last")}
  %all = load <64 x i64>, ptr %addresses, align 64
  %below = icmp ult <64 x i64> %all, %bases
  %above = icmp ugt <64 x i64> %all, %lasts
  %outside = or <64 x i1> %below, %above
  %outside_bits = bitcast <64 x i1> %outside to i64
  %bad = and i64 %outside_bits, %exec
  %good = icmp eq i64 %bad, 0
  br i1 %good, label %all_good, label %slow
all_good:
  ret i64 %exec
slow:
  %rest = phi i64 [ %exec, %start ], [ %exec, %vector ], [ %after, %continue ]
  %allowed = phi i64 [ %exec, %start ], [ %exec, %vector ], [ %allowed2, %continue ]
  %lane = call i64 @llvm.cttz.i64(i64 %rest, i1 true)
  %lane_at = getelementptr i64, ptr %addresses, i64 %lane
  %address = load i64, ptr %lane_at, align 8
  %hit = call ptr @find_range(i64 %address, i64 %size, i64 %need, ptr %ctx)
  %bit = shl i64 1, %lane
  %nowhere = icmp eq ptr %hit, null
  br i1 %nowhere, label %refuse, label %continue
refuse:
  call void @record_finding(ptr %ctx, i64 %kind, i32 %site, i64 %lane, i64 %address, i64 %size)
  %cleared = xor i64 %allowed, %bit
  br label %continue
continue:
  %allowed2 = phi i64 [ %allowed, %slow ], [ %cleared, %refuse ]
  %after = xor i64 %rest, %bit
  %finished = icmp eq i64 %after, 0
  br i1 %finished, label %done, label %slow
done:
  ret i64 %allowed2
}}
"""

# LDS: byte addresses are 32 bits; the offset of the instruction is added without wrapping.
_CHECK_LDS = f"""define internal i64 @check_lds(ptr %addresses, i64 %exec, i64 %offset, i64 %size, {_SITE}) {{
entry:
  {_at("%ctx", CONTEXT["lds_bytes"], "bytes_at")}
  %bytes = load i64, ptr %bytes_at, align 8
  %reach = add i64 %offset, %size
  %fits = icmp uge i64 %bytes, %reach
  %room = sub i64 %bytes, %reach
  %room32 = trunc i64 %room to i32
  %last = select i1 %fits, i32 %room32, i32 0
  %last1 = insertelement <64 x i32> poison, i32 %last, i64 0
  %lasts = shufflevector <64 x i32> %last1, <64 x i32> poison, <64 x i32> zeroinitializer
  %all = load <64 x i32>, ptr %addresses, align 64
  %above = icmp ugt <64 x i32> %all, %lasts
  %above_bits = bitcast <64 x i1> %above to i64
  %refused = select i1 %fits, i64 %above_bits, i64 -1
  %bad = and i64 %refused, %exec
  %good = icmp eq i64 %bad, 0
  br i1 %good, label %all_good, label %report
all_good:
  ret i64 %exec
report:
  %rest = phi i64 [ %bad, %entry ], [ %after, %report ]
  %lane = call i64 @llvm.cttz.i64(i64 %rest, i1 true)
  %lane_at = getelementptr i32, ptr %addresses, i64 %lane
  %address32 = load i32, ptr %lane_at, align 4
  %address64 = zext i32 %address32 to i64
  %address = add i64 %address64, %offset
  call void @record_finding(ptr %ctx, i64 %kind, i32 %site, i64 %lane, i64 %address, i64 %size)
  %bit = shl i64 1, %lane
  %after = xor i64 %rest, %bit
  %finished = icmp eq i64 %after, 0
  br i1 %finished, label %done, label %report
done:
  %allowed = xor i64 %exec, %bad
  ret i64 %allowed
}}
"""

_CTTZ = "declare i64 @llvm.cttz.i64(i64, i1)"

ROUTINES = {
    "find_range": Routine(_FIND),
    "record_finding": Routine(_RECORD),
    "check_global": Routine(_CHECK, ("find_range", "record_finding"), (_CTTZ,)),
    "check_lds": Routine(_CHECK_LDS, ("record_finding",), (_CTTZ,)),
}
