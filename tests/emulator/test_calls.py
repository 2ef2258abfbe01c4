"""Calls, computed jumps, variables and indexed registers: literal programs, and small HIP kernels at every -O level."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from kbserver.core.errors import TimedOut, UnsupportedInstruction
from kbserver.emulator.audit import audit_workgroup
from kbserver.emulator.kernel import load_kernel
from kbserver.emulator.machine import Machine
from kbserver.emulator.memory import Buffer, Memory
from kbserver.emulator.operands import M0
from kbserver.toolchain.assembly import parse_assembly
from tests.emulator.both import differences
from tests.emulator.harness import fresh_wave, run
from tests.toolchain.clang import compile_hip, needs_clang

_HEAD = """\t.amdgcn_target "amdgcn-amd-amdhsa--gfx950"
\t.type\tk,@function
\t.type\tf,@function
\t.type\tg,@function
"""
_TAIL = "\t.amdhsa_kernel k\n\t.end_amdhsa_kernel\n"


def _machine(text: str) -> Machine:
    return Machine(load_kernel(parse_assembly(_HEAD + text + _TAIL)))


def _run(text: str, fuel: int = 1 << 20) -> np.ndarray:
    """Run one wavefront whose kernel argument is a buffer of 64 dwords; return the buffer."""
    memory = Memory()
    out = memory.output("out", (64,), np.uint32)
    arguments = "\t.amdgpu_metadata\namdhsa.kernels:\n  - .name: k\n    .symbol: k.kd\n    .args:\n"
    arguments += "      - {.offset: 0, .size: 8, .value_kind: global_buffer}\n\t.end_amdgpu_metadata\n"
    head = text.replace("k:\n", "k:\n\ts_load_dwordx2 s[6:7], s[0:1], 0x0\n\ts_waitcnt lgkmcnt(0)\n")
    tail = "\t.amdhsa_kernel k\n\t.amdhsa_kernarg_size 8\n\t.amdhsa_user_sgpr_kernarg_segment_ptr 1\n"
    machine = Machine(load_kernel(parse_assembly(_HEAD + head + tail + "\t.end_amdhsa_kernel\n" + arguments)))
    machine.launch(memory, [out], grid=(1, 1, 1), block=(64, 1, 1), fuel=fuel)
    return out.array


_STORE = "\tv_lshlrev_b32 v2, 2, v0\n\tglobal_store_dword v2, v1, s[6:7]\n\ts_endpgm\n"
_CALL = """\ts_getpc_b64 s[2:3]
\ts_add_u32 s2, s2, {name}@rel32@lo+4
\ts_addc_u32 s3, s3, {name}@rel32@hi+12
\ts_swappc_b64 s[30:31], s[2:3]
"""


def test_a_called_function_returns_behind_its_call() -> None:
    text = "k:\n\tv_mov_b32 v1, 1\n" + _CALL.format(name="f") + _CALL.format(name="g") + _STORE
    text += "g:\n\tv_mul_u32_u24 v1, v1, 10\n\ts_setpc_b64 s[30:31]\n"
    text += "f:\n\tv_add_u32 v1, v1, v0\n\ts_setpc_b64 s[30:31]\n"
    assert _run(text).tolist() == [(1 + lane) * 10 for lane in range(64)]


def test_s_call_jumps_to_its_label_and_keeps_the_return_address() -> None:
    text = "k:\n\tv_mov_b32 v1, 3\n\ts_call_b64 s[30:31], f\n" + _STORE
    text += "f:\n\tv_add_u32 v1, 4, v1\n\ts_setpc_b64 s[30:31]\n"
    assert set(_run(text).tolist()) == {7}


def test_a_jump_too_far_for_a_branch_reaches_its_label() -> None:
    far = "(.LBB0_2-.Lpost_getpc0)"
    text = f"""k:
\tv_mov_b32 v1, 5
\ts_getpc_b64 s[2:3]
.Lpost_getpc0:
\ts_add_u32 s2, s2, {far}&4294967295
\ts_addc_u32 s3, s3, {far}>>32
\ts_setpc_b64 s[2:3]
\tv_mov_b32 v1, 6
.LBB0_2:
"""
    assert set(_run(text + _STORE).tolist()) == {5}


def test_variables_hold_their_first_values_and_addresses_of_functions() -> None:
    data = """\t.type\ttable,@object
\t.section\t.data.rel.ro,"aw"
table:
\t.quad\tg
\t.long\t4294967295
\t.zero\t4
\t.size\ttable, 16
"""
    text = """k:
\ts_getpc_b64 s[2:3]
\ts_add_u32 s2, s2, table@gotpcrel32@lo+4
\ts_addc_u32 s3, s3, table@gotpcrel32@hi+12
\ts_load_dwordx2 s[2:3], s[2:3], 0x0
\ts_waitcnt lgkmcnt(0)
\ts_load_dwordx4 s[8:11], s[2:3], 0x0
\ts_waitcnt lgkmcnt(0)
\ts_swappc_b64 s[30:31], s[8:9]
"""
    text += _STORE + "g:\n\tv_mov_b32 v1, s10\n\ts_setpc_b64 s[30:31]\n"
    assert set(_run(text + data).tolist()) == {0xFFFFFFFF}


def test_a_call_of_no_function_is_an_error_that_names_the_place() -> None:
    text = "k:\n\ts_mov_b64 s[2:3], 64\n\ts_swappc_b64 s[30:31], s[2:3]\n\ts_endpgm\n"
    with pytest.raises(UnsupportedInstruction, match=r"its target 0x40 is no function") as caught:
        _run(text)
    assert caught.value.where == "assembly line 9"
    assert "s_swappc_b64 s[30:31], s[2:3]" in caught.value.message


def test_a_symbol_that_the_text_lacks_is_refused() -> None:
    with pytest.raises(UnsupportedInstruction, match="printf: the assembly text does not define it"):
        _machine("k:\n" + _CALL.format(name="printf") + "\ts_endpgm\n")


def test_functions_that_call_each_other_for_ever_spend_the_loop_budget() -> None:
    text = "k:\n" + _CALL.format(name="f") + "\ts_endpgm\nf:\n" + _CALL.format(name="f") + "\ts_setpc_b64 s[30:31]\n"
    with pytest.raises(TimedOut, match="loop budget"):
        _run(text, fuel=10_000)


@pytest.mark.parametrize("index", [0, 3, 250])
@pytest.mark.parametrize("exec_", [(1 << 64) - 1, 0xF0])
@pytest.mark.parametrize(
    ("mode", "move"),
    [("SRC0", "v_mov_b32_e32 v1, v4"), ("DST", "v_mov_b32_e32 v4, v1"), ("DST", "v_mov_b32_e32 v4, 7")],
)
def test_indexed_moves_do_what_the_oracle_does(mode: str, move: str, exec_: int, index: int) -> None:
    wave = fresh_wave(registers=9, exec_=exec_)
    wave.vgprs[:] = np.arange(9 * 64).reshape(9, 64)
    wave.sgprs[2], wave.sgprs[M0] = index, 0xABCDEF12
    lines = [f"s_set_gpr_idx_on s2, gpr_idx({mode})", move, "s_set_gpr_idx_off", "v_mov_b32_e32 v8, v5"]
    assert differences(lines, wave) == []
    assert int(wave.sgprs[M0]) == 0xABCD0F00 | {"SRC0": 1, "DST": 8}[mode] << 12 | index


def test_an_indexed_move_reads_the_register_that_m0_counts_from_the_named_one() -> None:
    wave = fresh_wave(registers=9)
    wave.vgprs[:] = np.arange(9)[:, None]
    run("s_set_gpr_idx_on 3, gpr_idx(SRC0)\nv_mov_b32_e32 v1, v4\ns_set_gpr_idx_off\nv_mov_b32 v8, v8", wave)
    assert set(wave.vgprs[1].tolist()) == {7}


@pytest.mark.parametrize("line", ["v_add_u32 v1, v4, v5", "v_mov_b32_sdwa v1, v4 dst_sel:DWORD src0_sel:DWORD"])
def test_other_instructions_with_indexed_registers_are_refused(line: str) -> None:
    with pytest.raises(UnsupportedInstruction, match="with indexed registers is not known"):
        run(f"s_set_gpr_idx_on 3, gpr_idx(SRC0)\n{line}\ns_set_gpr_idx_off", fresh_wave())


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("src_shared_base", 0, 0x10000),
        ("src_shared_limit", 0xFFFFFFFF, 0x10000),
        ("src_private_base", 0, 0x20000),
        ("src_private_limit", 0xFFFFFFFF, 0x20000),
    ],
)
def test_apertures_are_those_of_the_linux_driver(name: str, low: int, high: int) -> None:
    for place, word in enumerate((low, high)):
        text = f"k:\n\ts_mov_b64 s[2:3], {name}\n\tv_mov_b32 v1, s{2 + place}\n" + _STORE
        assert set(_run(text).tolist()) == {word}


SOURCE = """
#include <hip/hip_runtime.h>
__constant__ int weights[4] = {3, -5, 7, 11};
__device__ int bias[2] = {100, 200};
__device__ __attribute__((noinline)) int twice(int x) { return 2 * x; }
__device__ __attribute__((noinline)) int square(int x) { return x * x; }
__device__ int (*table[2])(int) = {twice, square};

extern "C" __global__ void arrays(const int* in, int* out, int n) {
  int small[16], large[100];
  int i = threadIdx.x;
  for (int k = 0; k < 16; ++k) small[k] = in[(i + k) & 63] + k;
  for (int k = 0; k < 100; ++k) large[(k * 7 + in[k & 63]) % 100] = k;
  large[in[i] % 100] = -1;
  out[i] = small[in[i] & 15] + small[n & 15] + large[(in[i] + n - 3) % 100];
}
extern "C" __global__ void generic(const int* in, int* out, int n) {
  __shared__ int shared[64];
  int priv[4] = {1, 2, 3, 4};
  int i = threadIdx.x;
  shared[i] = in[i];
  __syncthreads();
  int which = in[i] % 3;
  volatile int* p = which == 0 ? &shared[(i + 1) & 63] : which == 1 ? &priv[i & 3] : &out[64 + i];
  *p += n + 2;
  out[i] = *p;
}
extern "C" __global__ void pointers(const int* in, int* out, int n) {
  int i = threadIdx.x;
  int (*f)(int) = table[in[i] & 1];
  out[i] = f(i) + weights[in[i] & 3] + bias[n & 1];
}
extern "C" __global__ void calls(const int* in, int* out, int n) {
  int i = threadIdx.x;
  out[i] = twice(in[i]) + square(i) + blockDim.x * 1000 + gridDim.x + n;
}
extern "C" __global__ void choices(const int* in, int* out, int n) {
  int i = threadIdx.x, r = 0;
  switch (in[i] & 7) {
    case 0: r = 17; break;
    case 1: r = 4; break;
    case 2: r = 99; break;
    case 3: r = -5; break;
    case 4: r = 1234; break;
    case 5: r = 8; break;
  }
  out[i] = r + n;
}
extern "C" __global__ __launch_bounds__(1024) __attribute__((amdgpu_num_vgpr(24))) void spills(
    const int* in, int* out, int n) {
  int i = threadIdx.x, v[48], s = n;
#pragma unroll
  for (int k = 0; k < 48; ++k) v[k] = in[(i * 5 + k) & 63];
  __syncthreads();
#pragma unroll
  for (int k = 0; k < 48; ++k) s = s * 3 + v[47 - k] * v[k * 7 % 48];
  out[i] = s;
}
"""
_N = 3


def _expected(name: str, x: list[int]) -> list[int]:
    """Return what a kernel of SOURCE writes for lane 0 to 63, in Python's numbers."""
    found = []
    for i in range(64):
        if name == "arrays":
            small = [x[(i + k) & 63] + k for k in range(16)]
            large = {(k * 7 + x[k & 63]) % 100: k for k in range(100)} | {x[i] % 100: -1}
            found.append(small[x[i] & 15] + small[_N] + large[(x[i] + _N - 3) % 100])
        elif name == "generic":
            found.append([x[(i + 1) & 63], [1, 2, 3, 4][i & 3], 1000 + i][x[i] % 3] + _N + 2)
        elif name == "pointers":
            found.append([2 * i, i * i][x[i] & 1] + [3, -5, 7, 11][x[i] & 3] + 200)
        elif name == "calls":
            found.append(2 * x[i] + i * i + 64000 + 1 + _N)
        elif name == "choices":
            found.append([17, 4, 99, -5, 1234, 8, 0, 0][x[i] & 7] + _N)
        else:
            v = [x[(i * 5 + k) & 63] for k in range(48)]
            s = _N
            for k in range(48):
                s = s * 3 + v[47 - k] * v[k * 7 % 48]
            found.append((s + 2**31) % 2**32 - 2**31)
    return found


@lru_cache(maxsize=64)
def _compiled(name: str, arch: str, level: str) -> Machine:
    compiled = compile_hip(SOURCE, arch, (level, "-gline-tables-only"))
    assert compiled.status == 0, compiled.diagnostics
    return Machine(load_kernel(parse_assembly(compiled.text), name))


def _prepare() -> tuple[Memory, Buffer, list[int]]:
    x = np.random.default_rng(6).integers(0, 1000, 64).astype(np.int32)
    memory = Memory()
    memory.buffer("in", x)
    first = np.concatenate([np.full(64, -1), 1000 + np.arange(64)]).astype(np.int32)
    return memory, memory.buffer("out", first, writable=True), x.tolist()


@needs_clang
@pytest.mark.parametrize("level", ["-O0", "-O1", "-O3"])
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("name", ["arrays", "generic", "pointers", "calls", "choices", "spills"])
def test_kernel_with_private_memory_or_calls_computes_what_its_source_says(name: str, arch: str, level: str) -> None:
    machine = _compiled(name, arch, level)
    memory, out, x = _prepare()
    outcome = machine.launch(memory, [*memory.buffers, _N], grid=(1, 1, 1), block=(64, 1, 1))
    assert out.array[:64].tolist() == _expected(name, x)
    assert outcome.finding_count == 0
    assert machine.missing_waits == ()


@needs_clang
@pytest.mark.parametrize(
    ("name", "arch", "level"),
    [
        ("arrays", "gfx950", "-O0"),
        ("generic", "gfx942", "-O0"),
        ("pointers", "gfx950", "-O0"),
        ("calls", "gfx90a", "-O0"),
        ("generic", "gfx90a", "-O3"),
        ("spills", "gfx90a", "-O1"),
        ("spills", "gfx950", "-O1"),
    ],
)
def test_interpreter_agrees_on_code_with_calls_and_private_memory(name: str, arch: str, level: str) -> None:
    memory, _, _ = _prepare()
    machine = _compiled(name, arch, level)
    assert audit_workgroup(
        machine, memory, [*memory.buffers, _N], grid=(1, 1, 1), block=(64, 1, 1), workgroup=0
    ) == []  # fmt: skip


@needs_clang
@pytest.mark.parametrize("level", ["-O0", "-O3"])
def test_private_array_index_out_of_range_is_found_with_its_source_line(level: str) -> None:
    source = """#include <hip/hip_runtime.h>
extern "C" __global__ void k(const int* in, int* out, int n) {
  int large[100];
  for (int i = 0; i < 100; ++i) large[i] = in[i & 63];
  out[threadIdx.x] = large[n];
}
"""
    compiled = compile_hip(source, "gfx950", (level, "-gline-tables-only"))
    machine = Machine(load_kernel(parse_assembly(compiled.text)))
    memory, _, _ = _prepare()
    shape = {"grid": (1, 1, 1), "block": (64, 1, 1)}
    assert machine.launch(memory, [*memory.buffers, 99], **shape).finding_count == 0
    outcome = machine.launch(memory, [*memory.buffers, 2000], **shape)
    assert outcome.finding_count == 64
    first = outcome.findings[0]
    assert first.kind == "scratch access out of range"
    assert (first.source or "").endswith(":5")
    assert ("4096 assumed" in first.where) == (level == "-O0")
