"""Static instruction mix: every instruction has one class, decided by a table, and unknown ones are counted as such."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from kbserver.toolchain.assembly import Function, Instruction

# Exact names first, then the longest prefix that fits. Classes follow the units of the CDNA ISA guides.
_EXACT = {
    "s_barrier": "barrier",
    "s_nop": "nop",
    "v_nop": "nop",
    "s_sleep": "nop",
    "s_branch": "branch",
    "s_setpc_b64": "branch",
    "s_swappc_b64": "branch",
    "s_call_b64": "branch",
    "s_rfe_b64": "branch",
    "s_memtime": "SMEM",
    "s_memrealtime": "SMEM",
    "s_endpgm": "control",
    "s_endpgm_saved": "control",
    "s_setprio": "control",
    "s_sethalt": "control",
    "s_setkill": "control",
    "s_trap": "control",
    "s_sendmsg": "control",
    "s_sendmsghalt": "control",
    "s_icache_inv": "control",
    "s_inst_prefetch": "control",
    "s_ttracedata": "control",
    "s_incperflevel": "control",
    "s_decperflevel": "control",
    "buffer_wbl2": "cache",
    "buffer_inv": "cache",
    "buffer_invl2": "cache",
    "buffer_wbinvl1": "cache",
    "buffer_wbinvl1_vol": "cache",
}
_PREFIXES = {
    "s_": "SALU",
    "s_load_": "SMEM",
    "s_store_": "SMEM",
    "s_buffer_": "SMEM",
    "s_scratch_": "SMEM",
    "s_atomic_": "SMEM",
    "s_dcache_": "SMEM",
    "s_atc_": "SMEM",
    "s_waitcnt": "waitcnt",
    "s_cbranch_": "branch",
    "v_": "VALU",
    "v_mfma_": "MFMA",
    "v_smfmac_": "MFMA",
    "ds_": "LDS",
    "ds_gws_": "GWS",
    "global_": "global",
    "buffer_": "buffer",
    "tbuffer_": "buffer",
    "flat_": "flat",
    "scratch_": "scratch",
}
CLASSES = tuple(dict.fromkeys([*_PREFIXES.values(), *_EXACT.values(), "unknown"]))
_BY_LENGTH = sorted(_PREFIXES, key=len, reverse=True)
_ENCODINGS = ("_e64_dpp", "_e32", "_e64", "_dpp", "_sdwa")


def base_mnemonic(mnemonic: str) -> str:
    """Return the instruction's name without the suffix of its encoding (`v_fmac_f32_e32` is v_fmac_f32)."""
    for suffix in _ENCODINGS:
        if mnemonic.endswith(suffix):
            return mnemonic[: -len(suffix)]
    return mnemonic


def classify(mnemonic: str) -> str:
    """Return the class of an instruction, "unknown" when the table has none."""
    name = base_mnemonic(mnemonic)
    if name in _EXACT:
        return _EXACT[name]
    return next((_PREFIXES[prefix] for prefix in _BY_LENGTH if name.startswith(prefix)), "unknown")


def count_classes(instructions: Iterable[Instruction]) -> dict[str, int]:
    """Return class -> number of instructions, most frequent first."""
    return dict(Counter(classify(instruction.mnemonic) for instruction in instructions).most_common())


def count_mnemonics(instructions: Iterable[Instruction], limit: int | None = None) -> dict[str, int]:
    """Return base mnemonic -> number of instructions, most frequent first; ties in order of name."""
    counts = Counter(base_mnemonic(instruction.mnemonic) for instruction in instructions)
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0]))[:limit])


_ENDS = frozenset(("s_endpgm", "s_endpgm_saved", "s_setpc_b64"))
"""After these, control does not go on to the next instruction."""


@dataclass(frozen=True)
class Loop:
    """A loop: the instructions from the target of a backward branch to that branch, both included."""

    label: str
    start: int
    end: int
    """Indices into the function's instructions; `end` is the branch."""
    depth: int
    """1 for a loop in no other."""
    innermost: bool

    def body(self, instructions: Sequence[Instruction]) -> Sequence[Instruction]:
        return instructions[self.start : self.end + 1]


def find_loops(function: Function) -> list[Loop]:
    """Return the loops of a function in order of their start.

    Several branches to one label are one loop. A block that the compiler moved out of line belongs to the span. A jump
    back to code that never comes here again, such as the kernel's end, is none.
    """
    spans: dict[tuple[str, int], int] = {}
    reached: dict[int, frozenset[int]] = {}
    for index, instruction in enumerate(function.instructions):
        if classify(instruction.mnemonic) != "branch" or not instruction.operands:
            continue
        label = instruction.operands[0]
        start = function.labels.get(label)
        if start is not None and start <= index:
            if start not in reached:
                reached[start] = _reachable(function, start)
            if index in reached[start]:
                spans[label, start] = index
    loops = []
    for (label, start), end in sorted(spans.items(), key=lambda item: (item[0][1], -item[1])):
        others = [(s, e) for (_, s), e in spans.items() if (s, e) != (start, end)]
        around = sum(s <= start and end <= e for s, e in others)
        innermost = not any(start <= s and e <= end for s, e in others)
        loops.append(Loop(label, start, end, around + 1, innermost))
    return loops


def _reachable(function: Function, start: int) -> frozenset[int]:
    """Return the indices of the instructions to which control can come from `start`, itself included."""
    found: set[int] = set()
    waiting = [start]
    while waiting:
        index = waiting.pop()
        while index < len(function.instructions) and index not in found:
            found.add(index)
            instruction = function.instructions[index]
            if instruction.mnemonic in _ENDS:
                break
            if classify(instruction.mnemonic) == "branch" and instruction.operands:
                target = function.labels.get(instruction.operands[0])
                if target is not None:
                    waiting.append(target)
                if instruction.mnemonic == "s_branch":
                    break
            index += 1
    return frozenset(found)


def hot_loop(function: Function) -> Loop | None:
    """Return the innermost loop with the most instructions; how often it runs is not in the text."""
    return max(
        (loop for loop in find_loops(function) if loop.innermost),
        key=lambda loop: (loop.end - loop.start, -loop.start),
        default=None,
    )
