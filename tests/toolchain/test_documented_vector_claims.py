"""What the pages on packed arithmetic, bf16 and launches say about operands and code, settled by the compiler."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from tests.toolchain.clang import assembles, compile_hip, needs_clang
from tests.toolchain.code_claims import PRELUDE, instructions, names

pytestmark = needs_clang

BOTH_WAYS = """
typedef __bf16 b8 __attribute__((ext_vector_type(8)));
typedef float f8 __attribute__((ext_vector_type(8)));
KERNEL void unpack(const __bf16 *__restrict__ a, float *__restrict__ o) {
  *(f8 *)(o + 8 * LANE) = __builtin_convertvector(*(const b8 *)(a + 8 * LANE), f8);
}
KERNEL void pack(const float *__restrict__ a, __bf16 *__restrict__ o) {
  *(b8 *)(o + 8 * LANE) = __builtin_convertvector(*(const f8 *)(a + 8 * LANE), b8);
}
"""


@pytest.mark.parametrize("arch", ["gfx942", "gfx950"])
def test_eight_bf16_are_one_load_and_eight_instructions_to_unpack(arch: str):
    code = names(instructions(BOTH_WAYS, arch)["unpack"])
    assert code.count("global_load_dwordx4") == 1
    assert code.count("v_and_b32") == 4
    assert code.count("v_lshlrev_b32") == 4 + 2  # two of them make the addresses


def test_eight_floats_become_bf16_in_four_instructions_on_gfx950_only():
    new, old = (names(instructions(BOTH_WAYS, arch)["pack"]) for arch in ("gfx950", "gfx942"))
    assert new.count("v_cvt_pk_bf16_f32") == 4
    assert "v_cvt_pk_bf16_f32" not in old
    conversion = [name for name in old if name.startswith("v_") and name != "v_lshlrev_b32"]
    assert len(conversion) == 44


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942"])
@pytest.mark.parametrize(
    ("operands", "message"),
    [
        ("v[0:1], v[2:3], v[4:5], v[6:7]", ""),
        ("v0, v2, v4, v6", "invalid operand for instruction"),
        ("v[1:2], v[2:3], v[4:5], v[6:7]", "invalid operand for instruction"),
        ("v[0:1], v[2:3], s2, v[6:7]", "invalid operand for instruction"),
        ("v[0:1], v[2:3], s[2:3], v[6:7] op_sel_hi:[1,0,1]", ""),
        ("v[0:1], v[2:3], a[4:5], v[6:7]", "invalid operand for instruction"),
        ("v[0:1], v[2:3], s[2:3], s[4:5]", "violates constant bus restrictions"),
        ("v[0:1], v[2:3], 3.0, v[6:7]", "literal operands are not supported"),
        ("v[0:1], v[2:3], 1.0, v[6:7]", ""),
        ("v[0:1], -v[2:3], v[4:5], v[6:7]", "not a valid operand"),
        ("v[0:1], v[2:3], v[4:5], v[6:7] neg_lo:[1,0,0] neg_hi:[1,0,0]", ""),
        ("v[0:1], v[2:3], v[4:5], v[6:7] clamp", ""),
    ],
)
def test_which_operands_packed_fp32_takes(arch: str, operands: str, message: str, tmp_path: Path):
    complaints = assembles(f"v_pk_fma_f32 {operands}\n", arch, tmp_path)
    assert (complaints == "") is (message == "")
    assert message in complaints


def test_a_launch_outside_hip_is_an_expected_expression():
    built = compile_hip("void k(float *); void f(float *p) { k<<<1, 64>>>(p); }", "gfx942", ("-x", "c++"))
    assert "expected expression" in built.diagnostics


@pytest.mark.parametrize(
    ("flags", "copies", "mode"),
    [((), 2, 1), (("-fno-honor-nans",), 0, 1), (("-mno-amdgpu-ieee", "-fno-honor-nans"), 0, 0)],
)
def test_maximum_needs_no_copies_when_nans_do_not_count(flags: tuple[str, ...], copies: int, mode: int):
    built = compile_hip(
        PRELUDE + "KERNEL void k(float *p, float a) { p[0] = __builtin_fmaxf(p[1], a); }", "gfx942", flags
    )
    assert len(re.findall(r"\tv_max_f32", built.text)) == copies + 1
    assert f".amdhsa_ieee_mode {mode}" in built.text


def test_ieee_mode_off_wants_relaxed_nans():
    built = compile_hip(PRELUDE + "KERNEL void k(float *p) { p[0] = 1; }", "gfx942", ("-mno-amdgpu-ieee",))
    assert "invalid argument '-mno-amdgpu-ieee' only allowed with relaxed NaN handling" in built.diagnostics


@pytest.mark.parametrize(
    ("inside", "outside", "message"),
    [
        ("global_load_dword v0, v[2:3], off offset:4095", "offset:4096", "expected a 13-bit signed offset"),
        ("global_load_dword v0, v[2:3], off offset:-4096", "offset:-4097", "expected a 13-bit signed offset"),
        ("scratch_load_dword v0, off, s0 offset:4095", "offset:4096", "expected a 13-bit signed offset"),
        ("flat_load_dword v0, v[2:3] offset:4095", "offset:4096", "expected a 12-bit unsigned offset"),
        ("ds_read_b32 v0, v1 offset:65535", "offset:65536", "expected a 16-bit unsigned offset"),
        ("ds_read2_b32 v[0:1], v1 offset0:0 offset1:255", "offset1:256", "invalid offset1 value"),
        ("s_load_dword s0, s[2:3], 0xfffff", "0x100000", "expected a 21-bit signed offset"),
        ("s_buffer_load_dword s0, s[4:7], 0xfffff", "0x100000", "expected a 20-bit unsigned offset"),
    ],
)
def test_how_large_the_offset_of_an_access_may_be(inside: str, outside: str, message: str, tmp_path: Path):
    assert assembles(inside + "\n", "gfx942", tmp_path) == ""
    assert message in assembles(inside.rsplit(" ", 1)[0] + f" {outside}\n", "gfx942", tmp_path)


@pytest.mark.parametrize(("offset", "bits"), [(4095, 4095), (4096, 0), (4097, 1)])
def test_a_buffer_offset_beyond_12_bits_is_cut_without_a_message(offset: int, bits: int, tmp_path: Path):
    line = f"buffer_load_dword v0, v1, s[0:3], 0 offen offset:{offset}\n"
    assert assembles(line, "gfx942", tmp_path) == ""
    words = (0xE0501000 | bits, 0x80000001)
    assert b"".join(word.to_bytes(4, "little") for word in words) in (tmp_path / "kernel.o").read_bytes()


LAUNCH = """
struct dim3 { unsigned x, y, z; dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {} };
typedef struct Stream *stream;
extern "C" int __hipPushCallConfiguration(dim3, dim3, unsigned long = 0, stream = 0);
__attribute__((global)) void k(float *, int);
template <class T> __attribute__((global)) void m(T *, int);
__attribute__((device)) float d(float);
struct S { float (*f)(float); };
void host(float *p, const float *c, S *s) { CALL; }
"""


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("k<<<1, 64>>>(p)", "too few arguments to function call, expected 2, have 1"),
        ("k<<<1, 64>>>(p, 3, 4)", "too many arguments to function call, expected 2, have 3"),
        (
            "k<<<1, 64>>>(c, 3)",
            "cannot initialize a parameter of type 'float *' with an lvalue of type 'const float *'",
        ),
        ("m<<<1, 64>>>()", "no matching function for call to 'm'"),
        ("k<<<1>>>(p, 3)", "too few execution configuration arguments to kernel function call, expected at least 2"),
        (
            "k<<<1, 64, 0, 0, 0>>>(p, 3)",
            "too many execution configuration arguments to kernel function call, expected at",
        ),
        ("k(p, 3)", "call to global function 'k' not configured"),
        ("s->f = d", "reference to __device__ function 'd' in __host__ function"),
        ("p[0] = d(p[1])", "candidate function not viable: call to __device__ function from __host__ function"),
    ],
)
def test_what_clang_says_of_a_wrong_launch(call: str, message: str):
    assert message in compile_hip(LAUNCH.replace("CALL", call), "gfx942", ("--cuda-host-only",)).diagnostics


TAPS = """
KERNEL void k(const float *__restrict__ w, const float *__restrict__ a, float *__restrict__ o) {
  float s = 0;
  int c = CHANNEL;
  for (int t = 0; t < 9; ++t) SUM;
  o[LANE] = s;
}
"""
PRODUCTS = "s += w[c * 9 + t] * a[LANE + t * 64]"
CONTRACTED = "s = __builtin_fmaf(w[c * 9 + t], a[LANE + t * 64], s)"


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize(
    ("total", "flags", "expected"),
    [
        (PRODUCTS, (), {"v_fma_f32": 1, "v_pk_mul_f32": 4, "v_add_f32": 8}),
        (PRODUCTS, ("-fno-slp-vectorize",), {"v_fma_f32": 1, "v_fmac_f32": 8}),
        (CONTRACTED, (), {"v_fma_f32": 1, "v_fmac_f32": 8}),
    ],
)
def test_pairing_products_costs_fused_additions(
    arch: str, total: str, flags: tuple[str, ...], expected: dict[str, int]
):
    source = TAPS.replace("CHANNEL", "__builtin_amdgcn_workgroup_id_x()").replace("SUM", total)
    counted = Counter(name for name in names(instructions(source, arch, *flags)["k"]) if name.endswith("_f32"))
    assert counted == expected


@pytest.mark.parametrize(
    ("channel", "vector_loads", "scalar"),
    [
        ("__builtin_amdgcn_workgroup_id_x()", 9, True),
        ("LANE / 64", 12, False),
        ("__builtin_amdgcn_readfirstlane(LANE / 64)", 9, True),
    ],
)
def test_weights_are_scalar_when_their_index_is_uniform(channel: str, vector_loads: int, scalar: bool):
    code = instructions(TAPS.replace("CHANNEL", channel).replace("SUM", PRODUCTS), "gfx942")["k"]
    assert sum(line.startswith("global_load") for line in code) == vector_loads
    assert any(line.startswith("s_load_dwordx8") for line in code) is scalar


STRIDED = """
KERNEL void k(const float *__restrict__ a, float *__restrict__ o, T n, T g) {
  for (T i = __builtin_amdgcn_workgroup_id_x() * 256u + LANE; i < n; i += g) o[i] = a[i] * 2;
}
"""


@pytest.mark.parametrize("index", ["u64", "unsigned"])
def test_a_strided_loop_is_as_long_with_a_64_bit_index(index: str):
    built = compile_hip(PRELUDE + STRIDED.replace("T ", f"{index} "), "gfx942", ("-fno-unroll-loops",))
    assert [len(block) for block in built.blocks if "global_load_dword" in block] == [13]


@pytest.mark.parametrize(("restrict", "registers", "first_wait"), [("", 8, 0), ("__restrict__", 36, 7)])
def test_loads_in_flight_take_registers(restrict: str, registers: int, first_wait: int):
    loop = "for (int t = 0; t < 8; ++t) o[LANE + t * 64] = a[LANE + t * 64] * 2.f;"
    built = compile_hip(PRELUDE + f"KERNEL void k(const f4 *{restrict} a, f4 *{restrict} o) {{ {loop} }}", "gfx942")
    assert built.figure("vgpr_count") == registers
    assert re.search(r"vmcnt\((\d+)\)", built.text)[1] == str(first_wait)
