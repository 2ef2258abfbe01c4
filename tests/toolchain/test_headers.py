"""The device-only HIP headers: ordinary kernels compile with nothing else installed, to the expected instructions."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path

import pytest

from tests.toolchain.clang import INCLUDE, Compiled, assembles, compile_hip, needs_clang

pytestmark = needs_clang

ARCHES = ["gfx90a", "gfx942", "gfx950"]
HEADERS = sorted(
    str(path.relative_to(INCLUDE)) for path in (INCLUDE / "hip").rglob("*.h") if path.parent.name != "detail"
)


def kernel(body: str, *headers: str, bounds: str = "__launch_bounds__(256)") -> str:
    includes = "".join(f"#include <{name}>\n" for name in ("hip/hip_runtime.h", *headers))
    types = "float* p, int* i, unsigned long long* u, double* d"
    used = "(void)p, (void)i, (void)u, (void)d;"
    return f'{includes}extern "C" __global__ void {bounds} k({types}) {{\n  {used}\n{body}\n}}\n'


def built(source: str, arch: str = "gfx950") -> Compiled:
    result = compile_hip(source, arch)
    assert result.status == 0, result.diagnostics
    assert result.diagnostics == ""
    return result


@pytest.mark.parametrize("arch", ARCHES)
@pytest.mark.parametrize("header", HEADERS)
def test_each_header_stands_alone_without_a_warning(header: str, arch: str) -> None:
    result = compile_hip(f"#include <{header}>\n", arch)
    if "fp8" in header and arch == "gfx90a":
        assert "this target has no fp8 conversion instructions" in result.diagnostics
    else:
        assert (result.status, result.diagnostics) == (0, "")


@pytest.mark.parametrize(
    "name",
    ["stdint.h", "stddef.h", "limits.h", "float.h", "math.h", "cstdint", "cstddef", "climits", "cfloat", "type_traits"],
)
def test_standard_headers_that_kernels_include_come_from_us(name: str) -> None:
    result = built(f"#include <{name}>\n" + kernel("", name))
    assert "/usr/" not in result.text


def test_the_runtime_header_alone_gives_the_integer_types() -> None:
    built(kernel("  size_t n = i[0]; uint32_t m = i[1]; int64_t k = i[2]; ptrdiff_t j = i[3]; *u = n + m + k + j;"))


@pytest.mark.parametrize("header", ["hip/hip_runtime.h", "math.h"])
def test_constants_of_math_h_are_there_and_right(header: str) -> None:
    names = [
        "E",
        "LOG2E",
        "LOG10E",
        "LN2",
        "LN10",
        "PI",
        "PI_2",
        "PI_4",
        "1_PI",
        "2_PI",
        "2_SQRTPI",
        "SQRT2",
        "SQRT1_2",
    ]
    values = [
        math.e, 1 / math.log(2), 1 / math.log(10), math.log(2), math.log(10), math.pi, math.pi / 2, math.pi / 4,
        1 / math.pi, 2 / math.pi, 2 / math.sqrt(math.pi), math.sqrt(2), math.sqrt(0.5),
    ]  # fmt: skip
    claims = [
        f"M_{name} - {value!r} < 1e-15 && {value!r} - M_{name} < 1e-15"
        for name, value in zip(names, values, strict=True)
    ]
    claims += ["INFINITY > 3.4028235e38f", "HUGE_VAL > 1.7976931348623157e308", "NAN != NAN", "HUGE_VALF == INFINITY"]
    built(f"#include <{header}>\n" + kernel("\n".join(f"static_assert({claim});" for claim in claims), header))


def test_std_names_are_the_same_types() -> None:
    built(
        "#include <cstdint>\n#include <cstddef>\n#include <type_traits>\n"
        "static_assert(std::is_same_v<std::uint32_t, uint32_t> && sizeof(std::size_t) == 8);\n"
        "static_assert(std::is_same_v<std::conditional_t<true, int, float>, std::decay_t<const int&>>);\n"
    )


@pytest.mark.parametrize(
    ("bounds", "group", "waves"),
    [("__launch_bounds__(256)", 256, None), ("__launch_bounds__(256, 3)", 256, 3), ("__launch_bounds__(64, 1)", 64, 1)],
)
def test_launch_bounds_reach_the_metadata_and_the_register_allocator(
    bounds: str, group: int, waves: int | None
) -> None:
    source = kernel("p[threadIdx.x] = 1.0f;", bounds=bounds)
    assert built(source).figure("max_flat_workgroup_size") == group
    ir = compile_hip(source, "gfx950", ("-emit-llvm",)).text
    assert f'"amdgpu-flat-work-group-size"="1,{group}"' in ir
    assert ('"amdgpu-waves-per-eu"' in ir) == (waves is not None)
    if waves is not None:
        assert f'"amdgpu-waves-per-eu"="{waves}"' in ir


def test_indices_come_from_registers_and_sizes_from_the_implicit_arguments() -> None:
    result = built(kernel("i[blockIdx.x * blockDim.x + threadIdx.x] = gridDim.x + gridDim.z + blockDim.y;"))
    for hidden in ("hidden_block_count_x", "hidden_block_count_z", "hidden_group_size_x", "hidden_group_size_y"):
        assert hidden in result.text
    assert "hidden" not in built(kernel("i[blockIdx.x * 256 + threadIdx.x] = 1;")).text


EXPECTED = {
    "shuffles": ("p[0] = __shfl_xor(p[threadIdx.x], 1);", {"ds_bpermute_b32"}),
    "wide shuffle": ("d[0] = __shfl_down(d[threadIdx.x], 1u, 32);", {"ds_bpermute_b32"}),
    "ballot": ("u[0] = __ballot(i[threadIdx.x]) + __popcll(u[1]);", {"v_cmp_ne_u32", "s_bcnt1_i32_b64"}),
    "lane": ("i[0] = __lane_id();", {"v_mbcnt_lo_u32_b32", "v_mbcnt_hi_u32_b32"}),
    "barrier": ("__shared__ float s[64]; s[threadIdx.x] = 1; __syncthreads(); p[0] = s[9];", {"s_barrier"}),
    "float4": ("((float4*)p)[0] = ((float4*)p)[threadIdx.x] * 2.0f;", {"global_load_dwordx4", "global_store_dwordx4"}),
    "atomic int": ("atomicAdd(i, 3); atomicMax(i, i[1]);", {"global_atomic_add", "global_atomic_smax"}),
    "atomic cas": ("i[1] = atomicCAS(i, 1, 2);", {"global_atomic_cmpswap"}),
    "atomic float": ("unsafeAtomicAdd(p, 1.0f);", {"global_atomic_add_f32"}),
    "atomic double": ("unsafeAtomicAdd(d, 1.0);", {"global_atomic_add_f64"}),
    "multiply high": ("i[0] = __umulhi(i[1], i[2]);", {"s_mul_hi_u32"}),
    "counts": ("i[0] = __clz(i[threadIdx.x]) + __brev(i[threadIdx.x]);", {"v_ffbh_u32", "v_bfrev_b32"}),
    "fast exp": ("p[0] = __expf(p[threadIdx.x]);", {"v_exp_f32"}),
    "fast sine": ("p[0] = __sinf(p[threadIdx.x]);", {"v_fract_f32", "v_sin_f32"}),
    "fma": ("p[0] = fmaf(p[threadIdx.x], p[1], p[2]);", {"v_fma_f32"}),
    "double": ("d[0] = fma(d[threadIdx.x], d[1], sqrt(d[2]));", {"v_rsq_f64", "v_fma_f64"}),
}  # fmt: skip


@pytest.mark.parametrize("name", EXPECTED)
def test_a_feature_becomes_the_instruction_that_it_is_named_for(name: str) -> None:
    body, expected = EXPECTED[name]
    assert expected - built(kernel(body)).mnemonics == set()


@pytest.mark.parametrize("arch", ARCHES)
def test_bfloat16_rounds_in_hardware_on_gfx950_and_in_software_before(arch: str) -> None:
    body = "((__hip_bfloat162*)i)[threadIdx.x] = __floats2bfloat162_rn(p[threadIdx.x], p[threadIdx.x + 1]);"
    result = built(kernel(body, "hip/hip_bf16.h"), arch)
    assert ("v_cvt_pk_bf16_f32" in result.mnemonics) == (arch == "gfx950")
    assert ("v_bfe_u32" in result.mnemonics) == (arch != "gfx950")


def test_half_arithmetic_is_packed() -> None:
    body = "__half2* h = (__half2*)p; h[0] = __hfma2(h[threadIdx.x], h[1], h[2]); h[3] = h[threadIdx.x] + h[4];"
    assert {"v_pk_fma_f16", "v_pk_add_f16"} <= built(kernel(body, "hip/hip_fp16.h")).mnemonics


def test_fp8_has_the_formats_of_its_target_and_no_other() -> None:
    def source(name: str) -> str:
        return kernel(f"(({name}*)i)[threadIdx.x] = {name}(p[threadIdx.x]);", "hip/hip_fp8.h")

    assert "v_cvt_pk_fp8_f32" in built(source("__hip_fp8_e4m3")).mnemonics
    assert "v_cvt_pk_bf8_f32" in built(source("__hip_fp8_e5m2_fnuz"), "gfx942").mnemonics
    assert "undeclared" in compile_hip(source("__hip_fp8_e4m3_fnuz"), "gfx950").diagnostics
    assert "undeclared" in compile_hip(source("__hip_fp8_e4m3"), "gfx942").diagnostics


@pytest.mark.parametrize("arch", ARCHES)
def test_no_math_function_leaves_a_call_or_scratch_behind(arch: str, tmp_path: Path) -> None:
    names = "sqrtf rsqrtf expf exp2f exp10f logf log2f log10f expm1f log1pf tanhf erff sinf cosf roundf rintf"
    terms = " + ".join(f"{name}(x)" for name in names.split()) + " + powf(x, y)"
    body = f"const float x = p[threadIdx.x], y = p[threadIdx.x + 1]; p[threadIdx.x] = {terms};"
    body += " const double z = d[threadIdx.x]; d[threadIdx.x] = exp(z) + log(z) + rsqrt(z);"
    result = built(kernel(body), arch)
    assert not {"s_swappc_b64", "s_getpc_b64"} & result.mnemonics
    assert result.figure("private_segment_fixed_size") == 0
    assert assembles(result.text, arch, tmp_path) == ""


@pytest.mark.parametrize(
    "call", ["acosf(1.0f)", "sin(1.0)", 'printf("x")', "tgammaf(1.0f)", "cooperative_groups::this_grid()"]
)
def test_what_is_not_provided_does_not_compile(call: str) -> None:
    result = compile_hip(kernel(f"(void){call};"), "gfx950")
    assert result.status != 0
    assert "undeclared" in result.diagnostics


def test_a_host_compile_is_told_what_these_headers_are_for() -> None:
    command = [sys.executable, "-m", "ziglang", "clang", "-x", "c++", "-fsyntax-only", "-I", str(INCLUDE), "-"]
    done = subprocess.run(
        command, input="#include <hip/hip_runtime.h>\n", capture_output=True, text=True, timeout=60, check=False
    )
    assert "these headers serve device-only HIP compiles" in done.stderr


def test_host_code_behind_the_device_macro_is_tolerated() -> None:
    host = "#if !__HIP_DEVICE_COMPILE__\nint main() { hipMalloc(0, 0); k<<<1, 1>>>(0, 0, 0, 0); }\n#endif\n"
    built(kernel("p[threadIdx.x] = 1.0f;") + host)


@pytest.mark.parametrize("path", sorted(INCLUDE.rglob("*")), ids=lambda path: str(path.relative_to(INCLUDE)))
def test_headers_are_small(path: Path) -> None:
    if path.is_file():
        assert len(path.read_text("utf-8").splitlines()) <= 250
