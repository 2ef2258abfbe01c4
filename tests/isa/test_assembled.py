"""The tables against an assembler that had no part in making them: the clang inside the pip package ziglang."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from kbserver.isa.table import TARGETS, instructions

needs_clang = pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None,
    reason="SKIPPED LOUDLY: the compiler is not installed (pip install 'kbserver[compile]' brings ziglang)",
)

# Words laid out by hand from the microcode formats of the ISA documents.
BY_HAND = (
    ("s_endpgm", "00 00 81 bf"),
    ("s_nop 0", "00 00 80 bf"),
    ("s_barrier", "00 00 8a bf"),
    ("s_waitcnt vmcnt(0) lgkmcnt(0)", "70 00 8c bf"),
    ("s_waitcnt lgkmcnt(0)", "7f c0 8c bf"),
    ("s_mov_b32 s0, s1", "01 00 80 be"),
    ("s_mov_b32 s0, 1", "81 00 80 be"),
    ("s_mov_b64 s[2:3], exec", "7e 01 82 be"),
    ("s_add_u32 s0, s1, s2", "01 02 00 80"),
    ("s_movk_i32 s5, 0x7fff", "ff 7f 05 b0"),
    ("s_cmp_eq_u32 s1, s2", "01 02 06 bf"),
    ("v_mov_b32 v0, v1", "01 03 00 7e"),
    ("v_mov_b32 v0, 1.0", "f2 02 00 7e"),
    ("v_add_f32 v0, v1, v2", "01 05 00 02"),
    ("v_mul_f32 v3, 2.0, v4", "f4 08 06 0a"),
    ("v_fmac_f32 v0, v1, v2", "01 05 00 76"),
    ("v_lshlrev_b32 v1, 2, v0", "82 00 02 24"),
    ("v_fma_f32 v0, v1, v2, v3", "00 00 cb d1 01 05 0e 04"),
    ("v_exp_f32 v7, v8", "08 41 0e 7e"),
    ("v_readfirstlane_b32 s4, v5", "05 05 08 7e"),
    ("ds_read_b32 v1, v2", "00 00 6c d8 02 00 00 01"),
    ("ds_read_b128 v[4:7], v8 offset:16", "10 00 fe d9 08 00 00 04"),
    ("ds_write_b64 v1, v[2:3]", "00 00 9a d8 01 02 00 00"),
    ("global_load_dwordx4 v[0:3], v[4:5], off", "00 80 5c dc 04 00 7f 00"),
    ("global_store_dword v[0:1], v2, off", "00 80 70 dc 00 02 7f 00"),
    ("buffer_load_dword v1, v2, s[8:11], 0 offen", "00 10 50 e0 02 01 02 80"),
    ("s_load_dwordx2 s[0:1], s[4:5], 0x8", "02 00 06 c0 08 00 00 00"),
    ("v_accvgpr_read_b32 v0, a1", "00 40 d8 d3 01 01 00 18"),
)


def assembled(arch: str, lines: list[str], folder: Path) -> list[str]:
    """Return the bytes of each line in hexadecimal, or its error."""
    source = folder / f"{arch}.s"
    source.write_text("".join(f"L{n}:\n{line}\n" for n, line in enumerate(lines)), "ascii")
    words = f"-cc1as -triple amdgcn-amd-amdhsa -target-cpu {arch} -filetype asm -show-encoding {source} -o -"
    done = subprocess.run(
        [sys.executable, "-m", "ziglang", "clang", *words.split()],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    results = ["nothing"] * len(lines)
    for match in re.finditer(r":(\d+):\d+: error: (.*)", done.stderr):
        results[int(match[1]) // 2 - 1] = match[2]
    for label, code in re.findall(r"^L(\d+):\n\t.*encoding: \[([^\]]*)\]", done.stdout, re.MULTILINE):
        results[int(label)] = code.replace("0x", "").replace(",", " ")
    return results


@needs_clang
@pytest.mark.parametrize("arch", TARGETS)
def test_every_example_of_the_tables_assembles_to_its_bytes(arch: str, tmp_path: Path) -> None:
    forms = [form for one in instructions().all() for form in one.on(arch)]
    got = assembled(arch, [form.syntax for form in forms], tmp_path)
    assert [(form.syntax, found) for form, found in zip(forms, got, strict=True) if found != form.code.hex(" ")] == []
    assert len(forms) > 2700


@needs_clang
@pytest.mark.parametrize("arch", TARGETS)
def test_words_laid_out_by_hand_are_what_the_assembler_gives(arch: str, tmp_path: Path) -> None:
    got = assembled(arch, [line for line, _ in BY_HAND], tmp_path)
    assert dict(zip((line for line, _ in BY_HAND), got, strict=True)) == dict(BY_HAND)


@needs_clang
@pytest.mark.parametrize("arch", TARGETS)
def test_a_name_is_refused_exactly_where_the_tables_lack_it(arch: str, tmp_path: Path) -> None:
    table = instructions()
    everything = [*table.names, *table.alias_names, *table.elsewhere]
    got = assembled(arch, everything, tmp_path)
    refused = {
        name
        for name, found in zip(everything, got, strict=True)
        if found.startswith(("instruction not supported", "invalid instruction"))
    }
    has = {one.name for one in table.all() if arch in one.targets}
    has |= {name for name in table.alias_names if arch in table.alias(name)}
    assert refused == set(everything) - has


@needs_clang
@pytest.mark.parametrize("arch", TARGETS)
def test_aliases_assemble_to_the_bytes_of_their_canonical_name(arch: str, tmp_path: Path) -> None:
    table = instructions()
    pairs = [(name, other) for name in table.alias_names if (other := table.alias(name).get(arch))]
    forms = {name: table.get(other).on(arch)[-1] for name, other in pairs}
    got = assembled(arch, [forms[n].syntax.replace(o, n, 1) for n, o in pairs], tmp_path)
    assert got == [forms[name].code.hex(" ") for name, _ in pairs]
