"""The committed fact table: contested figures are right, everything is cited, derived figures follow from inputs."""

from __future__ import annotations

import ast
import operator
import re
from collections import Counter

import pytest

from kbserver.core.errors import UnknownName
from kbserver.core.sources import sources
from kbserver.core.targets import targets
from kbserver.hardware.fact_model import Fact
from kbserver.hardware.facts import FactTable, load_facts
from kbserver.hardware.known_claims import load_known_claims

ARCHS = ("gfx90a", "gfx942", "gfx950")

# Figures on which agent-facing sources disagree: fact, value, and the ids of those who say otherwise.
CONTESTED = [
    ("gfx950.lds.bytes_per_cu", 163840, {"apex-rag", "geak-kb", "tilelang-362"}),
    ("gfx950.lds.bytes_per_workgroup", 163840, {"apex-rag", "geak-kb", "tilelang-362"}),
    ("gfx942.lds.bytes_per_cu", 65536, set()),
    ("gfx950.mi350x.compute.cus", 256, {"geak-kb", "apex-rag", "evokernel-hw-notes"}),
    ("gfx950.mi355x.compute.cus", 256, {"geak-kb", "apex-rag"}),
    ("gfx950.mi350x.compute.xcds", 8, set()),
    ("gfx950.mi350x.compute.cus_per_xcd", 32, set()),
    ("gfx942.caches.l2_bytes_per_xcd", 4194304, {"evokernel-hw-notes"}),
    ("gfx950.caches.l2_bytes_per_xcd", 4194304, {"apex-rag", "evokernel-hw-notes", "perfxpert-5168"}),
    ("gfx942.caches.infinity_cache_bytes", 268435456, set()),
    ("gfx950.caches.infinity_cache_bytes", 268435456, {"apex-rag", "shark-ai-2005", "geak-kb"}),
    ("gfx950.compiler.offload_arch", "gfx950", {"geak-kb"}),
    ("gfx950.lds.banks", 64, {"agent-kernel-arena", "rocjitsu", "rocm-blog-lds-conflicts"}),
    ("gfx942.lds.banks", 32, set()),
    ("gfx950.lds.ds_read_b32_phases", 2, {"shark-ai-lds"}),
    ("gfx942.caches.l1_vector_bytes", 32768, {"evokernel-hw-notes"}),
    ("gfx950.caches.l1_vector_bytes", 32768, set()),
    ("gfx942.caches.l1_vector_line_bytes", 128, {"evokernel-hw-notes"}),
    ("gfx950.caches.l1_vector_line_bytes", 128, set()),
    ("gfx942.caches.l2_line_bytes", 128, {"evokernel-hw-notes"}),
    ("gfx942.execution.max_waves_per_cu", 32, {"evokernel-hw-notes", "rocm-libraries-8197"}),
    ("gfx950.execution.max_waves_per_cu", 32, {"rocm-libraries-8197"}),
    ("gfx950.execution.max_waves_per_simd", 8, {"rocm-libraries-8197", "shark-ai-guide"}),
    ("gfx950.mi350x.peak.vector_fp64", 72.1, {"perfxpert-5168"}),
    ("gfx950.mi350x.peak.vector_fp32", 144.2, {"perfxpert-5168", "agent-notes"}),
    ("gfx950.mi350x.peak.matrix_bf16", 2306.9, {"kernelguard", "agent-notes"}),
    ("gfx950.mi355x.peak.matrix_bf16", 2516.6, {"kernelguard", "agent-notes"}),
    ("gfx942.mi300x.peak.matrix_bf16", 1307.4, {"evokernel-hw-notes"}),
    ("any.waits.s_barrier_scope", "workgroup", {"agent-kernel-arena"}),
    ("gfx942.registers.vgprs_per_simd_lane", 512, {"flydsl-1027", "xla-47468"}),
    ("gfx950.registers.vgprs_per_simd_lane", 512, {"flydsl-1027", "xla-47468"}),
]

# Typed from the ROCm specification tables, LLVM's AMDGPU backend and the CDNA white papers.
EVERY_ARCH = {
    "lds.bytes_per_cu": (65536, 65536, 163840),
    "lds.bytes_per_workgroup": (65536, 65536, 163840),
    "lds.allocation_granule_bytes": (512, 512, 1280),
    "lds.banks": (32, 32, 64),
    "lds.read_bytes_per_clock": (128, 128, 256),
    "registers.vgprs_per_simd_lane": (512, 512, 512),
    "registers.vgpr_granule": (8, 8, 8),
    "registers.agpr_offset_granule": (4, 4, 4),
    "registers.sgprs_per_simd": (800, 800, 800),
    "registers.sgpr_granule": (16, 16, 16),
    "registers.sgprs_addressable": (102, 102, 102),
    "registers.trap_handler_sgprs": (16, 16, 16),
    "execution.wavefront_size": (64, 64, 64),
    "execution.simds_per_cu": (4, 4, 4),
    "execution.max_waves_per_simd": (8, 8, 8),
    "execution.max_waves_per_cu": (32, 32, 32),
    "execution.max_workgroup_size": (1024, 1024, 1024),
    "execution.max_workgroups_per_cu": (16, 16, 16),
    "caches.l1_vector_bytes": (16384, 32768, 32768),
    "caches.l1_vector_line_bytes": (64, 128, 128),
    "caches.l2_line_bytes": (128, 128, 128),
    "caches.infinity_cache_bytes": (0, 268435456, 268435456),
}

PRODUCTS = {
    "gfx90a.mi210": (104, 1700, 1.6, 64),
    "gfx90a.mi250": (208, 1700, 3.2, 128),
    "gfx90a.mi250x": (220, 1700, 3.2, 128),
    "gfx942.mi300a": (228, 2100, 5.3, 128),
    "gfx942.mi300x": (304, 2100, 5.3, 192),
    "gfx942.mi325x": (304, 2100, 6.0, 256),
    "gfx942.mi308x": (80, 1420, None, None),
    "gfx950.mi350x": (256, 2200, 8.0, 288),
    "gfx950.mi355x": (256, 2400, 8.0, 288),
}


@pytest.fixture
def table() -> FactTable:
    return load_facts()


@pytest.mark.parametrize(("fact_id", "value", "others"), CONTESTED, ids=[row[0] for row in CONTESTED])
def test_a_contested_figure_is_right_and_names_who_says_otherwise(
    table: FactTable, fact_id: str, value: object, others: set[str]
) -> None:
    fact = table.get(fact_id)

    assert fact.value == value
    assert others <= {ref.id for conflict in fact.conflicts for ref in conflict.sources}
    assert all(conflict.value != value for conflict in fact.conflicts)


def test_the_occupancy_remark_is_an_upper_bound_that_lds_may_lower(table: FactTable) -> None:
    fact = table.get("any.compiler.occupancy_remark")

    assert "never dynamic LDS" in str(fact.value)
    assert "floor(LDS per CU / LDS per workgroup" in (fact.note or "")
    assert {"evokernel-trajectory"} <= {ref.id for one in fact.conflicts for ref in one.sources}


@pytest.mark.parametrize("key", EVERY_ARCH)
def test_figures_that_occupancy_and_documents_rest_on(table: FactTable, key: str) -> None:
    assert tuple(table.get(f"{arch}.{key}").value for arch in ARCHS) == EVERY_ARCH[key]


@pytest.mark.parametrize("product", PRODUCTS)
def test_products_have_their_own_figures(table: FactTable, product: str) -> None:
    cus, mhz, bandwidth, gib = PRODUCTS[product]

    assert table.get(f"{product}.compute.cus").value == cus
    assert table.get(f"{product}.clock.max_engine_mhz").value == mhz
    if bandwidth is not None:
        assert table.get(f"{product}.memory.hbm_bandwidth").value == bandwidth
    if gib is not None:
        assert table.get(f"{product}.memory.vram_bytes").value == gib * 1024**3


def test_what_nobody_publishes_is_unknown(table: FactTable) -> None:
    unknown = {fact.id for fact in table if not fact.known}

    assert "gfx942.mi308x.memory.hbm_bandwidth" in unknown
    assert all(table.get(one).evidence == "none" and table.get(one).note for one in unknown)
    assert table.rendered("gfx942.mi325x.power.board_watts") == "unknown"


def test_latencies_are_those_measured_on_a_board_that_is_named(table: FactTable) -> None:
    # Medians of caps-tum/mt4g, sample_results: MI210, MI300A, MI300X VF and MI350P.
    assert [table.get(f"{board}.latency.memory_cycles").value for board in ("gfx90a.mi210", "gfx942.mi300a")] == [
        {"lds": 48, "l1_scalar": 48, "l1_vector": 124, "l2": 292, "hbm": 684},
        {"lds": 48, "l1_scalar": 48, "l1_vector": 112, "l2": 268, "infinity_cache": 492, "hbm": 844},
    ]
    assert table.get("gfx942.mi300x.latency.memory_cycles").value["hbm"] == 876
    later = table.get("gfx950.latency.memory_cycles")
    assert (later.value["l2"], later.value["hbm"]) == (256, 740)
    assert "MI350P" in (later.note or "") and {ref.id for one in later.conflicts for ref in one.sources} == {
        "triton-fb-2507"
    }


def test_every_known_fact_has_a_source_and_every_conflict_a_reason(table: FactTable) -> None:
    for fact in table:
        assert fact.sources or not fact.known, fact.id
        for conflict in fact.conflicts:
            assert conflict.sources and conflict.reason.endswith((".", ".)")), fact.id


def test_every_source_can_be_opened_or_says_why_not() -> None:
    for source in sources().values():
        if source.url is None:
            assert source.note, source.id
        else:
            assert re.fullmatch(r"https?://[\w.-]+\.[a-z]+(/\S*)?", source.url), source.id


def test_no_fact_points_into_a_private_folder(table: FactTable) -> None:
    for fact in table:
        assert "research/" not in fact.model_dump_json(), fact.id


def test_chip_ids_agree_with_the_table_of_products(table: FactTable) -> None:
    for product in targets().products.values():
        prefix = f"{product.arch}.{product.name.lower().replace(' ', '')}.device"
        assert [int(str(table.get(f"{prefix}.chip_id").value), 16)] == list(product.chip_ids)


def test_ids_are_unique_and_names_say_what_they_are(table: FactTable) -> None:
    assert max(Counter(fact.id for fact in table).values()) == 1
    assert all(len(fact.name) > 2 for fact in table)


def test_an_unknown_id_comes_with_near_ids(table: FactTable) -> None:
    with pytest.raises(UnknownName) as caught:
        table.get("gfx950.lds.bank")

    assert "gfx950.lds.banks" in caught.value.details["near"]


OPERATORS = {ast.Mult: operator.mul, ast.Div: operator.truediv, ast.Add: operator.add, ast.Sub: operator.sub}


def evaluate(formula: str, values: dict[str, float]) -> float:
    """Compute a formula of fact ids, numbers and the four operations."""
    names = {fact_id: f"f{number}" for number, fact_id in enumerate(sorted(values, key=len, reverse=True))}
    for fact_id, name in names.items():
        formula = formula.replace(fact_id, name)
    by_name = {names[fact_id]: value for fact_id, value in values.items()}

    def walk(node: ast.AST) -> float:
        if isinstance(node, ast.Expression):
            return walk(node.body)
        if isinstance(node, ast.BinOp):
            return OPERATORS[type(node.op)](walk(node.left), walk(node.right))
        if isinstance(node, ast.Name):
            return by_name[node.id]
        assert isinstance(node, ast.Constant)
        return float(node.value)

    return walk(ast.parse(formula, mode="eval"))


def with_formula() -> list[Fact]:
    return [fact for fact in load_facts() if fact.formula]


def test_facts_with_a_formula_follow_from_their_inputs(table: FactTable) -> None:
    checked = 0
    for fact in with_formula():
        values = {one: table.get(one).value for one in fact.inputs}
        assert all(isinstance(value, int | float) for value in values.values()), fact.id
        assert fact.value == pytest.approx(evaluate(fact.formula or "", values), abs=0.051), fact.id
        checked += 1
    assert checked > 90


def test_every_derived_fact_has_a_formula(table: FactTable) -> None:
    assert {fact.id for fact in table if fact.evidence == "derived"} <= {fact.id for fact in with_formula()}


@pytest.mark.parametrize("arch", ARCHS)
def test_the_occupancy_steps_follow_from_the_register_file(table: FactTable, arch: str) -> None:
    steps = table.get(f"{arch}.execution.waves_per_simd_by_vgprs").value

    for span, waves in steps.items():
        first, last = map(int, span.split("-"))
        assert [min(8, 512 // (-(-count // 8) * 8)) for count in (first, last)] == [waves, waves]


def matrix_facts() -> list[Fact]:
    return [fact for fact in load_facts() if isinstance(fact.value, dict) and fact.key.startswith("mfma.v_")]


def test_matrix_instructions_agree_with_their_shape() -> None:
    for fact in matrix_facts():
        value = fact.value
        assert value["ops"] == 2 * value["m"] * value["n"] * value["k"] * value["blocks"], fact.id
        assert value["cycles"] == 4 * value["passes"], fact.id
        assert value["ops_per_cu_per_clock"] == 4 * value["ops"] // value["cycles"], fact.id


@pytest.mark.parametrize(
    ("arch", "name", "rate"),
    [
        ("gfx90a", "v_mfma_f32_32x32x8bf16_1k", "matrix_bf16"),
        ("gfx942", "v_mfma_f32_16x16x16_f16", "matrix_fp16"),
        ("gfx942", "v_mfma_f32_32x32x4_xf32", "matrix_tf32"),
        ("gfx950", "v_mfma_f32_16x16x32_bf16", "matrix_bf16"),
        ("gfx950", "v_mfma_i32_32x32x32_i8", "matrix_int8"),
        ("gfx950", "v_mfma_f32_32x32x64_f8f6f4", "matrix_mxfp4"),
        ("gfx950", "v_mfma_f64_16x16x4_f64", "matrix_fp64"),
    ],
)
def test_the_rate_of_a_target_is_that_of_its_best_instruction(
    table: FactTable, arch: str, name: str, rate: str
) -> None:
    instruction = table.get(f"{arch}.mfma.{name}").value

    assert instruction["ops_per_cu_per_clock"] == table.get(f"{arch}.rate.{rate}").value


def test_phases_partition_the_wavefront(table: FactTable) -> None:
    for fact in table:
        if not fact.key.endswith("_lane_groups"):
            continue
        lanes = []
        for group in fact.value:
            for span in group.split(","):
                first, last = map(int, span.split("-"))
                lanes += range(first, last + 1)
        assert sorted(lanes) == list(range(64)), fact.id
        assert len(fact.value) == table.get(fact.id.replace("_lane_groups", "_phases")).value


def test_known_claims_name_facts_that_exist(table: FactTable) -> None:
    claims = {claim.id: claim for claim in load_known_claims()}

    assert len(claims) == 27
    assert Counter(claim.verdict for claim in claims.values())["supported"] == 1
    assert claims["cdna3-waves-16"].verdict == "contradicted"
    assert claims["cdna3-waves-16"].facts[0].value == 32
    assert claims["mi308x-clock"].verdict == "doubtful"
