"""The interpreter's account of matrix operations and the translator's agree bit by bit on random bits."""

from __future__ import annotations

import numpy as np
import pytest

from kbserver.emulator.oracle.mfma import MATRIX
from kbserver.emulator.oracle.state import AddressSpace, Wavefront
from kbserver.emulator.semantics import table
from kbserver.isa.table import instructions
from tests.emulator.harness import fresh_wave, load, run

_FORMS = {name for name in table() if name.startswith(("v_mfma_", "v_smfmac_"))}


def test_the_interpreter_knows_every_form_of_the_translator() -> None:
    assert MATRIX.keys() == _FORMS


def _line(name: str, modifiers: str) -> str:
    one = instructions().get(name)
    assert one is not None
    operands, register = [], 0
    narrow = {"cbsz:4": "src0", "blgp:4": "src1"}
    for word in one.forms[0].operands:
        operand, _, kinds = word.partition(":")
        counts = [int(number) for number in kinds.partition("%")[0].lstrip("vasc").split("/")]
        small = any(text in modifiers and operand == side for text, side in narrow.items())
        count = counts[0] if small else counts[-1]
        operands.append(f"v{register}" if count == 1 else f"v[{register}:{register + count - 1}]")
        register += count + count % 2
    return f"{name} {', '.join(operands)} {modifiers}"


def _compare(line: str, arch: str) -> None:
    rng = np.random.default_rng(5)
    wave = fresh_wave()
    wave.vgprs[:] = rng.integers(0, 2**32, wave.vgprs.shape)
    copy = Wavefront([row.tolist() for row in wave.vgprs], [], bytearray(), AddressSpace([]), arch=arch)
    run(line, wave, arch=arch)
    (d, _) = load(line, arch).code
    MATRIX[d.name](copy, d)
    target = d.operands[0].register
    assert target is not None
    got, wanted = wave.vgprs, np.array(copy.vgprs, np.uint32)
    if "_i32_" in d.name:
        assert np.array_equal(got, wanted)
        return
    number = np.float64 if "_f64_" in d.name else np.float32
    rows = [array[target.index : target.index + target.count].T.copy().view(number) for array in (got, wanted)]
    assert np.array_equal(*rows, equal_nan=True)
    assert not np.isnan(rows[0]).all()


@pytest.mark.parametrize(
    ("name", "modifiers", "arch"),
    [
        ("v_mfma_f32_4x4x4_16b_bf16", "cbsz:3 abid:5", "gfx942"),
        ("v_mfma_f32_16x16x1_4b_f32", "blgp:3", "gfx942"),
        ("v_mfma_f32_16x16x16_f16", "", "gfx942"),
        ("v_mfma_f32_16x16x8_xf32", "", "gfx942"),
        ("v_mfma_f32_16x16x32_bf8_fp8", "", "gfx942"),
        ("v_mfma_f32_32x32x16_fp8_bf8", "", "gfx950"),
        ("v_mfma_i32_32x32x4_2b_i8", "cbsz:1 abid:1 blgp:2", "gfx942"),
        ("v_mfma_i32_16x16x64_i8", "", "gfx950"),
        ("v_mfma_f64_16x16x4_f64", "neg:[1,0,1]", "gfx942"),
        ("v_mfma_f64_4x4x4_4b_f64", "", "gfx950"),
        ("v_mfma_f32_32x32x2bf16", "blgp:6", "gfx90a"),
        ("v_mfma_f32_16x16x128_f8f6f4", "cbsz:4", "gfx950"),
        ("v_mfma_scale_f32_16x16x128_f8f6f4", "op_sel:[1,0,0] op_sel_hi:[0,1,0] blgp:4", "gfx950"),
        ("v_smfmac_f32_16x16x32_bf16", "abid:2", "gfx942"),
        ("v_smfmac_f32_16x16x64_f16", "", "gfx950"),
        ("v_smfmac_i32_32x32x32_i8", "abid:1", "gfx942"),
        ("v_smfmac_f32_16x16x128_bf8_fp8", "", "gfx950"),
    ],
)
def test_both_accounts_give_the_same_bits(name: str, modifiers: str, arch: str) -> None:
    _compare(_line(name, modifiers), arch)
