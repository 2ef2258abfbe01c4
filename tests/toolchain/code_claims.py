"""Compiles small kernels for claims of the documents and gives the instructions of each."""

from __future__ import annotations

import re
from functools import lru_cache

from tests.toolchain.clang import compile_hip

PRELUDE = """
#define KERNEL extern "C" __attribute__((global, amdgpu_flat_work_group_size(256, 256)))
#define LDS static __attribute__((shared))
#define IN_LDS __attribute__((address_space(3)))
#define LANE __builtin_amdgcn_workitem_id_x()
#define AGENT __HIP_MEMORY_SCOPE_AGENT
#define SYSTEM __HIP_MEMORY_SCOPE_SYSTEM
#define SYNC() __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup"); __builtin_amdgcn_s_barrier(); \\
               __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup")
typedef unsigned u32;
typedef unsigned long long u64;
typedef float f2 __attribute__((ext_vector_type(2)));
typedef float f4 __attribute__((ext_vector_type(4)));
typedef u32 u4 __attribute__((ext_vector_type(4)));
typedef int i8 __attribute__((ext_vector_type(8)));
typedef _Float16 h2 __attribute__((ext_vector_type(2)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef __bf16 b2 __attribute__((ext_vector_type(2)));
"""
WITHOUT_BOUND = PRELUDE.replace(", amdgpu_flat_work_group_size(256, 256)", "")
"""The same with kernels whose workgroup the compiler does not know."""
QUIET = ("-Wno-c++20-extensions", "-Wno-pass-failed", "-Wno-unused-variable")


@lru_cache(maxsize=32)
def instructions(source: str, arch: str, *flags: str) -> dict[str, list[str]]:
    """Return the instruction lines of each kernel of `source`, without comments."""
    built = compile_hip(PRELUDE + source, arch, (*QUIET, *flags))
    assert built.status == 0, built.diagnostics
    found: dict[str, list[str]] = {}
    name = ""
    for line in built.text.splitlines():
        if label := re.match(r"([a-z]\w*):\s", line):
            name = label[1]
        elif name and (instruction := re.match(r"\t([a-z]\w+[^;]*)", line)):
            found.setdefault(name, []).append(instruction[1].rstrip())
    return found


def refused(source: str, arch: str, *flags: str) -> str:
    """Return the complaints of a source that must not compile."""
    built = compile_hip(PRELUDE + source, arch, (*QUIET, *flags))
    assert built.status != 0
    return built.diagnostics


def names(lines: list[str]) -> list[str]:
    """Return mnemonics without the suffix that says how an instruction is encoded."""
    return [re.sub(r"_e(?:32|64)$", "", line.split()[0]) for line in lines]


def vector_count(lines: list[str], plain: list[str]) -> int:
    """Return how many VALU instructions a kernel has beyond those of `plain`, which only moves the data."""
    return sum(name.startswith("v_") for name in names(lines)) - sum(name.startswith("v_") for name in names(plain))
