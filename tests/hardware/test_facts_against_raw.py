"""The committed table against the raw collection it was made from: no figure was lost or changed on the way."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from kbserver.hardware.facts import FactTable, load_facts

KIB, MIB, GIB = 1024, 1024**2, 1024**3

# Raw name -> (key, factor); one entry of the raw collection becomes the fact of its target or product.
SAME = {
    "compute_units": ("compute.cus", 1),
    "xcd_count": ("compute.xcds", 1),
    "vram_capacity": ("memory.vram_bytes", GIB),
    "vram_pool": ("memory.vram_pool_bytes", KIB),
    "vram_pool_reported": ("memory.vram_pool_bytes", KIB),
    "hbm_bandwidth": ("memory.hbm_bandwidth", 1),
    "max_engine_clock": ("clock.max_engine_mhz", 1),
    "board_power": ("power.board_watts", 1),
    "l2_total": ("caches.l2_total_bytes", MIB),
    "lds_per_cu": ("lds.bytes_per_cu", KIB),
    "l1_vector_cache": ("caches.l1_vector_bytes", KIB),
    "l1_scalar_cache": ("caches.l1_scalar_bytes", KIB),
    "l1_instruction_cache": ("caches.l1_instruction_bytes", KIB),
    "infinity_cache": ("caches.infinity_cache_bytes", MIB),
    "vgpr_file": ("registers.vgpr_file_bytes", KIB),
    "sgpr_file": ("registers.sgpr_file_bytes", KIB),
    "wavefront_size": ("execution.wavefront_size", 1),
    "simds_per_cu": ("execution.simds_per_cu", 1),
    "max_waves_per_simd": ("execution.max_waves_per_simd", 1),
    "max_waves_per_cu": ("execution.max_waves_per_cu", 1),
    "max_workgroup_size": ("execution.max_workgroup_size", 1),
    "max_workgroups_per_cu": ("execution.max_workgroups_per_cu", 1),
    "vgprs_per_simd_lane": ("registers.vgprs_per_simd_lane", 1),
    "vgpr_allocation_granule": ("registers.vgpr_granule", 1),
    "agpr_offset_granule": ("registers.agpr_offset_granule", 1),
    "sgprs_per_simd": ("registers.sgprs_per_simd", 1),
    "sgpr_allocation_granule": ("registers.sgpr_granule", 1),
    "sgpr_addressable": ("registers.sgprs_addressable", 1),
    "lds_max_per_workgroup": ("lds.bytes_per_workgroup", 1),
    "lds_allocation_granule": ("lds.allocation_granule_bytes", 1),
    "lds_banks": ("lds.banks", 1),
    "lds_bandwidth": ("lds.read_bytes_per_clock", 1),
    "vl1d_line": ("caches.l1_vector_line_bytes", 1),
    "l2_line": ("caches.l2_line_bytes", 1),
}
KINDS = {"vec": "vector", "mat": "matrix"}


@pytest.fixture(scope="module")
def raw(shared_data: Path) -> list[dict[str, Any]]:
    return yaml.safe_load((shared_data / "facts.yaml").read_text(encoding="utf-8"))


@pytest.fixture
def table() -> FactTable:
    return load_facts()


def key_of(name: str) -> tuple[str, float] | None:
    if name in SAME:
        return SAME[name]
    for prefix, area in (("flops_per_clk_per_cu_", "rate"), ("peak_", "peak")):
        kind, _, dtype = name.removeprefix(prefix).partition("_")
        if name.startswith(prefix) and kind in KINDS:
            return f"{area}.{KINDS[kind]}_{dtype}", 1
    return None


def test_every_plain_figure_arrived_unchanged(raw: list[dict[str, Any]], table: FactTable) -> None:
    compared = 0
    for entry in raw:
        found = key_of(entry["name"])
        if found is None or entry["arch"] == "seed":
            continue
        key, factor = found
        product = entry.get("product")
        ids = [f"{entry['arch']}.{product.lower().replace(' ', '')}.{key}"] if product else []
        fact = next((table.get(one) for one in (*ids, f"{entry['arch']}.{key}") if one in table), None)
        assert fact is not None, entry["name"]
        value = entry["value"]
        assert fact.value == (None if value is None else pytest.approx(value * factor)), (fact.id, value)
        compared += 1
    assert compared == 269


def test_every_matrix_instruction_arrived_unchanged(raw: list[dict[str, Any]], table: FactTable) -> None:
    instructions = [entry for entry in raw if entry["unit"] == "matrix instruction"]

    for entry in instructions:
        was, now = entry["value"], table.get(f"{entry['arch']}.mfma.{entry['name']}").value
        assert [now[k] for k in ("m", "n", "k", "blocks", "ops")] == [was[k] for k in ("M", "N", "K", "blocks", "ops")]
        if isinstance(was["cycles"], int):
            assert (now["cycles"], now["passes"]) == (was["cycles"], was["passes"])
            assert now["ops_per_cu_per_clock"] == was["ops_per_cu_per_cycle"]
            assert [now.get(f"vgprs_{one}") for one in "abd"] == was.get("vgprs_A_B_D", [None] * 3)
    assert len(instructions) == 125


def test_lds_read_times_arrived_unchanged(raw: list[dict[str, Any]], table: FactTable) -> None:
    compared = 0
    for entry in raw:
        name, found, stride = entry["name"].partition("_64_reads_stride_")
        if not found:
            continue
        fact = table.get(f"{entry['arch']}.{entry['product'].lower()}.latency.{name}_64_reads")
        assert fact.value[f"stride_{stride.removesuffix('B')}"] == entry["value"]
        compared += 1
    assert compared == 21
