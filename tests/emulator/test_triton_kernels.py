"""Kernels that Triton compiled: buffers with masked lanes, direct loads, transposed reads, matrix instructions.

The layouts are Triton's: that products come out right supports the lane maps of transposed reads and matrices.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from kbserver.emulator.checks.run import Checker
from kbserver.emulator.kernel import Kernel, load_kernel
from kbserver.emulator.machine import Machine, Outcome
from kbserver.emulator.memory import Buffer, Memory
from kbserver.emulator.profiling import profile
from kbserver.toolchain.assembly import parse_assembly

_FOLDER = Path(__file__).parent.parent / "fixtures" / "triton"
_HIDDEN = [0, 0]
"""Triton's own last arguments, scratch buffers that these kernels do not use."""


def _dynamic_lds(text: str, kernel: Kernel) -> int:
    return int(re.match(r"; shared: (\d+)", text)[1]) - kernel.entry.lds_bytes  # type: ignore[index]


def _launch(name: str, memory: Memory, arguments: list[Buffer | int], grid: tuple[int, int]) -> tuple[Machine, Outcome]:
    text = (_FOLDER / f"{name}.s").read_text("utf-8")
    machine = Machine(load_kernel(parse_assembly(text)))
    outcome = machine.launch(
        memory,
        [*arguments, *_HIDDEN],
        grid=(*grid, 1),
        block=(256, 1, 1),
        dynamic_lds_bytes=_dynamic_lds(text, machine.kernel),
    )
    assert outcome.findings == ()
    assert list(machine.missing_waits) == []
    return machine, outcome


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_histogram(arch: str) -> None:
    x = np.random.default_rng(1).integers(0, 1 << 20, 3000).astype(np.int32)
    memory = Memory()
    bins = memory.buffer("bins", np.zeros(16, np.int32), writable=True)
    machine, outcome = _launch(f"histogram.{arch}", memory, [memory.buffer("x", x), bins, len(x)], (3, 1))
    assert "buffer_atomic_add" in {d.name for d in machine.kernel.code}
    assert np.array_equal(bins.array, np.bincount(x & 15, minlength=16))
    assert outcome.clipped_lanes == 2 * (3 * 1024 - len(x))  # masked at the load and at the sum


def _fp8(codes: np.ndarray, bias: int) -> np.ndarray:
    """Return E4M3 numbers: sign, exponent of 4 bits with this bias, fraction of 3."""
    sign, exponent, fraction = codes >> 7, codes >> 3 & 15, codes & 7
    size = np.where(exponent == 0, fraction / 8 * 2.0 ** (1 - bias), (1 + fraction / 8) * 2.0 ** (exponent - bias))
    return np.where(sign == 1, -size, size)


def _operands(name: str, shape: tuple[int, int], rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return (what lies in memory, the numbers that it means)."""
    if name.startswith("gemm_bf16"):
        raw = (rng.normal(size=shape).astype(np.float32).view(np.uint32) >> 16).astype(np.uint16)
        return raw, (raw.astype(np.uint32) << 16).view(np.float32).astype(np.float64)
    raw = rng.integers(1, 0x78, shape).astype(np.int64) | rng.integers(0, 2, shape) << 7
    return raw.astype(np.uint8), _fp8(raw, 8 if "gfx942" in name else 7)


@pytest.mark.parametrize(
    ("name", "mnemonics"),
    [
        ("gemm_bf16.gfx942", {"buffer_load_dwordx4", "ds_read_u16"}),
        ("gemm_fp8.gfx942", {"buffer_load_dwordx4", "ds_read_u8"}),
        ("gemm_bf16.gfx950", {"buffer_load_dwordx4 lds", "ds_read_b64_tr_b16"}),
        ("gemm_fp8.gfx950", {"buffer_load_dwordx4 lds", "ds_read_b64_tr_b8"}),
    ],
)
def test_matrix_product_with_ragged_edges(name: str, mnemonics: set[str]) -> None:
    m, n, k = 112, 80, 160
    rng = np.random.default_rng(2)
    (a, left), (b, right) = _operands(name, (m, k), rng), _operands(name, (k, n), rng)
    memory = Memory()
    out = memory.output("c", (m, n), np.float32)
    machine, _ = _launch(name, memory, [memory.buffer("a", a), memory.buffer("b", b), out, m, n, k], (2, 2))
    found = {d.name + " lds" * ("lds" in d.modifiers) for d in machine.kernel.code}
    assert mnemonics <= found, sorted(found)
    exact = left @ right
    assert np.abs(out.array - exact).max() <= 1e-5 * np.abs(exact).max()


def _checked(name: str, change: tuple[str, str] = ("", "")) -> set[str]:
    """Return the kinds of what the checks of races and unwritten memory find."""
    text = (_FOLDER / f"{name}.s").read_text("utf-8").replace(*change)
    kernel = load_kernel(parse_assembly(text))
    memory, grid = Memory(), (3, 1, 1)
    if name.startswith("histogram"):
        bins = memory.buffer("bins", np.zeros(16, np.int32), writable=True)
        arguments = [memory.buffer("x", np.arange(3000, dtype=np.int32)), bins, 3000]
    else:
        a, b = memory.buffer("a", np.ones((64, 192), np.uint8)), memory.buffer("b", np.ones((192, 64), np.uint8))
        arguments, grid = [a, b, memory.output("c", (64, 64), np.float32), 64, 64, 192], (1, 1, 1)
    report = Checker(kernel).check(
        memory, [*arguments, *_HIDDEN], grid=grid, block=(256, 1, 1), dynamic_lds_bytes=_dynamic_lds(text, kernel)
    )
    assert report.accesses > 1000 and report.lost == 0
    return {finding.kind for finding in report.findings}


@pytest.mark.parametrize("name", ["histogram.gfx950", "gemm_fp8.gfx950"])
def test_checks_of_races_and_unwritten_memory_find_nothing(name: str) -> None:
    assert _checked(name) == set()


def test_direct_loads_race_with_transposed_reads_when_the_barriers_are_gone() -> None:
    assert "LDS race" in _checked("gemm_fp8.gfx950", ("s_barrier\n", "s_nop 0\n"))


def test_profile_counts_the_lanes_that_reach_memory() -> None:
    text = (_FOLDER / "histogram.gfx950.s").read_text("utf-8")
    machine = Machine(load_kernel(parse_assembly(text)))
    memory = Memory()
    bins = memory.buffer("bins", np.zeros(16, np.int32), writable=True)
    arguments = [memory.buffer("x", np.zeros(3000, np.int32)), bins, 3000, *_HIDDEN]
    lds = _dynamic_lds(text, machine.kernel)
    found = profile(machine, memory, arguments, grid=(3, 1, 1), block=(256, 1, 1), dynamic_lds_bytes=lds)
    reads = [site for site in found.sites if site.kind == "global read"]
    sums = [site for site in found.sites if site.kind == "global atomic"]
    # 3000 numbers are read and as many sums made; the 72 masked lanes touch nothing. All sums go to one line.
    assert sum(site.lanes for site in reads) == sum(site.lanes for site in sums) == 3000
    assert {site.width for site in (*reads, *sums)} == {4}
    assert [site.lines for site in sums] == [site.records for site in sums]
