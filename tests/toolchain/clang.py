"""Runs the pip compiler on HIP text with our headers and nothing else, and reads its assembly.

Kept apart from kbserver.toolchain on purpose: these tests judge the headers and kernels, not the build code.
"""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = ROOT / "kbserver" / "toolchain" / "include"

needs_clang = pytest.mark.skipif(
    importlib.util.find_spec("ziglang") is None,
    reason="SKIPPED LOUDLY: the compiler is not installed (pip install 'kbserver[compile]' brings ziglang)",
)


@dataclass(frozen=True)
class Compiled:
    """The outcome of one compile. `text` is the assembly, empty when the compiler refused."""

    status: int
    text: str
    diagnostics: str

    def figure(self, name: str) -> int:
        """Return a number of the metadata or of the kernel descriptor directives, e.g. `vgpr_count`."""
        found = re.search(rf"^[\s-]*\.(?:amdhsa_)?{name}:?\s+(\d+)", self.text, re.M)
        assert found, f"no {name} in the assembly"
        return int(found[1])

    @property
    def waves_per_simd(self) -> int:
        found = re.search(r"; Occupancy: (\d+)", self.text)
        assert found
        return int(found[1])

    @cached_property
    def blocks(self) -> list[list[str]]:
        """Mnemonics of each basic block, without encoding suffix; `s_endpgm` closes the last one."""
        blocks: list[list[str]] = [[]]
        for line in self.text.splitlines():
            if re.match(r"\.LBB\w+:|; %bb", line):
                blocks.append([])
            elif found := re.match(r"\t([a-z]\w+)", line):
                blocks[-1].append(re.sub(r"_e(?:32|64)$", "", found[1]))
        return blocks

    @property
    def mnemonics(self) -> set[str]:
        return {name for block in self.blocks for name in block}

    def largest_block(self) -> Counter[str]:
        """The main loop of the convolution kernels is one block, and the longest."""
        return Counter(max(self.blocks, key=len))


@lru_cache(maxsize=64)
def compile_hip(source: str | Path, arch: str = "gfx950", flags: tuple[str, ...] = ()) -> Compiled:
    """Compile a file or a text for the device alone, every warning on, with no header of this machine in reach."""
    words = "-x hip --cuda-device-only -nogpuinc -nogpulib -nostdinc -nostdinc++ -O3 -std=c++17 -Wall -Wextra -S -o -"
    command = [sys.executable, "-m", "ziglang", "clang", *words.split(), f"--offload-arch={arch}"]
    command += ["-I", str(INCLUDE), "-I", str(INCLUDE / "std"), *flags]
    is_file = isinstance(source, Path)
    done = subprocess.run(
        [*command, str(source) if is_file else "-"],
        input=None if is_file else str(source),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return Compiled(done.returncode, done.stdout if done.returncode == 0 else "", done.stderr)


def assembles(text: str, arch: str, folder: Path) -> str:
    """Return the assembler's complaints: the compiler prints inline assembly without checking its operands."""
    source = folder / "kernel.s"
    source.write_text(text, "utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "ziglang", "clang", "-target", "amdgcn-amd-amdhsa", f"-mcpu={arch}"),
            *("-c", str(source), "-o", str(folder / "kernel.o")),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    return done.stderr if done.returncode else ""
