"""Moves between lanes by way of the LDS crossbar; only the transposing read touches LDS itself."""

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


def _transpose() -> Routine:
    """Read 8 bytes a lane and transpose 16-bit elements among 16 lanes: element k of lane i is what lane
    4k + i/4 read as its element i%4. Lanes that are not active read 0."""

    def place(lane: int, element: int) -> int:
        """Position among the 256 halves of two VGPRs."""
        return element // 2 * 128 + lane * 2 + element % 2

    sources = [0] * 256
    for lane in range(64):
        for element in range(4):
            row, among = lane // 16 * 16, lane % 16
            sources[place(lane, element)] = place(row + 4 * element + among // 4, among % 4)
    mask = ", ".join(f"i32 {source}" for source in sources)
    parameters = "ptr %addresses, i64 %exec, i64 %offset, ptr %data, ptr %lds, ptr %ctx, i32 %site"
    text = f"""define internal void @lds_load_b64_tr_b16({parameters}) {{
entry:
  %raw = alloca [128 x i32], align 64
  store <128 x i32> zeroinitializer, ptr %raw, align 64
  call void @lds_load_dwordx2(ptr %addresses, i64 %exec, i64 %offset, ptr %raw, ptr %lds, ptr %ctx, i32 %site)
  %read = load <256 x i16>, ptr %raw, align 64
  %moved = shufflevector <256 x i16> %read, <256 x i16> poison, <256 x i32> <{mask}>
  %words = bitcast <256 x i16> %moved to <128 x i32>
  %old = load <128 x i32>, ptr %data, align 64
  %one = bitcast i64 %exec to <64 x i1>
  %both = shufflevector <64 x i1> %one, <64 x i1> poison, <128 x i32> <{", ".join(f"i32 {n % 64}" for n in range(128))}>
  %new = select <128 x i1> %both, <128 x i32> %words, <128 x i32> %old
  store <128 x i32> %new, ptr %data, align 64
  ret void
}}
"""
    return Routine(text, ("lds_load_dwordx2",))


ROUTINES = {
    "bpermute": _permute("bpermute", _COPY, _GATHER),
    "permute": _permute("permute", _SCATTER, _FINISH),
    "lds_load_b64_tr_b16": _transpose(),
}
