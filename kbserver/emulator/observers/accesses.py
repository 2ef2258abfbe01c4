"""Record the addresses of every access to memory, for the counters that depend on addresses.

Every access passes `check_lds`, `check_global` or `check_scratch` before it touches memory; the recorder stands in
front of them. A
record tells the instruction, the active lanes, what the access is and the 64 byte addresses, and goes to the table
behind the context's `trace`: one header row (records wanted, records that fit), then a row a record.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from kbserver.emulator.context import CONTEXT, FINDING_KINDS, KIND_NUMBERS
from kbserver.emulator.decode import Decoded
from kbserver.emulator.ir import LANES
from kbserver.emulator.rows import Row
from kbserver.emulator.runtime.library import routines
from kbserver.emulator.runtime.routine import Routine
from kbserver.emulator.translate import Translation

_SITE, _EXEC, _BYTES, _KIND, _FIRST = range(5)
_WORDS = _FIRST + LANES
ROW_BYTES = _WORDS * 8

# What a bounds check would report says what the access is.
LDS_READ, LDS_WRITE, LDS_ATOMIC = "LDS read", "LDS write", "LDS atomic"
GLOBAL_READ, GLOBAL_WRITE, GLOBAL_ATOMIC, SCRATCH = "global read", "global write", "global atomic", "scratch access"
_KINDS = {number: name.removesuffix(" out of range") for number, name in FINDING_KINDS.items()}

_RECORD = f"""define internal void @record_access(<{LANES} x i64> %addresses, i64 %exec, i64 %bytes, i64 %kind, \
ptr %ctx, i32 %site) noinline {{
entry:
  %trace_at = getelementptr i8, ptr %ctx, i64 {CONTEXT["trace"] * 8}
  %trace = load ptr, ptr %trace_at, align 8
  %none = icmp eq ptr %trace, null
  br i1 %none, label %done, label %record
record:
  %count = load i64, ptr %trace, align 8
  %more = add i64 %count, 1
  store i64 %more, ptr %trace, align 8
  %fit_at = getelementptr i64, ptr %trace, i64 1
  %fit = load i64, ptr %fit_at, align 8
  %room = icmp ult i64 %count, %fit
  br i1 %room, label %write, label %done
write:
  %skip = mul i64 %more, {ROW_BYTES}
  %row = getelementptr i8, ptr %trace, i64 %skip
  %site64 = zext i32 %site to i64
  store i64 %site64, ptr %row, align 8
  %exec_at = getelementptr i64, ptr %row, i64 {_EXEC}
  store i64 %exec, ptr %exec_at, align 8
  %bytes_at = getelementptr i64, ptr %row, i64 {_BYTES}
  store i64 %bytes, ptr %bytes_at, align 8
  %kind_at = getelementptr i64, ptr %row, i64 {_KIND}
  store i64 %kind, ptr %kind_at, align 8
  %lanes_at = getelementptr i64, ptr %row, i64 {_FIRST}
  store <{LANES} x i64> %addresses, ptr %lanes_at, align 8
  br label %done
done:
  ret void
}}
"""

_GLOBAL = f"""define internal i64 @check_global(ptr %addresses, i64 %exec, i64 %size, i64 %need, i64 %kind, ptr %ctx, \
i32 %site) {{
entry:
  %lanes = load <{LANES} x i64>, ptr %addresses, align 64
  call void @record_access(<{LANES} x i64> %lanes, i64 %exec, i64 %size, i64 %kind, ptr %ctx, i32 %site)
  %ok = call i64 @check_global_itself(ptr %addresses, i64 %exec, i64 %size, i64 %need, i64 %kind, ptr %ctx, i32 %site)
  ret i64 %ok
}}
"""

_LDS = f"""define internal i64 @check_lds(ptr %addresses, i64 %exec, i64 %offset, i64 %size, i64 %kind, ptr %ctx, \
i32 %site) {{
entry:
  %narrow = load <{LANES} x i32>, ptr %addresses, align 64
  %wide = zext <{LANES} x i32> %narrow to <{LANES} x i64>
  %one = insertelement <{LANES} x i64> poison, i64 %offset, i64 0
  %all = shufflevector <{LANES} x i64> %one, <{LANES} x i64> poison, <{LANES} x i32> zeroinitializer
  %lanes = add <{LANES} x i64> %wide, %all
  call void @record_access(<{LANES} x i64> %lanes, i64 %exec, i64 %size, i64 %kind, ptr %ctx, i32 %site)
  %ok = call i64 @check_lds_itself(ptr %addresses, i64 %exec, i64 %offset, i64 %size, i64 %kind, ptr %ctx, i32 %site)
  ret i64 %ok
}}
"""


_SCRATCH = f"""define internal i64 @check_scratch(ptr %addresses, i64 %exec, i64 %lane_bytes, i64 %size, ptr %ctx, \
i32 %site) {{
entry:
  %narrow = load <{LANES} x i32>, ptr %addresses, align 64
  %lanes = zext <{LANES} x i32> %narrow to <{LANES} x i64>
  call void @record_access(<{LANES} x i64> %lanes, i64 %exec, i64 %size, \
i64 {KIND_NUMBERS["scratch access out of range"]}, ptr %ctx, i32 %site)
  %ok = call i64 @check_scratch_itself(ptr %addresses, i64 %exec, i64 %lane_bytes, i64 %size, ptr %ctx, i32 %site)
  ret i64 %ok
}}
"""


class AccessRecorder:
    """The observer that records; launch with `trace=` a table of `make_trace`, on one thread, or nothing is kept."""

    def before(self, t: Translation, d: Decoded, row: Row) -> None:
        for name, text in (("check_global", _GLOBAL), ("check_lds", _LDS), ("check_scratch", _SCRATCH)):
            own = routines()[name]
            renamed = own.text.replace(f"@{name}(", f"@{name}_itself(")
            t.library.define("record_access", Routine(_RECORD))
            t.library.define(f"{name}_itself", Routine(renamed, own.needs, own.declarations))
            t.library.define(name, Routine(text))

    def after(self, t: Translation, d: Decoded, row: Row) -> None:
        pass


def make_trace(records: int) -> np.ndarray:
    """Return an empty table with room for this many records."""
    table = np.zeros((records + 1, _WORDS), np.uint64)
    table[0, 1] = records
    return table


@dataclass(frozen=True, eq=False)
class Accesses:
    """Recorded accesses, one row each. `active` and `addresses` are [n, 64]."""

    sites: np.ndarray
    kinds: np.ndarray
    """numbers of FINDING_KINDS; `kind_name` reads them."""
    bytes: np.ndarray
    active: np.ndarray
    addresses: np.ndarray


def kind_name(number: int) -> str:
    """Return what an access is: one of the names above."""
    return _KINDS[number]


def read_trace(table: np.ndarray) -> tuple[Accesses, int]:
    """Return the recorded accesses and how many more there were than fitted."""
    wanted, room = int(table[0, 0]), int(table[0, 1])
    rows = table[1 : 1 + min(wanted, room)]
    lanes = np.arange(LANES, dtype=np.uint64)
    active = (rows[:, _EXEC, None] >> lanes) & np.uint64(1) != 0
    addresses = rows[:, _FIRST:].view(np.int64)
    numbers = rows[:, :_FIRST].astype(np.int64)
    return Accesses(numbers[:, _SITE], numbers[:, _KIND], numbers[:, _BYTES], active, addresses), max(0, wanted - room)
