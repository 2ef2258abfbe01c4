"""Sparse matrix operations: A, expanded by its index registers, times B in NumPy, on the published lane maps."""

from __future__ import annotations

import numpy as np
import pytest

from kbserver.core.errors import UnsupportedInstruction
from kbserver.isa.table import TARGETS, instructions
from tests.emulator import matrices
from tests.emulator.harness import fresh_wave, run
from tests.emulator.matrices import A, B, D, X

# Rows, K -> elements of A in a lane, by element bits. Each lane's pairs stand for four neighbouring k each.
_A_ELEMENTS = {
    16: {(16, 32): 4, (32, 16): 4, (16, 64): 8, (32, 32): 8},
    8: {(16, 64): 8, (32, 32): 8, (16, 128): 16, (32, 64): 16},
}
_REFUSED = {"v_smfmac_i32_16x16x128_i8", "v_smfmac_i32_32x32x64_i8"}


def _sparse() -> list[tuple[str, str]]:
    found = [instructions().get(name) for name in instructions().names if name.startswith("v_smfmac_")]
    return [(one.name, arch) for one in found if one for arch in TARGETS if arch in one.targets]


class Problem:
    """A compressed A with random pairs of selectors, dense B, and D, in registers."""

    def __init__(self, name: str, arch: str, index_set: int = 0) -> None:
        self.name, self.arch = name, arch
        self.kind, self.m, _, self.k, a_kind, b_kind = matrices.parse(name)
        bits = matrices.BITS[a_kind]
        self.per_lane = _A_ELEMENTS[bits][self.m, self.k]
        self.wide = self.per_lane * bits == 128
        rng = np.random.default_rng(len(name))
        kept = self.k // 2
        self.a = matrices.draw(rng, a_kind, (1, self.m, kept), arch)
        self.b = matrices.draw(rng, b_kind, (1, self.m, self.k), arch)
        self.d = rng.integers(-99, 100, (1, self.m, self.m)) / (1 if self.kind == "i32" else 4)
        self.selectors = np.array([rng.permutation(4)[:2] for _ in range(self.m * kept // 2)]).reshape(self.m, kept)
        self.wave = fresh_wave(exec_=0xF0)
        in_a_row = matrices.along_k(self.m, kept, 1)
        b_where = matrices.in_halves(self.m, self.k, 128 // bits) if self.wide else matrices.along_k(self.m, self.k, 1)
        matrices.place(self.wave, A, matrices.encode(self.a, a_kind, arch), bits, in_a_row)
        matrices.place(self.wave, B, matrices.encode(self.b, b_kind, arch), bits, b_where)
        matrices.write_results(self.wave, D, self.d, self.kind)
        self.write_index(rng, index_set)
        self.dwords = (self.per_lane * bits // 32, self.per_lane * bits // 16, self.m * self.m // 64)

    def write_index(self, rng: np.random.Generator, index_set: int) -> None:
        words = [int(word) for word in rng.integers(0, 2**32, 64)]
        where = matrices.along_k(self.m, self.k // 2, 1)
        for (row, c), selector in np.ndenumerate(self.selectors):
            lane, element = where(0, row, c)
            bit = 2 * (index_set * self.per_lane + element)
            words[lane] = words[lane] & ~(3 << bit) | int(selector) << bit
        self.wave.vgprs[X] = words

    def expected(self) -> np.ndarray:
        """Return D + A B with A written out."""
        whole = np.zeros((1, self.m, self.k))
        for (row, c), selector in np.ndenumerate(self.selectors):
            whole[0, row, c // 2 * 4 + selector] = self.a[0, row, c]
        return np.einsum("xik,xjk->xij", whole, self.b) + self.d

    def run(self, modifiers: str = "") -> np.ndarray:
        a, b, d = (matrices.registers(r, n) for r, n in zip((A, B, D), self.dwords, strict=True))
        run(f"{self.name} {d}, {a}, {b}, v{X} {modifiers}", self.wave, arch=self.arch)
        return matrices.read_results(self.wave, D, (1, self.m, self.m), self.kind)


@pytest.mark.parametrize(("name", "arch"), [pair for pair in _sparse() if pair[0] not in _REFUSED])
def test_every_sparse_form_is_the_product_with_the_expanded_matrix(name: str, arch: str) -> None:
    problem = Problem(name, arch)
    assert np.array_equal(problem.run(), problem.expected())


def test_the_forms_are_all_of_them() -> None:
    counts = {arch: sum(target == arch for _, target in _sparse()) for arch in TARGETS}
    assert counts == {"gfx90a": 0, "gfx942": 14, "gfx950": 28}
    assert {name for name, _ in _sparse()} >= _REFUSED


@pytest.mark.parametrize(
    ("name", "index_set", "modifiers"),
    [
        ("v_smfmac_f32_16x16x32_f16", 3, "abid:3"),
        ("v_smfmac_f32_32x32x16_bf16", 1, "abid:1"),
        ("v_smfmac_f32_16x16x32_f16", 0, "cbsz:1 abid:3"),
        ("v_smfmac_i32_16x16x64_i8", 1, "abid:1"),
        ("v_smfmac_f32_32x32x32_fp8_bf8", 0, "cbsz:2 abid:1"),
        ("v_smfmac_f32_16x16x64_f16", 0, "cbsz:1 abid:3"),
    ],
)
def test_abid_chooses_the_index_set_while_cbsz_is_zero(name: str, index_set: int, modifiers: str) -> None:
    problem = Problem(name, "gfx950", index_set)
    assert np.array_equal(problem.run(modifiers), problem.expected())


def test_both_elements_of_a_pair_may_stand_at_one_k() -> None:
    problem = Problem("v_smfmac_f32_16x16x32_f16", "gfx942")
    problem.wave.vgprs[X] = 0
    whole = np.zeros((1, 16, 32))
    whole[:, :, ::4] = problem.a[:, :, ::2] + problem.a[:, :, 1::2]
    assert np.array_equal(problem.run(), np.einsum("xik,xjk->xij", whole, problem.b) + problem.d)


# One-hot probes of v_smfmac_f32_16x16x64_f16 on a gfx950: (slot of A, its lane group, row) -> (slot of B, its lane
# group), with index 0x4444 in even lanes and 0xEEEE in odd ones. Recorded in the notes of a matrix kernel.
@pytest.mark.parametrize(
    ("a_slot", "a_group", "row", "b_slot", "b_group"),
    [
        (0, 0, 0, 0, 0), (0, 1, 0, 0, 2), (0, 2, 0, 8, 0), (0, 3, 1, 10, 2), (1, 1, 1, 3, 2), (2, 0, 0, 4, 0),
        (3, 3, 0, 13, 2), (4, 0, 0, 0, 1), (4, 2, 1, 10, 1), (5, 1, 0, 1, 3), (6, 3, 0, 12, 3), (7, 3, 1, 15, 3),
    ],
)  # fmt: skip
def test_slots_of_a_meet_the_slots_of_b_that_the_hardware_pairs(
    a_slot: int, a_group: int, row: int, b_slot: int, b_group: int
) -> None:
    wave = fresh_wave()
    one = 0x3C00
    wave.vgprs[X] = [0x4444, 0xEEEE] * 32
    wave.vgprs[A + a_slot // 2, a_group * 16 + row] = one << 16 * (a_slot % 2)
    wave.vgprs[B + b_slot // 2, b_group * 16] = one << 16 * (b_slot % 2)
    run(f"v_smfmac_f32_16x16x64_f16 v[{D}:{D + 3}], v[{A}:{A + 3}], v[{B}:{B + 7}], v{X}", wave)
    assert wave.vgprs[D : D + 4].view(np.float32)[row, 0] == 1.0
    assert wave.vgprs[D : D + 4].view(np.float32).sum() == 1.0


@pytest.mark.parametrize(
    ("line", "arch", "why"),
    [
        ("v_smfmac_i32_16x16x128_i8 v[0:3], v[4:7], v[8:15], v16", "gfx950", "v_smfmac_i32_16x16x128_i8"),
        ("v_smfmac_f32_16x16x64_f16 v[0:3], v[4:7], v[8:15], v16 abid:1", "gfx950", "no source tells the index sets"),
        ("v_smfmac_f32_16x16x64_f16 v[0:3], v[4:7], v[8:15], v16", "gfx942", "does not have this form"),
        ("v_smfmac_i32_16x16x64_i8 v[0:3], v[4:5], v[8:11], v16 abid:2", "gfx942", "holds 2 sets"),
    ],
)
def test_what_no_source_settles_is_refused_by_name(line: str, arch: str, why: str) -> None:
    with pytest.raises(UnsupportedInstruction, match=why):
        run(line, fresh_wave(), arch=arch)
