"""`hardware_fact`: asked as people ask, it gives the figure, who says so, and who says otherwise."""

from __future__ import annotations

import pytest

from kbserver.core.errors import UnknownName, UsageError
from kbserver.ops import hardware_fact
from kbserver.render import render, render_plain

ASKED = [
    ("gfx950.lds.bytes_per_workgroup", {}, "gfx950.lds.bytes_per_workgroup", 163840),
    ("fact:gfx942.lds.banks", {}, "gfx942.lds.banks", 32),
    ("lds", {"arch": "gfx950"}, "gfx950.lds.bytes_per_cu", 163840),
    ("shared memory size", {"arch": "MI355X"}, "gfx950.lds.bytes_per_cu", 163840),
    ("smem", {"arch": "CDNA4"}, "gfx950.lds.bytes_per_cu", 163840),
    ("LDS limit", {"arch": "gfx942"}, "gfx942.lds.bytes_per_workgroup", 65536),
    ("how much LDS can a workgroup use on MI355X?", {}, "gfx950.lds.bytes_per_workgroup", 163840),
    ("banks", {"arch": "gfx950"}, "gfx950.lds.banks", 64),
    ("number of LDS banks", {"arch": "gfx942"}, "gfx942.lds.banks", 32),
    ("L2", {"arch": "gfx950"}, "gfx950.caches.l2_bytes_per_xcd", 4194304),
    ("L2 size MI250X", {}, "gfx90a.caches.l2_bytes_per_gcd", 8388608),
    ("infinity cache", {"product": "MI350X"}, "gfx950.caches.infinity_cache_bytes", 268435456),
    ("MALL", {"arch": "gfx942"}, "gfx942.caches.infinity_cache_bytes", 268435456),
    ("bf16 peak", {"product": "MI300X"}, "gfx942.mi300x.peak.matrix_bf16", 1307.4),
    ("peak bf16 mi355x", {}, "gfx950.mi355x.peak.matrix_bf16", 2516.6),
    ("waves per simd", {"arch": "gfx90a"}, "gfx90a.execution.max_waves_per_simd", 8),
    ("max waves per CU", {"arch": "gfx942"}, "gfx942.execution.max_waves_per_cu", 32),
    ("warp size", {"arch": "gfx942"}, "gfx942.execution.wavefront_size", 64),
    ("vgpr granularity", {"arch": "gfx950"}, "gfx950.registers.vgpr_granule", 8),
    ("hbm bandwidth", {"product": "mi325x"}, "gfx942.mi325x.memory.hbm_bandwidth", 6.0),
    ("cache line size", {"arch": "gfx90a"}, "gfx90a.caches.l1_vector_line_bytes", 64),
    ("offload-arch", {"product": "MI350X"}, "gfx950.compiler.offload_arch", "gfx950"),
    ("scope of s_barrier", {}, "any.waits.s_barrier_scope", "workgroup"),
    ("how many compute units has the MI308X", {}, "gfx942.mi308x.compute.cus", 80),
    ("v_mfma_f64_16x16x4_f64 passes", {"arch": "gfx950"}, "gfx950.mfma.v_mfma_f64_16x16x4_f64", None),
]


@pytest.mark.parametrize(("query", "scope", "fact_id", "value"), ASKED, ids=[row[0] for row in ASKED])
def test_asked_as_people_ask_the_first_fact_answers(
    query: str, scope: dict[str, str], fact_id: str, value: object
) -> None:
    first = hardware_fact(query, **scope).facts[0]

    assert first.id == fact_id
    assert value is None or first.value == value


def test_without_a_target_all_stand_side_by_side() -> None:
    result = hardware_fact("lds banks")

    assert [(fact.arch, fact.value) for fact in result.facts] == [("gfx90a", 32), ("gfx942", 32), ("gfx950", 64)]
    assert result.arch is None
    assert result.decided_by == "all targets: none was given"


def test_a_product_implies_its_target_and_says_so() -> None:
    result = hardware_fact("lds banks", product="MI355X")

    assert (result.arch, result.product, result.decided_by) == ("gfx950", "MI355X", "MI355X is gfx950")
    assert [fact.value for fact in result.facts] == [64]


def test_a_product_given_as_arch_is_the_product() -> None:
    result = hardware_fact("bf16 peak", arch="MI350X")

    assert [fact.id for fact in result.facts] == ["gfx950.mi350x.peak.matrix_bf16"]


@pytest.mark.parametrize(
    ("scope", "said"),
    [
        ({"product": "MI355X", "arch": "gfx942"}, "MI355X is a product of gfx950, not of gfx942"),
        ({"product": "MI300X", "arch": "MI325X"}, "arch names MI325X and product names MI300X"),
    ],
)
def test_a_product_of_another_target_is_refused(scope: dict[str, str], said: str) -> None:
    with pytest.raises(UsageError) as caught:
        hardware_fact("lds", **scope)

    assert caught.value.message == said


@pytest.mark.parametrize(
    ("query", "scope"),
    [
        ("gfx942.lds.banks", {"arch": "gfx950"}),
        ("gfx942.mi300x.compute.cus", {"product": "MI325X"}),
        ("lds on gfx942", {"arch": "gfx950"}),
        ("bf16 peak MI300X", {"product": "MI355X"}),
        ("gfx942.lds", {"arch": "gfx950"}),
        ("lds banks gfx942 gfx950", {}),
    ],
)
def test_a_query_that_names_another_target_than_asked_is_refused(query: str, scope: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        hardware_fact(query, **scope)


@pytest.mark.parametrize("product", ["MI358X", "MI300X HF", "MI308X HF"])
def test_a_product_without_a_figure_of_its_own_is_unknown(product: str) -> None:
    [fact] = hardware_fact("bf16 peak", product=product).facts

    assert (fact.value, fact.evidence, fact.shown) == (None, "none", "unknown")
    assert f"No figure of {product} is recorded" in (fact.note or "")


def test_a_figure_known_for_some_products_is_not_given_to_the_others() -> None:
    [fact] = hardware_fact("infinity cache", product="MI358X").facts

    assert fact.value is None
    assert fact.id == "gfx950.mi358x.caches.infinity_cache_bytes"


def test_a_figure_of_the_target_holds_for_a_product_without_one_of_its_own() -> None:
    [fact] = hardware_fact("banks", product="MI358X").facts

    assert (fact.id, fact.value) == ("gfx950.lds.banks", 64)


def test_a_recorded_gap_is_unknown_with_what_was_looked_for() -> None:
    [fact] = hardware_fact("hbm bandwidth", product="MI308X").facts

    assert fact.value is None
    assert "No specification of this board was found" in (fact.note or "")


def test_who_says_otherwise_comes_with_the_answer() -> None:
    fact = hardware_fact("gfx950.lds.bytes_per_cu").facts[0]

    assert (fact.conflicts[0].value, fact.conflicts[0].shown) == (65536, "64 KiB (65,536 B)")
    assert {ref.id for ref in fact.conflicts[0].sources} == {"apex-rag", "geak-kb", "tilelang-362"}
    assert all(one.reason for one in fact.conflicts)


@pytest.mark.parametrize(
    ("query", "near"),
    [
        ("lsd", "lds"),
        ("gfx950.lds.bank", "lds.banks"),
        ("infinty cache", "infinity cache"),
        ("wavez per simd", "waves per simd"),
    ],
)
def test_an_unknown_name_comes_with_near_names(query: str, near: str) -> None:
    with pytest.raises(UnknownName) as caught:
        hardware_fact(query)

    assert near in caught.value.details["near"]


@pytest.mark.parametrize("query", ["quantum flux capacitor", "banana lds", "the of and", "!!!", "тест", "x" * 300])
def test_a_query_that_matches_nothing_is_an_error_and_not_a_guess(query: str) -> None:
    with pytest.raises((UnknownName, UsageError)):
        hardware_fact(query)


@pytest.mark.parametrize("query", ["", "   ", "gfx950", "MI355X", "x" * 100_000])
def test_a_query_that_asks_nothing_says_how_to_ask(query: str) -> None:
    with pytest.raises(UsageError) as caught:
        hardware_fact(query)

    assert "lds" in (caught.value.hint or "")


@pytest.mark.parametrize("arch", ["gfx940", "gfx1100", "H100", "gfx95"])
def test_an_unknown_target_fails_with_near_names_and_never_falls_back(arch: str) -> None:
    with pytest.raises(UnknownName):
        hardware_fact("lds", arch=arch)


def test_a_target_that_lacks_the_fact_names_where_it_exists() -> None:
    with pytest.raises(UnknownName) as caught:
        hardware_fact("new instructions", arch="gfx90a")

    assert "gfx950.isa.new_since_gfx942_count" in (caught.value.hint or "")


def test_many_facts_are_capped_with_their_total() -> None:
    result = hardware_fact("gfx950.mfma")

    assert (len(result.facts), result.total, result.truncated) == (12, 68, True)


def test_the_text_names_value_evidence_source_and_dissent() -> None:
    text = render_plain(render(hardware_fact("lds banks", arch="gfx950")))

    assert text.startswith("gfx950 (given); 1 fact\nLDS banks, gfx950: 64 banks [vendor] fact:gfx950.lds.banks\n")
    assert "source: AMD CDNA 4 instruction set architecture reference (section 2.2.1" in text
    assert "contested: 32 banks says AMD-AGI AgentKernelArena" in text
    assert "Not taken: Carried over from CDNA 3." in text


def test_the_text_says_unknown() -> None:
    text = render_plain(render(hardware_fact("bf16 peak", product="MI358X")))

    assert "Matrix BF16 peak, MI358X: unknown [nobody says]" in text


def test_json_keeps_the_promised_keys() -> None:
    data = hardware_fact("lds", arch="gfx950").to_json()

    assert {"query", "arch", "product", "decided_by", "facts", "total", "truncated"} <= set(data)
    keys = {"id", "arch", "product", "name", "value", "unit", "evidence", "sources", "conflicts"}
    assert keys <= set(data["facts"][0])
    assert type(data["facts"][0]["value"]) is int
