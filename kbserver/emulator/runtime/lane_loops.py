"""Text of loops over lanes, shared by the memory routines: a plain loop when all 64 lanes take part, else a loop over
the set bits of the mask. And a value in every lane."""

from __future__ import annotations

CTTZ = "declare i64 @llvm.cttz.i64(i64, i1)"
_WIDE = "<64 x i64>"


def spread(name: str, value: str) -> str:
    """Return lines that put an i64 into every lane of %<name>."""
    return f"""  %{name}_one = insertelement {_WIDE} poison, i64 {value}, i64 0
  %{name} = shufflevector {_WIDE} %{name}_one, {_WIDE} poison, <64 x i32> zeroinitializer"""


def over_lanes(mask: str, body: str, prefix: str, done: str) -> str:
    """Return blocks that run `body` for every lane of `mask` (an i64), then go to `done`.

    The body is straight-line text that uses `{lane}`, the lane's number as an i64, and `{n}` to keep its names apart.
    Control enters at the block `<prefix>`.
    """
    full = body.format(lane=f"%{prefix}_i", n=f"{prefix}_full")
    some = body.format(lane=f"%{prefix}_lane", n=f"{prefix}_some")
    return f"""{prefix}:
  %{prefix}_all = icmp eq i64 {mask}, -1
  %{prefix}_none = icmp eq i64 {mask}, 0
  br i1 %{prefix}_all, label %{prefix}_full, label %{prefix}_check
{prefix}_check:
  br i1 %{prefix}_none, label %{done}, label %{prefix}_some
{prefix}_full:
  %{prefix}_i = phi i64 [ 0, %{prefix} ], [ %{prefix}_j, %{prefix}_full ]
{full}
  %{prefix}_j = add i64 %{prefix}_i, 1
  %{prefix}_end = icmp eq i64 %{prefix}_j, 64
  br i1 %{prefix}_end, label %{done}, label %{prefix}_full
{prefix}_some:
  %{prefix}_rest = phi i64 [ {mask}, %{prefix}_check ], [ %{prefix}_after, %{prefix}_some ]
  %{prefix}_lane = call i64 @llvm.cttz.i64(i64 %{prefix}_rest, i1 true)
{some}
  %{prefix}_less = sub i64 %{prefix}_rest, 1
  %{prefix}_after = and i64 %{prefix}_rest, %{prefix}_less
  %{prefix}_over = icmp eq i64 %{prefix}_after, 0
  br i1 %{prefix}_over, label %{done}, label %{prefix}_some
"""


RUN = 8
"""Lanes of a run: when their elements are consecutive in memory they move as one vector."""


def over_runs(mask: str, address_type: str, size: int, lane: str, run: str, prefix: str, done: str) -> str:
    """Return blocks like those of `over_lanes`: `run` moves RUN lanes from `{lane}` on when all of them take part and
    their addresses at %addresses (of `address_type`) are `size` bytes apart, `lane` moves one."""
    vector = f"<64 x {address_type}>"
    firsts = ", ".join(f"i32 {place - place % RUN}" for place in range(64))
    steps = ", ".join(f"{address_type} {place % RUN * size}" for place in range(64))
    whole = run.format(lane=f"%{prefix}_first", n=f"{prefix}_run")
    one = lane.format(lane=f"%{prefix}_lane", n=f"{prefix}_one")
    return f"""{prefix}:
  %{prefix}_where = load {vector}, ptr %addresses, align 64
  %{prefix}_base = shufflevector {vector} %{prefix}_where, {vector} poison, <64 x i32> <{firsts}>
  %{prefix}_next = add {vector} %{prefix}_base, <{steps}>
  %{prefix}_same = icmp eq {vector} %{prefix}_where, %{prefix}_next
  %{prefix}_bits = bitcast <64 x i1> %{prefix}_same to i64
  %{prefix}_fast = and i64 %{prefix}_bits, {mask}
  br label %{prefix}_group
{prefix}_group:
  %{prefix}_first = phi i64 [ 0, %{prefix} ], [ %{prefix}_later, %{prefix}_over ]
  %{prefix}_fast_bits = lshr i64 %{prefix}_fast, %{prefix}_first
  %{prefix}_fast_run = trunc i64 %{prefix}_fast_bits to i{RUN}
  %{prefix}_whole = icmp eq i{RUN} %{prefix}_fast_run, -1
  br i1 %{prefix}_whole, label %{prefix}_run, label %{prefix}_some
{prefix}_run:
{whole}
  br label %{prefix}_over
{prefix}_some:
  %{prefix}_on = lshr i64 {mask}, %{prefix}_first
  %{prefix}_few = and i64 %{prefix}_on, {(1 << RUN) - 1}
  %{prefix}_none = icmp eq i64 %{prefix}_few, 0
  br i1 %{prefix}_none, label %{prefix}_over, label %{prefix}_one
{prefix}_one:
  %{prefix}_rest = phi i64 [ %{prefix}_few, %{prefix}_some ], [ %{prefix}_after, %{prefix}_one ]
  %{prefix}_place = call i64 @llvm.cttz.i64(i64 %{prefix}_rest, i1 true)
  %{prefix}_lane = add i64 %{prefix}_first, %{prefix}_place
{one}
  %{prefix}_less = sub i64 %{prefix}_rest, 1
  %{prefix}_after = and i64 %{prefix}_rest, %{prefix}_less
  %{prefix}_last = icmp eq i64 %{prefix}_after, 0
  br i1 %{prefix}_last, label %{prefix}_over, label %{prefix}_one
{prefix}_over:
  %{prefix}_later = add i64 %{prefix}_first, {RUN}
  %{prefix}_end = icmp eq i64 %{prefix}_later, 64
  br i1 %{prefix}_end, label %{done}, label %{prefix}_group
"""
