"""One right call and several wrong ones for every operation: the surfaces' tests go over them all."""

from __future__ import annotations

from typing import Any

TINY_KERNEL = (
    "#include <hip/hip_runtime.h>\n"
    'extern "C" __global__ void __launch_bounds__(64) twice(float* p) { p[threadIdx.x] *= 2.0f; }\n'
)

# operation -> (arguments, the same as words of the command line)
RIGHT: dict[str, tuple[dict[str, Any], list[str]]] = {
    "knowledge_map": ({}, ["map"]),
    "search": (
        {"query": "LDS size of one workgroup on MI355X", "limit": 3},
        ["search", "LDS size of one workgroup on MI355X", "-n", "3"],
    ),
    "read": ({"ref": "fact:gfx950.lds.bytes_per_workgroup"}, ["read", "fact:gfx950.lds.bytes_per_workgroup"]),
    "hardware_fact": ({"query": "lds", "arch": "gfx950"}, ["fact", "lds", "--arch", "gfx950"]),
    "instruction": (
        {"mnemonic": "v_mfma_f32_16x16x32_bf16", "arch": "gfx950", "element": "C[5][9]"},
        ["isa", "v_mfma_f32_16x16x32_bf16", "--arch", "gfx950", "--element", "C[5][9]"],
    ),
    "occupancy": (
        {"arch": "gfx950", "vgprs": 86, "lds": 32576, "workgroup": 256},
        ["occupancy", "--arch", "gfx950", "--vgprs", "86", "--lds", "32576", "--workgroup", "256"],
    ),
    "compile_kernel": (
        {"name": "step1_naive", "arch": "gfx942"},
        ["compile", "step1_naive", "--arch", "gfx942"],
    ),
    "inspect_assembly": (
        {"name": "step1_naive", "arch": "gfx942", "grep": "s_endpgm"},
        ["asm", "step1_naive", "--arch", "gfx942", "--grep", "s_endpgm"],
    ),
    "verify_kernel": (
        {"name": "step3_nchw_lds", "seeds": [1, 2], "threads": 1},
        ["verify", "step3_nchw_lds", "--seed", "1", "--seed", "2", "--threads", "1"],
    ),
    "profile_kernel": (
        {"name": "step3_nchw_lds", "sample": "all", "threads": 1},
        ["profile", "step3_nchw_lds", "--sample", "all", "--threads", "1"],
    ),
    "check_claims": (
        {"text": "MI350X has 64 KB of LDS per CU."},
        ["check", "MI350X has 64 KB of LDS per CU."],
    ),
    "record_lesson": ({"action": "list"}, ["lesson", "list"]),
}

# Operations whose right answer depends on the machine: their agreement is tested on an error that does not.
MACHINE_DEPENDENT = {"device_info", "time_kernel"}

HOSTILE_VALUES: list[Any] = [
    "",
    "   ",
    "!!!",
    "\x00",
    "тест 検索 ✓",
    "../../etc/passwd",
    "..%2F..%2Fetc%2Fpasswd",
    "/etc/passwd",
    "A" * 100_000,
    "'; DROP TABLE lessons; --",
    "{fact:gfx950.lds.bytes_per_workgroup}",
    -1,
    0,
    10**30,
    1.5,
    True,
    None,
    [],
    {},
    ["a", 1],
    {"a": {"b": 1}},
]
