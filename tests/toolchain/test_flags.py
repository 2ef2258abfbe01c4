"""Compiler flags: an allow-list, and a reason for every refusal."""

from __future__ import annotations

import pytest

from kbserver.core.errors import UsageError
from kbserver.toolchain.flags import checked_flags, define_flags

ALLOWED = [
    "-O2", "-Ofast", "-ffast-math", "-fno-unroll-loops", "-ffp-contract=off", "-munsafe-fp-atomics", "-mno-tgsplit",
    "-Wall", "-Wno-unused-variable", "-Werror=vla", "-std=c++20", "-DTILE=8", "-DF(x)=x", "-UNDEBUG",
    "-Rpass-analysis=kernel-resource-usage", "-g", "--param=max-unroll=2", "-ftemplate-depth=2000",
]  # fmt: skip
REFUSED = [
    "-include", "-includefile", "-I/etc", "-isystem", "-o", "-oout", "-fplugin=x.so", "-fpass-plugin=x.so", "@file",
    "-Xclang", "-load", "-B/tmp", "-specs=x", "--sysroot=/", "-Wl,-rpath", "-Wa,-I/", "-Wp,-MD,x", "-save-temps",
    "-fsave-optimization-record", "-fprofile-use=/etc/passwd", "-fdump-record-layouts", "-ffile-prefix-map=a=b",
    "-mcpu=gfx942", "--offload-arch=gfx942", "-march=native", "-target", "-x", "-S", "-c", "-E", "-v", "a.hip",
    "/etc/passwd", "", "-", "--config=x", "-fmodule-file=x", "-fsanitize-blacklist=x", "-D", "-D1X=2", "-DX=a\nb",
    "-std=c11", "-mllvm", "-foptimization-record-file=x", "-ftime-trace=/tmp/x", "-working-directory=/",
    "-O2 -o x", "-fuse-ld=/tmp/x",
]  # fmt: skip


@pytest.mark.parametrize("flag", ALLOWED)
def test_flags_of_code_generation_pass(flag: str) -> None:
    assert checked_flags([flag]) == (flag,)


@pytest.mark.parametrize("flag", REFUSED)
def test_flags_that_touch_files_target_or_output_are_refused(flag: str) -> None:
    with pytest.raises(UsageError) as error:
        checked_flags(["-O2", flag])
    assert error.value.where == "flags" and "refused" in error.value.message


def test_options_of_the_back_end_pass_in_both_spellings() -> None:
    assert checked_flags(["-mllvm", "-amdgpu-igrouplp-exact-solver"]) == ("-mllvm", "-amdgpu-igrouplp-exact-solver")
    assert checked_flags(["-mllvm -unroll-threshold=300"]) == ("-mllvm", "-unroll-threshold=300")


@pytest.mark.parametrize(
    "option", ["-load=x.so", "-info-output-file=/tmp/x", "-stats-json", "-print-after-all", "-time-passes"]
)
def test_back_end_options_that_load_or_write_are_refused(option: str) -> None:
    with pytest.raises(UsageError):
        checked_flags(["-mllvm", option])


def test_a_refusal_says_why() -> None:
    with pytest.raises(UsageError, match="target is the argument `arch`"):
        checked_flags(["--offload-arch=gfx942"])


def test_defines_are_sorted_and_checked() -> None:
    assert define_flags({"B": "2", "A": ""}) == ("-DA", "-DB=2")
    for bad in ({"1A": "x"}, {"A B": "x"}, {"A": "x\ny"}, {"A": "x" * 1001}, {"-o": "x"}):
        with pytest.raises(UsageError):
            define_flags(bad)


def test_too_many_flags_are_refused() -> None:
    with pytest.raises(UsageError, match="more than 64"):
        checked_flags(["-O2"] * 65)
