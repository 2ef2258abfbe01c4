"""v_fma_mix and its f16 forms equal the oracle's step for every choice of halves, signs and magnitudes."""

from __future__ import annotations

import pytest

from kbserver.core.errors import UnsupportedInstruction
from kbserver.emulator.oracle.mixed import MIXED
from kbserver.emulator.oracle.state import AddressSpace, Wavefront
from tests.emulator.batches import make_wave, same
from tests.emulator.harness import EXEC, fresh_wave, lanes, load, run
from tests.emulator.numbers import KINDS

_FORMS = (
    "v0, v8, v16",
    "v0, v8, v16 op_sel_hi:[1,1,1]",
    "v0, v8, v16 op_sel:[1,0,1] op_sel_hi:[1,1,1]",
    "-v0, |v8|, -|v16| op_sel:[0,1,0] op_sel_hi:[1,1,0]",
    "v0, -v8, v16 op_sel:[0,0,1] op_sel_hi:[0,0,1]",
    "1.0, v8, s2 op_sel_hi:[0,1,1]",
)


@pytest.mark.parametrize("name", sorted(MIXED))
@pytest.mark.parametrize("kind", KINDS)
def test_mixed_multiply_add_equals_the_oracle(name: str, kind: str) -> None:
    lines = [f"{name} v{40 + number}, {form}" for number, form in enumerate(_FORMS)]
    after = make_wave(kind, 1)
    before = after.copy()
    oracle = Wavefront(before.vgprs.tolist(), before.sgprs.tolist(), bytearray(), AddressSpace([]))
    run("\n".join(lines), after)
    for d in load("\n".join(lines)).code[:-1]:
        MIXED[name](oracle, d)
    wrong = []
    words = ["f32"] if name == "v_fma_mix_f32" else ["f16", "f16"]
    for register in range(40, 40 + len(lines)):
        for lane in range(64):
            got, want = int(after.vgprs[register, lane]), oracle.vgprs[register][lane]
            size = 32 // len(words)
            parts = ((got >> at & (1 << size) - 1, want >> at & (1 << size) - 1) for at in range(0, 32, size))
            if not all(same(words[0], a, b) for a, b in parts):
                wrong.append(f"{lines[register - 40]} lane {lane}: {got:#x}, not {want:#x}")
    assert wrong == []
    assert 0 < before.pair(EXEC) < (1 << 64) - 1


def test_mixhi_keeps_the_low_half_and_clamps() -> None:
    wave = fresh_wave()
    wave.vgprs[0] = 0xAAAABBBB
    wave.vgprs[1] = lanes(0x40000000)  # 2.0
    run("v_fma_mixhi_f16 v0, v1, v1, 1.0 clamp", wave)
    assert int(wave.vgprs[0, 5]) == 0x3C00BBBB
    run("v_fma_mixhi_f16 v0, v1, v1, 1.0", wave)
    assert int(wave.vgprs[0, 5]) == 0x4500BBBB


def test_a_constant_as_f16_source_is_refused() -> None:
    with pytest.raises(UnsupportedInstruction, match="a constant as an f16 source"):
        run("v_fma_mix_f32 v0, 1.0, v1, v2 op_sel_hi:[1,0,0]", fresh_wave())
