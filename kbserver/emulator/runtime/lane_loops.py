"""Text of loops over lanes, shared by the memory routines: a plain loop when all 64 lanes take part, else a loop over
the set bits of the mask."""

from __future__ import annotations

CTTZ = "declare i64 @llvm.cttz.i64(i64, i1)"


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
