"""Basic blocks of a kernel: where control can arrive, and which instructions it can reach."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from kbserver.emulator.decode import Decoded, unsupported
from kbserver.emulator.linking import Entries, targets
from kbserver.emulator.rows import Flow, Row


@dataclass(frozen=True)
class Block:
    """Instructions [start, end). `resumes`: a wavefront comes back here after a barrier."""

    start: int
    end: int
    resumes: bool

    @property
    def label(self) -> str:
        return f"at{self.start}"


def find_blocks(
    code: Sequence[Decoded], rows: Sequence[Row], labels: Mapping[str, int], entries: Entries
) -> list[Block]:
    """Return the reachable blocks in program order; `entries` are where a computed jump may go.

    Raises UnsupportedInstruction for a jump to a label that the kernel lacks or past its end.
    """
    starts, resumes = {0}, set()
    work = [0]
    ends: dict[int, int] = {}
    while work:
        start = work.pop()
        position = start
        while position < len(code) and not isinstance(rows[position], Flow):
            position += 1
        if position == len(code):
            raise unsupported(code[-1].instruction, "the code runs past the end of the kernel")
        ends[start] = position + 1
        row = rows[position]
        assert isinstance(row, Flow)
        following = targets(code[position], labels, entries, row.kind)
        if row.kind == "barrier":
            resumes.add(position + 1)
        for target in following:
            if target >= len(code):
                raise unsupported(code[position].instruction, "control leaves the kernel's code")
            if target not in starts:
                starts.add(target)
                work.append(target)
    return _cut(ends, starts, resumes)


def _cut(ends: Mapping[int, int], starts: set[int], resumes: set[int]) -> list[Block]:
    """A block that runs over another's start ends there and falls through."""
    ordered = sorted(starts)
    blocks = []
    for place, start in enumerate(ordered):
        limit = ordered[place + 1] if place + 1 < len(ordered) else ends[start]
        blocks.append(Block(start, min(ends[start], limit), start in resumes))
    return blocks
