"""The grid loop: run workgroups one after another, and the wavefronts of each in turns until all have ended.

A wavefront runs until it reaches a barrier or its end; when every wavefront has had its turn, those that wait are
resumed. The order of turns comes from the launch, so that another order can be tried.
"""

from __future__ import annotations

from kbserver.emulator.context import CONTEXT, LAUNCH, ORDER_ROUNDS
from kbserver.emulator.operands import EXEC, FUEL, SGPR_SLOTS
from kbserver.emulator.runtime.routine import Routine

SGPR_BYTES = SGPR_SLOTS * 4


def _load(name: str, type_: str = "i64") -> str:
    return (
        f"  %{name}_at = getelementptr i8, ptr %launch, i64 {LAUNCH[name] * 8}\n"
        f"  %{name} = load {type_}, ptr %{name}_at, align 8"
    )


_POINTERS = ("context", "vgprs", "sgprs", "lds", "states", "initial_sgprs", "initial_exec", "initial_v0", "order")
_NUMBERS = (
    "vgpr_bytes", "lds_allocated", "waves", "groups_x", "groups_y", "id_x", "id_y", "id_z", "fill_registers",
    "poison", "fuel",
)  # fmt: skip
_LOADS = "\n".join([*(_load(name, "ptr") for name in _POINTERS), *(_load(name) for name in _NUMBERS)])

_RUN = f"""define i64 @run(ptr %launch, i64 %first, i64 %last) {{
entry:
{_LOADS}
  %poison8 = trunc i64 %poison to i8
  %workgroup_at = getelementptr i8, ptr %context, i64 {CONTEXT["workgroup"] * 8}
  %wave_at = getelementptr i8, ptr %context, i64 {CONTEXT["wave"] * 8}
  %any = icmp ult i64 %first, %last
  br i1 %any, label %workgroup, label %finished

workgroup:
  %group = phi i64 [ %first, %entry ], [ %next_group, %next_workgroup ]
  store i64 %group, ptr %workgroup_at, align 8
  %gx64 = urem i64 %group, %groups_x
  %rest = udiv i64 %group, %groups_x
  %gy64 = urem i64 %rest, %groups_y
  %gz64 = udiv i64 %rest, %groups_y
  %gx = trunc i64 %gx64 to i32
  %gy = trunc i64 %gy64 to i32
  %gz = trunc i64 %gz64 to i32
  call void @llvm.memset.p0.i64(ptr %lds, i8 %poison8, i64 %lds_allocated, i1 false)
  br label %prepare

prepare:
  %w = phi i64 [ 0, %workgroup ], [ %w_next, %prepared ]
  %w_v = mul i64 %w, %vgpr_bytes
  %v = getelementptr i8, ptr %vgprs, i64 %w_v
  %w_s = mul i64 %w, {SGPR_BYTES}
  %s = getelementptr i8, ptr %sgprs, i64 %w_s
  call void @llvm.memcpy.p0.p0.i64(ptr %s, ptr %initial_sgprs, i64 {SGPR_BYTES}, i1 false)
  %to_x = getelementptr i32, ptr %s, i64 %id_x
  store i32 %gx, ptr %to_x, align 4
  %to_y = getelementptr i32, ptr %s, i64 %id_y
  store i32 %gy, ptr %to_y, align 4
  %to_z = getelementptr i32, ptr %s, i64 %id_z
  store i32 %gz, ptr %to_z, align 4
  %exec_from = getelementptr i64, ptr %initial_exec, i64 %w
  %exec = load i64, ptr %exec_from, align 8
  %exec_at = getelementptr i32, ptr %s, i64 {EXEC}
  store i64 %exec, ptr %exec_at, align 4
  %to_fuel = getelementptr i8, ptr %s, i64 {FUEL * 4}
  store i64 %fuel, ptr %to_fuel, align 8
  %fill = icmp ne i64 %fill_registers, 0
  br i1 %fill, label %poisoned, label %prepared
poisoned:
  call void @llvm.memset.p0.i64(ptr %v, i8 %poison8, i64 %vgpr_bytes, i1 false)
  br label %prepared
prepared:
  %w_v0 = mul i64 %w, 256
  %v0_from = getelementptr i8, ptr %initial_v0, i64 %w_v0
  call void @llvm.memcpy.p0.p0.i64(ptr %v, ptr %v0_from, i64 256, i1 false)
  %state_of = getelementptr i32, ptr %states, i64 %w
  store i32 0, ptr %state_of, align 4
  %w_next = add i64 %w, 1
  %w_more = icmp ult i64 %w_next, %waves
  br i1 %w_more, label %prepare, label %round

round:
  %number = phi i64 [ 0, %prepared ], [ %number_next, %again ]
  %order_row = urem i64 %number, {ORDER_ROUNDS}
  %order_from = mul i64 %order_row, %waves
  br label %turn

turn:
  %k = phi i64 [ 0, %round ], [ %k_next, %turned ]
  %waiting = phi i32 [ 0, %round ], [ %waiting2, %turned ]
  %where = phi i32 [ -1, %round ], [ %where2, %turned ]
  %apart = phi i1 [ false, %round ], [ %apart2, %turned ]
  %order_index = add i64 %order_from, %k
  %whose_at = getelementptr i32, ptr %order, i64 %order_index
  %turn32 = load i32, ptr %whose_at, align 4
  %turn64 = zext i32 %turn32 to i64
  %state_at = getelementptr i32, ptr %states, i64 %turn64
  %state = load i32, ptr %state_at, align 4
  %ended = icmp slt i32 %state, 0
  br i1 %ended, label %turned, label %run_wave
run_wave:
  store i64 %turn64, ptr %wave_at, align 8
  %turn_v = mul i64 %turn64, %vgpr_bytes
  %its_v = getelementptr i8, ptr %vgprs, i64 %turn_v
  %turn_s = mul i64 %turn64, {SGPR_BYTES}
  %its_s = getelementptr i8, ptr %sgprs, i64 %turn_s
  %left = call i32 @kernel(ptr %its_v, ptr %its_s, ptr %lds, ptr %context, i32 %state)
  store i32 %left, ptr %state_at, align 4
  %failed = icmp slt i32 %left, -1
  br i1 %failed, label %failure, label %turned
turned:
  %now = phi i32 [ %state, %turn ], [ %left, %run_wave ]
  %stopped = icmp slt i32 %now, 0
  %one = select i1 %stopped, i32 0, i32 1
  %waiting2 = add i32 %waiting, %one
  %first_turn = icmp eq i64 %k, 0
  %where2 = select i1 %first_turn, i32 %now, i32 %where
  %elsewhere = icmp ne i32 %now, %where2
  %apart2 = or i1 %apart, %elsewhere
  %k_next = add i64 %k, 1
  %k_more = icmp ult i64 %k_next, %waves
  br i1 %k_more, label %turn, label %round_over
round_over:
  br i1 %apart2, label %diverged, label %again_or_not
diverged:
  %divergence_at = getelementptr i8, ptr %launch, i64 {LAUNCH["divergence"] * 8}
  %divergence = load i64, ptr %divergence_at, align 8
  %divergence1 = add i64 %divergence, 1
  store i64 %divergence1, ptr %divergence_at, align 8
  br label %again_or_not
again_or_not:
  %some = icmp ne i32 %waiting2, 0
  br i1 %some, label %again, label %next_workgroup
again:
  %number_next = add i64 %number, 1
  br label %round

next_workgroup:
  %next_group = add i64 %group, 1
  %more = icmp ult i64 %next_group, %last
  br i1 %more, label %workgroup, label %finished

failure:
  %left64 = sext i32 %left to i64
  ret i64 %left64
finished:
  ret i64 0
}}
"""

ROUTINES = {
    "run": Routine(
        _RUN,
        (),
        (
            "declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)",
            "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)",
        ),
    )
}
