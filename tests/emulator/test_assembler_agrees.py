"""The assembler accepts every line that the row tests run: mnemonics exist and operands stand in its order."""

from __future__ import annotations

import re
from pathlib import Path

from kbserver.emulator.oracle import rules
from tests.emulator.batches import scalar_cases, vector_case
from tests.emulator.test_packed_rows import _cases, _line
from tests.toolchain.clang import assembles, needs_clang

# Written for another operand file, or with a literal that the tests give as a register.
_OTHER_OPERANDS = {
    *("v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32"),
    *("v_fmaak_f32", "v_fmamk_f32", "v_madak_f32", "v_madmk_f32"),
}


def _lines() -> list[str]:
    lines = []
    for name, rule in rules().items():
        if name in _OTHER_OPERANDS:
            continue
        if name.startswith("s_"):
            lines += [case.lines[1] for case, _ in scalar_cases(name, rule, 16)]
        elif not rule.packed:
            suffix = " bitop3:0x36" if "bitop3" in name else ""
            # VOPC and VOP2 carries are tested in their 64-bit encoding, whose mask is any SGPR pair.
            text = vector_case(name, rule, 40, 20, suffix).lines[0]
            head, _, rest = text.partition(" ")
            lines.append(f"{head}_e64 {rest}" if "s[" in rest and head.startswith(("v_cmp", "v_cndmask")) else text)
    return lines + [_line(*case) for case in _cases()]


@needs_clang
def test_every_tested_line_is_accepted_for_some_target(tmp_path: Path) -> None:
    refused: set[str] | None = None
    lines = _lines()
    for arch in ("gfx950", "gfx942", "gfx90a"):
        complaints = assembles("\n".join(lines) + "\n", arch, tmp_path)
        numbers = {int(n) for n in re.findall(r"kernel\.s:(\d+):\d+: error", complaints)}
        bad = {lines[n - 1] for n in numbers}
        refused = bad if refused is None else refused & bad
    assert sorted(refused or ()) == []


@needs_clang
def test_assembler_check_can_fail(tmp_path: Path) -> None:
    assert "error" in assembles("v_add_u32 v0, v1\n", "gfx950", tmp_path)
