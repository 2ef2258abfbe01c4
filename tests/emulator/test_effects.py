"""What each instruction reads, writes and must wait for; how much of a kernel is supported."""

from __future__ import annotations

import pytest

from kbserver.emulator.effects import effects
from kbserver.emulator.support import known_mnemonics, survey
from kbserver.toolchain.assembly import parse_assembly
from tests.emulator.harness import kernel_text, load


@pytest.mark.parametrize(
    ("line", "reads", "writes", "counter"),
    [
        ("v_fmac_f32_e32 v1, s2, v3", ["s2", "v3", "v1"], ["v1"], None),
        ("v_addc_co_u32_e32 v1, vcc, v2, v3, vcc", ["v2", "v3", "vcc"], ["v1", "vcc"], None),
        ("v_add_f64 v[0:1], v[2:3], 1.0", ["v[2:3]"], ["v[0:1]"], None),
        ("s_addc_u32 s4, s5, 7", ["s5", "src_scc"], ["s4", "src_scc"], None),
        ("s_and_saveexec_b64 s[0:1], vcc", ["vcc", "exec"], ["s[0:1]", "exec", "src_scc"], None),
        ("v_pk_fma_f32 v[0:1], v[2:3], v[4:5], v[0:1]", ["v[2:3]", "v[4:5]", "v[0:1]"], ["v[0:1]"], None),
        ("ds_read_b64 v[4:5], v2", ["v2"], ["v[4:5]"], "lgkmcnt"),
        ("ds_write_b32 v2, v3", ["v2", "v3"], [], "lgkmcnt"),
        ("global_load_dwordx2 v[4:5], v2, s[0:1]", ["v2", "s[0:1]"], ["v[4:5]"], "vmcnt"),
        ("global_store_dword v[2:3], v4, off", ["v[2:3]", "v4"], [], "vmcnt"),
        ("s_load_dwordx4 s[4:7], s[0:1], 0x0", ["s[0:1]"], ["s[4:7]"], "lgkmcnt"),
        ("v_writelane_b32 v1, s3, 5", ["v1", "s3"], ["v1"], None),
        ("v_mfma_f32_4x4x4_16b_f16 a[0:3], v[0:1], v[2:3], a[0:3]", ["v[0:1]", "v[2:3]", "a[0:3]"], ["a[0:3]"], None),
        ("s_waitcnt vmcnt(0)", [], [], None),
    ],
)
def test_effects(line: str, reads: list[str], writes: list[str], counter: str | None) -> None:
    kernel = load(line)
    found = effects(kernel.code[0], kernel.rows[0])
    names = {"scc": "src_scc"}
    assert [names.get(str(r), str(r)) for r in found.reads] == reads
    assert [names.get(str(r), str(r)) for r in found.writes] == writes
    assert found.counter == counter


def test_survey_counts_unsupported_mnemonics() -> None:
    text = kernel_text("v_mov_b32_e32 v0, 1\nv_frobnicate_b32 v1, v2\nv_frobnicate_b32_e64 v1, v2\ns_quux s1")
    (function,) = parse_assembly(text).kernels
    support = survey(function)
    assert (support.supported, support.total, support.complete) == (2, 5, False)
    assert str(support) == "2 of 5 instructions supported; not: s_quux (1), v_frobnicate_b32 (2)"


def test_known_mnemonics_have_no_encoding_suffix() -> None:
    names = known_mnemonics()
    assert "v_fmac_f32" in names
    assert not [name for name in names if name.endswith(("_e32", "_e64", "_sdwa", "_dpp"))]
