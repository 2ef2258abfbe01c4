"""compile_kernel and inspect_assembly on the case study and on user's sources."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kbserver.core.errors import CompileFailed, UnknownName, UsageError
from kbserver.core.paths import Roots, use_roots
from kbserver.ops import compile_kernel, operations
from kbserver.ops.compile_results import CompileReport
from kbserver.render import render, render_plain
from kbserver.toolchain.compilers import survey

ROOT = Path(__file__).resolve().parents[2]
usable = [candidate for candidate in survey() if candidate.usable]
pytestmark = pytest.mark.skipif(
    not usable, reason="SKIPPED LOUDLY: no compiler for AMD GPUs here (pip install 'kbserver[compile]')"
)
published_compiler = pytest.mark.skipif(
    not any(candidate.compiler and candidate.compiler.llvm_major == 22 for candidate in usable),
    reason="SKIPPED LOUDLY: the published register counts hold for clang 22",
)

# EvoKernel README, table of kernels and step texts (MI350X, ROCm 7.2).
STEP3 = {"vgprs": 155, "waves": 3, "lds_bytes": 32576, "scratch_bytes": 0}
STEP5 = {"vgprs": 86, "waves": 5, "lds_bytes": 32576, "scratch_bytes": 0}
# 163,840 B of LDS / 33,280 B (32,576 rounded up to granules of 1,280 B, LLVM pull request 167614) = 4 workgroups.
AT_LAUNCH = {"step3_nchw_lds": (3, "vgpr"), "step5_sgb": (4, "lds")}
VARIANTS = ("step1_naive", "step2_nhwc", "step3_nchw_lds", "step4_mfma", "step5_sgb")

TWO_KERNELS = """#include <hip/hip_runtime.h>
template <typename T, int N> __global__ void fill(T *p, T v) { p[blockIdx.x * N + threadIdx.x] = v; }
template __global__ void fill<float, 64>(float *, float);
extern "C" __global__ void __launch_bounds__(64) spill(float *p, int n) {
  float a[64];
  for (int i = 0; i < 64; ++i) a[i] = p[i * n];
  for (int i = 0; i < n; ++i) a[(i * 7) % 64] += a[i % 64];
  p[threadIdx.x] = a[n % 64];
}
"""


@pytest.fixture(scope="module")
def module_roots(tmp_path_factory: pytest.TempPathFactory) -> Roots:
    return Roots(ROOT, tmp_path_factory.mktemp("builds"), "the tests' checkout")


@pytest.fixture(scope="module")
def reports(module_roots: Roots) -> dict[str, CompileReport]:
    """Every variant of the case study compiled once for gfx950."""
    with use_roots(module_roots):
        return {name: compile_kernel(name=name, arch="gfx950") for name in VARIANTS}


@pytest.fixture
def built(module_roots: Roots, reports: dict[str, CompileReport]) -> Iterator[dict[str, CompileReport]]:
    with use_roots(module_roots):
        yield reports


FOUR_LOADS = """#include <hip/hip_runtime.h>
extern "C" __global__ void __launch_bounds__(256) k(const float4* a, float4* b, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  float4 s = {0, 0, 0, 0};
  for (int j = 0; j < 8; ++j) { float4 v = a[i + j * n]; s.x += v.x; s.y += v.y; s.z += v.z; s.w += v.w; }
  b[i] = s;
}
"""


def test_features_of_a_target_reach_the_compiler_and_are_said(module_roots: Roots) -> None:
    # With XNACK a load must not overwrite its own address, so the compiler needs more registers.
    with use_roots(module_roots):
        plain, on, off = (
            compile_kernel(source=FOUR_LOADS, arch=f"gfx90a{features}") for features in ("", ":xnack+", ":XNACK-")
        )
        both = compile_kernel(source=FOUR_LOADS, arch="MI300X:xnack-:sramecc+")
    assert plain.kernels[0].vgprs == on.kernels[0].vgprs > off.kernels[0].vgprs
    assert len({plain.build_id, on.build_id, off.build_id}) == 3
    assert (plain.decided_by, off.decided_by) == ("given", "given, with xnack-")
    assert (both.arch, both.decided_by) == ("gfx942", "given, with sramecc+ xnack-")


@pytest.mark.parametrize(
    ("arch", "message"),
    [
        ("gfx942:foo+", "no feature 'foo\\+'"),
        ("gfx942:xnack", "no feature 'xnack'"),
        ("gfx942:xnack+:xnack-", "both on and off"),
    ],
)
def test_features_that_do_not_exist_are_refused(arch: str, message: str) -> None:
    for name, arguments in (
        ("compile_kernel", {"name": "step1_naive"}),
        ("occupancy", {"vgprs": 64}),
        ("search", {"query": "LDS"}),
    ):
        with pytest.raises(UsageError, match=message):
            operations()[name].call({**arguments, "arch": arch})


@pytest.mark.parametrize(
    ("name", "how"), [("verify_kernel", {}), ("profile_kernel", {}), ("profile_kernel", {"device": "hip"})]
)
def test_runs_do_not_claim_features_that_their_build_lacks(name: str, how: dict[str, str]) -> None:
    with pytest.raises(UsageError, match="without xnack-"):
        operations()[name].call({"name": "step1_naive", "arch": "gfx942:xnack-", **how})


@published_compiler
@pytest.mark.parametrize(("name", "figures"), [("step3_nchw_lds", STEP3), ("step5_sgb", STEP5)])
def test_published_figures_are_met_exactly(reports: dict[str, CompileReport], name: str, figures: dict) -> None:
    report = reports[name]
    (kernel,) = report.kernels
    assert {
        "vgprs": kernel.vgprs,
        "waves": kernel.compiler_waves_per_simd,
        "lds_bytes": kernel.lds_bytes,
        "scratch_bytes": kernel.scratch_bytes,
    } == figures
    assert (kernel.vgpr_spills, kernel.sgpr_spills, kernel.workgroup_max) == (0, 0, 256)
    assert kernel.occupancy is not None
    assert (kernel.occupancy.waves_per_simd, kernel.occupancy.limiter) == AT_LAUNCH[name]
    differs = {finding.code for finding in report.precheck} & {"remark_differs"}
    assert bool(differs) is (kernel.occupancy.waves_per_simd != figures["waves"])
    matches = {item.figure: item.match for item in report.published}
    assert all(matches[figure] for figure in ("vgprs", "waves_per_simd", "lds_bytes", "scratch_bytes"))
    assert matches["time_ms"] is None, "a time that nobody measured here is not ours"


@published_compiler
def test_the_hot_loop_of_step3_has_the_published_instructions(reports: dict[str, CompileReport]) -> None:
    loop = reports["step3_nchw_lds"].kernels[0].hot_loop
    assert loop is not None
    assert (loop.mnemonics["v_fmac_f32"], loop.mnemonics["ds_read_b32"]) == (150, 45)
    assert loop.source is not None and loop.source.startswith("step3_nchw_lds.hip:")


def test_every_variant_compiles_without_a_warning(reports: dict[str, CompileReport]) -> None:
    for name, report in reports.items():
        assert (report.total_diagnostics, report.total_kernels, report.arch) == (0, 1, "gfx950"), name
        kernel = report.kernels[0]
        assert sum(kernel.instruction_mix.values()) == kernel.instructions
        assert "unknown" not in kernel.instruction_mix
        assert report.compiler.isolation in ("landlock", "none")


def test_a_figure_that_is_known_to_differ_says_so(reports: dict[str, CompileReport]) -> None:
    differing = [item for item in reports["step4_mfma"].published if item.match is False]
    assert [(item.figure, item.published) for item in differing] == [("scratch_bytes", 304)]
    assert differing[0].note is not None


def test_published_figures_are_shown_only_for_what_they_are_about(built: dict[str, CompileReport]) -> None:
    assert built["step3_nchw_lds"].published
    for other in ({"arch": "gfx942"}, {"shape": "tiny"}, {"flags": ["-O2"]}, {"defines": {"UNUSED": "1"}}):
        assert compile_kernel(name="step3_nchw_lds", **other).published == []


def test_a_product_name_is_resolved_and_said(built: dict[str, CompileReport]) -> None:
    report = compile_kernel(name="step2_nhwc", arch="MI300X")
    assert (report.arch, report.decided_by) == ("gfx942", "MI300X is gfx942")
    assert compile_kernel(name="step2_nhwc").decided_by == "default"


def test_a_second_compile_comes_from_the_cache_with_the_same_answer(built: dict[str, CompileReport]) -> None:
    again = compile_kernel(name="step5_sgb", arch="gfx950")
    assert again.cached
    assert again.model_copy(update={"cached": False}) == built["step5_sgb"]


def test_a_source_with_several_kernels_reports_each_with_findings() -> None:
    report = compile_kernel(source=TWO_KERNELS, arch="gfx942")
    assert sorted(kernel.name for kernel in report.kernels) == ["_Z4fillIfLi64EEvPT_S0_", "spill"]
    by_kernel: dict[str | None, set[str]] = {kernel.name: set() for kernel in report.kernels}
    for finding in report.precheck:
        by_kernel[finding.kernel].add(finding.code)
    assert "no_launch_bounds" in by_kernel["_Z4fillIfLi64EEvPT_S0_"]
    assert "scratch" in by_kernel["spill"] and "no_launch_bounds" not in by_kernel["spill"]
    spill = next(kernel for kernel in report.kernels if kernel.name == "spill")
    assert spill.scratch_bytes and spill.scratch_bytes >= 256


def test_the_launched_workgroup_decides_the_occupancy() -> None:
    small, large = (compile_kernel(source=TWO_KERNELS, workgroup=size).kernels[0].occupancy for size in (64, 1024))
    assert small is not None and large is not None
    assert (small.workgroup, large.workgroup) == (64, 1024)


def test_a_source_without_a_kernel_is_said_so() -> None:
    report = compile_kernel(source="#include <hip/hip_runtime.h>\n__device__ int f() { return 1; }\n")
    assert report.kernels == [] and [finding.code for finding in report.precheck] == ["no_kernel"]
    assert "no_kernel" in render_plain(render(report))


@pytest.mark.parametrize("given", [{}, {"name": "step1_naive", "source": "x"}, {"path": "a.hip", "source": "x"}])
def test_exactly_one_source_is_wanted(given: dict) -> None:
    with pytest.raises(UsageError, match="exactly one"):
        compile_kernel(**given)


def test_wrong_names_fail_loud(tmp_path: Path) -> None:
    with pytest.raises(UnknownName, match="unknown kernel"):
        compile_kernel(name="step9")
    with pytest.raises(UnknownName, match="unknown arch"):
        compile_kernel(name="step1_naive", arch="gfx9999")
    with pytest.raises(UnknownName, match="unknown shape"):
        compile_kernel(name="step1_naive", shape="huge")
    with pytest.raises(UsageError, match="belongs to a kernel given by name"):
        compile_kernel(source="x", shape="tiny")
    with pytest.raises(UsageError, match="no such file"):
        compile_kernel(path=str(tmp_path / "gone.hip"))
    with pytest.raises(UsageError, match="workgroup has 1 to"):
        compile_kernel(name="step1_naive", workgroup=0)


def test_a_target_that_a_kernel_is_not_written_for_is_refused() -> None:
    with pytest.raises(UsageError, match="written for gfx942, gfx950, not for gfx90a"):
        compile_kernel(name="step3_nchw_lds", arch="gfx90a")


def test_a_rejected_source_is_an_error_and_no_other_target_is_tried(roots: Roots) -> None:
    text = '#include <hip/hip_runtime.h>\n__global__ void k(){ asm volatile("v_prng_b32 v0, v1"); }\n'
    assert compile_kernel(source=text, arch="gfx950").arch == "gfx950"
    with pytest.raises(CompileFailed, match="gfx942"):
        compile_kernel(source=text, arch="gfx942")


def test_the_text_names_build_arch_compiler_and_limiter(reports: dict[str, CompileReport]) -> None:
    report = reports["step3_nchw_lds"]
    text = render_plain(render(report))
    for wanted in (f"build:{report.build_id}", "gfx950", "clang version", "isolation", "155", "vgpr", "EvoKernel"):
        assert wanted in text
    assert len(text) < 3000


def test_the_operations_are_in_the_compile_toolset() -> None:
    chosen = {name: op.toolset for name, op in operations().items() if name in ("compile_kernel", "inspect_assembly")}
    assert chosen == {"compile_kernel": "compile", "inspect_assembly": "compile"}
