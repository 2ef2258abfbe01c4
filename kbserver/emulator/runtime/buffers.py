"""Buffer memory (MUBUF): addresses from a resource of four SGPRs, with its range check (CDNA4 manual, section 9.1.5).

Without an index a lane's access is out of range when its offset, of VGPR and instruction, reaches the number of
records; the SGPR's offset does not count. With one it is when its index does. Loads and stores of several dwords are
checked dword by dword, atomics as a whole. Out of range a load gives 0, and stores and atomics do nothing: the
hardware defines that, so it is counted (`clipped` of the context) and no finding. An access in range must still lie
in a buffer of the launch.

AMD's simulator and an LLVM change count the SGPR's offset as well (gpu_arch/general/buffer-instructions.md): where that
would put a lane out of range, the lane is served and a finding says that the sources disagree about it.

Recorded as findings too: an address of a dword or more that is no multiple of four, whose low bits the hardware drops
or not by a mode, and resources that are not emulated: swizzled, with the lane number added, without a data format
(which means that nothing is bound), or without a stride where an index is given.

Every routine takes RESOURCE first: the resource as two words, the SGPR's offset, the instruction's, and 64 VGPR offsets
and indices, null where there are none.
"""

from __future__ import annotations

from kbserver.emulator.context import CONTEXT, KIND_NUMBERS
from kbserver.emulator.runtime.atomic_operations import OPERATIONS, Operation
from kbserver.emulator.runtime.direct import SUFFIXES, step_bytes
from kbserver.emulator.runtime.elements import LOADS, STORES, Element
from kbserver.emulator.runtime.lane_loops import CTTZ, over_lanes, spread
from kbserver.emulator.runtime.routine import Routine

RESOURCE = "i64 %low, i64 %high, i64 %scalar, i64 %inst, ptr %offsets, ptr %indices"
_ODD = KIND_NUMBERS["buffer access not aligned"]
_UNKNOWN = KIND_NUMBERS["buffer resource of a kind that is not emulated"]
_DISPUTED = KIND_NUMBERS["buffer access in range only without its SGPR offset"]
_CTPOP = "declare i64 @llvm.ctpop.i64(i64)"
_WIDE = "<64 x i64>"


# Addresses and the bytes left in range from each; lanes of a resource that is not emulated are gone.
_LANES = f"""define internal i64 @buffer_lanes({RESOURCE}, i64 %exec, ptr %addresses, ptr %rooms, ptr %ctx, \
i32 %site) {{
entry:
  %without_offsets = icmp eq ptr %offsets, null
  br i1 %without_offsets, label %look, label %offset
offset:
  %given_offsets = load <64 x i32>, ptr %offsets, align 64
  br label %look
look:
  %offsets32 = phi <64 x i32> [ zeroinitializer, %entry ], [ %given_offsets, %offset ]
  %without_indices = icmp eq ptr %indices, null
  br i1 %without_indices, label %compute, label %index
index:
  %given_indices = load <64 x i32>, ptr %indices, align 64
  br label %compute
compute:
  %indices32 = phi <64 x i32> [ zeroinitializer, %look ], [ %given_indices, %index ]
  %base = and i64 %low, {(1 << 48) - 1}
  %stride_up = lshr i64 %low, 48
  %stride = and i64 %stride_up, {(1 << 14) - 1}
  %records = and i64 %high, {(1 << 32) - 1}
  %offsets64 = zext <64 x i32> %offsets32 to {_WIDE}
  %indices64 = zext <64 x i32> %indices32 to {_WIDE}
{spread("insts", "%inst")}
  %places = add {_WIDE} %offsets64, %insts
{spread("strides", "%stride")}
  %far = mul {_WIDE} %indices64, %strides
  %behind = add {_WIDE} %far, %places
  %from = add i64 %base, %scalar
{spread("froms", "%from")}
  %whole = add {_WIDE} %froms, %behind
  store {_WIDE} %whole, ptr %addresses, align 64
{spread("ends", "%records")}
  %before = icmp ult {_WIDE} %places, %ends
  %left = sub {_WIDE} %ends, %places
  %raw = select <64 x i1> %before, {_WIDE} %left, {_WIDE} zeroinitializer
  %among = icmp ult {_WIDE} %indices64, %ends
  %structured = select <64 x i1> %among, {_WIDE} splat (i64 {1 << 40}), {_WIDE} zeroinitializer
  %room = select i1 %without_indices, {_WIDE} %raw, {_WIDE} %structured
  store {_WIDE} %room, ptr %rooms, align 64
  %swizzle = and i64 %low, {-(1 << 63)}
  %tid_and_type = and i64 %high, {((1 << 23 | 3 << 30) << 32) - (1 << 64)}
  %odd = or i64 %swizzle, %tid_and_type
  %linear = icmp eq i64 %odd, 0
  %format = and i64 %high, {0xF << 47}
  %bound = icmp ne i64 %format, 0
  %stridden = icmp ne i64 %stride, 0
  %indexable = or i1 %without_indices, %stridden
  %ok1 = and i1 %linear, %bound
  %ok = and i1 %ok1, %indexable
  %idle = icmp eq i64 %exec, 0
  %fine = or i1 %ok, %idle
  br i1 %fine, label %known, label %unknown
unknown:
  %first = call i64 @llvm.cttz.i64(i64 %exec, i1 true)
  call void @record_finding(ptr %ctx, i64 {_UNKNOWN}, i32 %site, i64 %first, i64 %base, i64 0)
  ret i64 0
known:
  %shifts = icmp ne i64 %scalar, 0
  %checked = and i1 %shifts, %without_indices
  br i1 %checked, label %compare, label %served
compare:
{spread("scalars", "%scalar")}
  %moved = add {_WIDE} %places, %scalars
  %beyond = icmp uge {_WIDE} %moved, %ends
  %differs = and <64 x i1> %beyond, %before
  %differs_bits = bitcast <64 x i1> %differs to i64
  %disputed = and i64 %differs_bits, %exec
  %some_disputed = icmp ne i64 %disputed, 0
  br i1 %some_disputed, label %dispute, label %served
dispute:
  %first_disputed = call i64 @llvm.cttz.i64(i64 %disputed, i1 true)
  %disputed_address = extractelement {_WIDE} %whole, i64 %first_disputed
  call void @record_finding(ptr %ctx, i64 {_DISPUTED}, i32 %site, i64 %first_disputed, i64 %disputed_address, i64 0)
  br label %served
served:
  ret i64 %exec
}}
"""
_CLIPPED = f"""define internal void @buffer_clipped(i64 %lanes, ptr %ctx) {{
entry:
  %count_at = getelementptr i8, ptr %ctx, i64 {CONTEXT["clipped"] * 8}
  %count = load i64, ptr %count_at, align 8
  %more = call i64 @llvm.ctpop.i64(i64 %lanes)
  %sum = add i64 %count, %more
  store i64 %sum, ptr %count_at, align 8
  ret void
}}
"""


def _within(name: str, lanes: str, over: int) -> str:
    """Return lines that make %<name> the lanes of a mask with more than `over` bytes of room."""
    return f"""  %{name}_wide = icmp ugt {_WIDE} %room, splat (i64 {over})
  %{name}_bits = bitcast <64 x i1> %{name}_wide to i64
  %{name} = and i64 %{name}_bits, {lanes}"""


def _opening(over: int, *, aligned: bool) -> str:
    """Return the lines up to %in, the lanes that are in range as a whole, and %out, those that are not."""
    lines = f"""entry:
  %addresses = alloca [64 x i64], align 64
  %rooms = alloca [64 x i64], align 64
  %known = call i64 @buffer_lanes(i64 %low, i64 %high, i64 %scalar, i64 %inst, ptr %offsets, ptr %indices, i64 %exec, \
ptr %addresses, ptr %rooms, ptr %ctx, i32 %site)
  %room = load {_WIDE}, ptr %rooms, align 64
"""
    if aligned:
        lines += f"""{_within("touching", "%known", 0)}
  %even = call i64 @aligned_global(ptr %addresses, i64 %touching, i64 0, i64 4, i64 {_ODD}, ptr %ctx, i32 %site)
  %odd = xor i64 %even, %touching
  %live = xor i64 %odd, %known
"""
    else:
        lines += "  %live = or i64 %known, 0\n"
    return f"""{lines}{_within("in", "%live", over)}
  %out = xor i64 %in, %live
  call void @buffer_clipped(i64 %out, ptr %ctx)"""


def _clear(element: Element) -> str:
    """Return lines that give lane `{lane}` 0; a load into half a dword keeps the other half."""
    if not element.form.startswith(("low", "high")):
        return element.clear()
    return f"""  %to_{{n}} = getelementptr i32, ptr %data, i64 {{lane}}
  %half_{{n}} = getelementptr i8, ptr %to_{{n}}, i64 {2 if element.form.startswith("high") else 0}
  store i16 0, ptr %half_{{n}}, align 2"""


def _parts(element: Element, *, load: bool) -> str:
    """Return the blocks from `parts` to `done`: of each lane that is not in range as a whole, the dwords that are."""
    verb = "load" if load else "store"
    text = f"""parts:
  %where = load {_WIDE}, ptr %addresses, align 64
  br label %part0
"""
    for place in range(element.dwords):
        following = f"part{place + 1}" if place + 1 < element.dwords else "done"
        clear = f"""  %zero_{{n}} = getelementptr i32, ptr %data{place}, i64 {{lane}}
  store i32 0, ptr %zero_{{n}}, align 4"""
        rest = over_lanes(f"%rest{place}", clear, f"clear{place}", following) if load else ""
        text += f"""part{place}:
{_within(f"in{place}", "%out", 4 * place)}
  %rest{place} = xor i64 %in{place}, %out
  %data{place} = getelementptr i32, ptr %data, i64 {64 * place}
  %any{place} = icmp ne i64 %in{place}, 0
  br i1 %any{place}, label %touch{place}, label %{f"clear{place}" if load else following}
touch{place}:
  %where{place} = add {_WIDE} %where, splat (i64 {4 * place})
  store {_WIDE} %where{place}, ptr %addresses, align 64
  call void @global_{verb}_dword(ptr %addresses, i64 %in{place}, ptr %data{place}, ptr %ctx, i32 %site)
  br label %{f"clear{place}" if load else following}
{rest}"""
    return text


def _move(name: str, suffix: str, element: Element, *, load: bool) -> Routine:
    verb = "load" if load else "store"
    pieces = element.dwords > 1
    rest = "parts" if pieces else "cleared" if load else "done"
    blocks = _parts(element, load=load) if pieces else ""
    if load and not pieces:
        blocks = over_lanes("%out", _clear(element), "cleared", "done")
    text = f"""define internal void @{name}({RESOURCE}, i64 %exec, ptr %data, ptr %ctx, i32 %site) {{
{_opening(4 * (element.dwords - 1), aligned=element.bytes >= 4)}
  %some = icmp ne i64 %in, 0
  br i1 %some, label %whole, label %others
whole:
  call void @global_{verb}_{suffix}(ptr %addresses, i64 %in, ptr %data, ptr %ctx, i32 %site)
  br label %others
others:
  %more = icmp ne i64 %out, 0
  br i1 %more, label %{rest}, label %done
{blocks}
done:
  ret void
}}
"""
    needs = ["buffer_lanes", "buffer_clipped", "aligned_global", f"global_{verb}_{suffix}"]
    return Routine(text, (*needs, f"global_{verb}_dword"), (CTTZ,))


def _direct(suffix: str, element: Element) -> Routine:
    dwords = element.dwords
    text = f"""define internal void @buffer_load_lds_{suffix}({RESOURCE}, i64 %exec, ptr %lds, i64 %start, ptr %ctx, \
i32 %site) {{
entry:
  %between = alloca [{64 * dwords} x i32], align 64
  %lanes = call i64 @direct_lanes(i64 %exec, i64 %start, i64 {4 * dwords}, i64 {step_bytes(element)}, ptr %ctx, \
i32 %site)
  call void @buffer_load_{suffix}(i64 %low, i64 %high, i64 %scalar, i64 %inst, ptr %offsets, ptr %indices, i64 %lanes, \
ptr %between, ptr %ctx, i32 %site)
  call void @direct_store_{dwords}(ptr %between, i64 %lanes, ptr %lds, i64 %start)
  ret void
}}
"""
    return Routine(text, ("direct_lanes", f"buffer_load_{suffix}", f"direct_store_{dwords}"))


def _atomic(name: str, operation: Operation) -> Routine:
    dwords = operation.bits // 32
    clear = "\n".join(
        f"  %index{place}_{{n}} = add i64 {{lane}}, {64 * place}\n"
        f"  %to{place}_{{n}} = getelementptr i32, ptr %result, i64 %index{place}_{{n}}\n"
        f"  store i32 0, ptr %to{place}_{{n}}, align 4"
        for place in range(dwords)
    )
    text = f"""define internal void @buffer_atomic_{name}({RESOURCE}, i64 %exec, ptr %data, ptr %second, ptr %result, \
ptr %ctx, i32 %site) {{
{_opening(operation.bits // 8 - 1, aligned=False)}
  %some = icmp ne i64 %in, 0
  br i1 %some, label %whole, label %others
whole:
  call void @global_atomic_{name}(ptr %addresses, i64 %in, i64 0, ptr %data, ptr %second, ptr %result, ptr null, \
ptr %ctx, i32 %site)
  br label %others
others:
  %unwanted = icmp eq ptr %result, null
  br i1 %unwanted, label %done, label %cleared
{over_lanes("%out", clear, "cleared", "done")}
done:
  ret void
}}
"""
    return Routine(text, ("buffer_lanes", "buffer_clipped", f"global_atomic_{name}"), (CTTZ,))


ROUTINES = {
    "buffer_lanes": Routine(_LANES, ("record_finding",), (CTTZ,)),
    "buffer_clipped": Routine(_CLIPPED, (), (_CTPOP,)),
    **{f"buffer_load_{name}": _move(f"buffer_load_{name}", name, one, load=True) for name, one in LOADS.items()},
    **{f"buffer_store_{name}": _move(f"buffer_store_{name}", name, one, load=False) for name, one in STORES.items()},
    **{f"buffer_load_lds_{suffix}": _direct(suffix, LOADS[suffix]) for suffix in SUFFIXES},
    **{f"buffer_atomic_{name}": _atomic(name, operation) for name, operation in OPERATIONS.items()},
}
