"""Scaled conversions equal the oracle's steps for every choice of parts, and worked examples hold."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from kbserver.core.errors import UnsupportedInstruction
from kbserver.emulator.oracle.formats import is_nan
from kbserver.emulator.oracle.scaled import SCALED
from kbserver.emulator.oracle.state import AddressSpace, Wavefront
from kbserver.emulator.wave import WaveState
from tests.emulator.batches import make_wave
from tests.emulator.harness import EXEC, fresh_wave, lanes, load, run
from tests.toolchain.clang import assembles, needs_clang


def _forms(name: str) -> list[str]:
    """Return operands and modifiers after the destination; sources are v0.., v16.., the scale v8."""
    words = name.split("_")
    if "pk32" in words or "2xpk16" in words:
        narrow = words[-1] in ("f32", "f16", "bf16")
        if words[-1] == "f32":
            return ["v[60:65], v[64:79], v[80:95], v8"]
        return (
            ["v[60:65], v[64:79], v8"] if narrow else [f"v[60:{59 + (32 if 'f32' in words[4] else 16)}], v[96:101], v8"]
        )
    pair = "v[60:61]" if words[3:5] == ["pk", "f32"] else "v60"
    if words[-1] in ("f32", "f16", "bf16"):
        sources = "v0, -v16, v8" if words[-1] == "f32" else "v16, v8"
        last = ["op_sel:[0,0,1,0]", "op_sel:[0,0,1,1]"] if words[-2] == "fp4" else []
        if words[-2] != "fp4":
            last = ["op_sel:[0,0,0,1]" if words[-1] == "f32" else "op_sel:[0,0,1]"]
        return [f"{pair}, {sources} {form}".rstrip() for form in ["", *last]]
    selections = ["", "op_sel:[1,0,0]"]
    if words[-1] == "fp4" or words[3] != "pk":
        selections += ["op_sel:[0,1,0]", "op_sel:[1,1,0]"]
    if words[3] == "f16":
        selections.append("op_sel:[1,0,1]")
    return [f"{pair}, v16, v8 {form}".rstrip() for form in selections]


_LINES = {name: [f"{name} {form}" for form in _forms(name)] for name in sorted(SCALED)}


def _wave(seed: int) -> WaveState:
    """Return random codes and numbers, with scales from the ends and the middle of their range."""
    wave = make_wave("near", seed)
    rng = np.random.default_rng(seed)
    wave.vgprs[16] = rng.integers(0, 1 << 32, 64, dtype=np.uint32)
    wave.vgprs[64:96] = (rng.standard_normal((32, 64)) * 3).astype(np.float32).view(np.uint32)
    wave.vgprs[64, :8] = [0x7F800000, 0xFF800000, 0x7FC00000, 0x80000000, 1, 0x7F7FFFFF, 0x3E800000, 0x3E000000]
    fields = rng.choice([0, 1, 100, 124, 125, 126, 127, 128, 129, 130, 140, 254, 255], 64)
    wave.vgprs[8] = (fields.astype(np.uint32) << np.uint32(23)) | (wave.vgprs[16] & np.uint32(0x7FFFFF))
    return wave


def _same(name: str, got: np.ndarray, want: np.ndarray) -> bool:
    """Return whether dwords are equal, any NaN being equal to any."""
    wide = name.split("_")[3 if name.split("_")[3] in ("f32", "f16") else 4]
    for a, b in zip(got.ravel().tolist(), want.ravel().tolist(), strict=True):
        if a == b:
            continue
        size = 32 if wide == "f32" else 16
        parts = [(a >> at & (1 << size) - 1, b >> at & (1 << size) - 1) for at in range(0, 32, size)]
        if wide not in ("f32", "f16", "bf16") or not all(
            x == y or all(is_nan(z, size, bfloat=wide == "bf16") for z in (x, y)) for x, y in parts
        ):
            return False
    return True


@pytest.mark.parametrize("name", sorted(SCALED))
def test_scaled_conversion_equals_the_oracle(name: str) -> None:
    wrong = []
    for seed in (1, 2):
        for line in _LINES[name]:
            wave = _wave(seed)
            oracle = Wavefront(wave.vgprs.tolist(), wave.sgprs.tolist(), bytearray(), AddressSpace([]))
            before = wave.copy()
            run(line, wave)
            SCALED[name](oracle, load(line).code[0])
            want = np.array(oracle.vgprs, np.uint32)
            if not _same(name, wave.vgprs, want):
                place = np.argwhere(wave.vgprs != want)[0].tolist()
                wrong.append(f"{line}: v{place[0]} lane {place[1]}: {wave.vgprs[*place]:#x}, not {want[*place]:#x}")
            assert 0 < before.pair(EXEC) < (1 << 64) - 1
    assert wrong == []


@needs_clang
def test_the_assembler_accepts_every_tested_line(tmp_path: Path) -> None:
    assert assembles("\n".join(line for lines in _LINES.values() for line in lines) + "\n", "gfx950", tmp_path) == ""


# 2^1 as scale: 12 / 2 is fp4's largest number 6, and 5 lies half way between 4 and 6: the even code is 4's.
def test_fp4_by_hand() -> None:
    wave = fresh_wave()
    wave.vgprs[0], wave.vgprs[1], wave.vgprs[2] = lanes(0x41400000), lanes(0x41200000), lanes(0x40000000)
    run("v_cvt_scalef32_pk_fp4_f32 v3, v0, v1, v2", wave)
    assert int(wave.vgprs[3, 0]) & 0xFF == 0x67
    run("v_cvt_scalef32_pk_f32_fp4 v[4:5], v3, v2", wave)
    assert wave.vgprs[4:6, 0].view(np.float32).tolist() == [12.0, 8.0]


def test_other_targets_are_refused() -> None:
    with pytest.raises(UnsupportedInstruction, match="gfx942 has no scaled conversions"):
        run("v_cvt_scalef32_f32_fp8 v0, v1, v2", fresh_wave(), arch="gfx942")
