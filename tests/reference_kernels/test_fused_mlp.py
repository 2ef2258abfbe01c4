"""What the README of the fused MLP says about the order of its instructions and the bytes that it saves."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from kbserver.devices import find_device
from kbserver.runs.cases import plan
from kbserver.runs.dtypes import BF16
from kbserver.runs.profile import profile
from kbserver.runs.profile_summary import Summary
from kbserver.runs.references.fused_mlp import exact
from kbserver.runs.stage import Subject, build_case
from kbserver.runs.task import find_kernel
from kbserver.toolchain.assembly import Instruction, parse_assembly
from kbserver.toolchain.sources import from_file
from tests.reference_kernels.interleave import Interleave, interleave, products_until_use
from tests.toolchain.clang import needs_clang

README = Path(__file__).resolve().parents[2] / "reference_kernels" / "fused_mlp" / "README.md"


def subject(name: str, arch: str) -> Subject:
    task, variant = find_kernel(name)
    return Subject(task, variant, from_file(task.source(variant)), arch)


@lru_cache(maxsize=8)
def loop(name: str, arch: str) -> list[Instruction]:
    """Return the body of the loop over stages: from the first barrier to the branch back."""
    one = subject(name, arch)
    built = build_case(one, plan(one.task, one.variant, one.task.smallest_shape, [1], ["seeded"])[0])
    code = parse_assembly(built.assembly_text).functions["fused_mlp"].instructions
    first = next(place for place, item in enumerate(code) if item.mnemonic == "s_barrier")
    last = next(place for place in range(first, len(code)) if code[place].mnemonic.startswith("s_cbranch"))
    return list(code[first : last + 1])


@needs_clang
@pytest.mark.parametrize("name", ["fused_mlp_plain", "fused_mlp"])
@pytest.mark.parametrize("arch", ["gfx950", "gfx942"])
def test_the_mix_of_the_loop_is_that_of_the_readme(name: str, arch: str) -> None:
    found = interleave(loop(name, arch))
    row = f"| `{name}` | {arch} | {found.products} | {found.longest} | {found.reads} | {found.soon} | {found.cover} |"
    assert row in README.read_text("utf-8").splitlines()


@needs_clang
def test_sched_group_barrier_spreads_reads_loads_and_gelu_over_the_products() -> None:
    plain, ordered = interleave(loop("fused_mlp_plain", "gfx950")), interleave(loop("fused_mlp", "gfx950"))
    assert (plain.products, plain.reads) == (ordered.products, ordered.reads)
    assert ordered.longest < plain.longest / 4
    assert ordered.soon < plain.soon / 4
    kinds = {"v_mfma": "m", "ds_read": "r", "global_load": "g", "v_exp": "t", "v_rcp": "t", "ds_write": "w"}
    text = "".join(
        letter for item in loop("fused_mlp", "gfx950") for start, letter in kinds.items()
        if item.mnemonic.startswith(start)
    )  # fmt: skip
    assert text == "r" * 4 + "mmrg" * 8 + "mmrtttt" * 16 + "mmr" * 4 + "mm" * 4 + "w" * 8


@needs_clang
def test_on_gfx942_the_loads_of_the_next_stage_begin_early() -> None:
    plain, ordered = interleave(loop("fused_mlp_plain", "gfx942")), interleave(loop("fused_mlp", "gfx942"))
    assert ordered.cover >= 4 * plain.cover


@needs_clang
def test_the_fused_kernel_moves_the_bytes_that_the_readme_says() -> None:
    def bytes_of(name: str) -> tuple[int, int]:
        one, read, written = subject(name, "gfx950"), 0, 0
        for step in range(len(one.variant.steps)):
            done = profile(one, "tiny", find_device("emulator"), sample=None, seed=1, threads=2, step=step)
            memory = Summary(done.measured, done.function, "gfx950").global_memory()
            assert memory is not None
            read += round(memory.bytes_read * done.measured.waves)
            written += round(memory.bytes_written * done.measured.waves)
        return read, written

    # X of 256 rows, the last repeated, and the weights for each of two workgroups; Y of 236 rows.
    assert bytes_of("fused_mlp") == (256 * 128 * 2 + 2 * 2 * 192 * 128 * 2, 236 * 128 * 2) == (262144, 60416)
    # 236 x 192 values are written as float and as bfloat16; Y.
    read, written = bytes_of("fused_mlp_naive")
    assert (read, written) == (1754112, 236 * 192 * (4 + 2) + 236 * 128 * 2)
    text = README.read_text("utf-8")
    assert f"{read + written:,}" in text and f"{262144 + 60416:,}" in text


def test_an_operand_is_counted_from_its_read_to_the_product_that_takes_it() -> None:
    code = [
        Instruction(1, "ds_read_b128", ("v[4:7]", "v0"), (), "read"),
        Instruction(2, "v_mfma_f32_16x16x32_bf16", ("v[20:23]", "v[8:11]", "v[12:15]", "v[4:7]"), (), "as a sum"),
        Instruction(3, "v_mfma_f32_16x16x32_bf16", ("v[20:23]", "v[6:9]", "v[12:15]", "0"), (), "as an operand"),
    ]
    assert products_until_use(code, 0) == 1
    assert interleave(code) == Interleave(products=2, reads=1, longest=0, soon=1, cover=0)


def test_the_reference_allows_for_the_other_rounding_of_a_hidden_value_only_where_float_may_choose_it() -> None:
    up, down = np.array([[1.0]]), np.array([[1.0]])
    sizes = {"M": 2, "D": 1, "H": 1}
    # gelu(10) is 10 to 22 digits, a bfloat16; gelu(10 + 2^-5) lies in the middle between 10 and 10 + 2^-4.
    result, magnitude = exact({"x": np.array([[10.0], [10.03125]]), "up": up, "down": down}, sizes)["y"]
    assert BF16.decode(BF16.encode(result)).tolist() == result.tolist() and result[0, 0] == 10.0
    slack = magnitude[:, 0] * 2.0**-23
    assert slack[0] == pytest.approx(10 * 2.0**-23)
    assert slack[1] == pytest.approx(2.0**-4, rel=1e-4)
