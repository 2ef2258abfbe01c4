"""Builds with the real compiler: limits, isolation, cache, and each failure an error of its own."""

from __future__ import annotations

import json
import multiprocessing
import os
from pathlib import Path

import pytest

from kbserver.core.errors import (
    CompileFailed,
    CompilerCrashed,
    KbError,
    NoCompiler,
    OutputTooLarge,
    TimedOut,
    UnresolvedRef,
    UsageError,
    WorkspaceError,
)
from kbserver.core.paths import Roots, use_roots
from kbserver.core.process import Limits
from kbserver.toolchain import cache, sandbox
from kbserver.toolchain.assembly import parse_assembly
from kbserver.toolchain.build import Build, build, load_build
from kbserver.toolchain.compilers import find_compiler, survey
from kbserver.toolchain.resources import kernel_resources
from kbserver.toolchain.sources import from_file, from_text

pytestmark = pytest.mark.skipif(
    not any(candidate.usable for candidate in survey()),
    reason="SKIPPED LOUDLY: no compiler for AMD GPUs here (pip install 'kbserver[compile]')",
)
needs_landlock = pytest.mark.skipif(
    sandbox.landlock_abi() == 0, reason="SKIPPED LOUDLY: this kernel has no Landlock, isolation is not tested"
)

KERNEL = """#include <hip/hip_runtime.h>
extern "C" __global__ void __launch_bounds__(256) scale(float *p, int n) {
  int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) p[i] *= FACTOR;
}
"""
SECRET = "correct_horse_battery_staple"


def make(text: str, arch: str = "gfx950", **options: object) -> Build:
    return build(from_text(text), arch, **options)  # type: ignore[arg-type]


def test_a_kernel_compiles_with_defines_and_line_numbers() -> None:
    built = make(KERNEL, defines={"FACTOR": "3.0f"})
    assert (built.arch, built.cached, built.diagnostics.total) == ("gfx950", False, 0)
    kernel = parse_assembly(built.assembly_text).functions["scale"]
    assert kernel.is_kernel and kernel_resources(kernel).workgroup_max == 256
    assert {str(item.source) for item in kernel.instructions if item.source} >= {"source.hip:4"}
    assert "/" not in {item.source.file for item in kernel.instructions if item.source and item.source.line == 4}.pop()


def test_line_tables_do_not_change_the_code() -> None:
    with_lines = make(KERNEL, defines={"FACTOR": "3.0f"})
    without = make(KERNEL, defines={"FACTOR": "3.0f"}, flags=["-g0"])
    codes = [
        [item.text for item in parse_assembly(built.assembly_text).functions["scale"].instructions]
        for built in (with_lines, without)
    ]
    assert codes[0] == codes[1] and ".loc" not in without.assembly_text


def test_crlf_and_bom_compile_as_the_plain_source_does(tmp_path: Path) -> None:
    (tmp_path / "k.hip").write_bytes(b"\xef\xbb\xbf" + KERNEL.replace("FACTOR", "2").replace("\n", "\r\n").encode())
    kernel = parse_assembly(build(from_file(tmp_path / "k.hip"), "gfx942").assembly_text).functions["scale"]
    assert kernel.is_kernel


def test_bytes_that_are_no_utf8_are_the_compilers_business(tmp_path: Path) -> None:
    (tmp_path / "k.hip").write_bytes(b"// caf\xe9\n" + KERNEL.replace("FACTOR", "2").encode())
    assert build(from_file(tmp_path / "k.hip"), "gfx950").diagnostics.errors == 0


def test_headers_of_the_folder_are_found_and_part_of_the_key(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "factor.h").write_text("#define FACTOR 5.0f\n")
    (tmp_path / "k.hip").write_text('#include "sub/factor.h"\n' + KERNEL)
    first = build(from_file(tmp_path / "k.hip"), "gfx950")
    (tmp_path / "sub" / "factor.h").write_text("#define FACTOR 6.0f\n")
    second = build(from_file(tmp_path / "k.hip"), "gfx950")
    assert first.build_id != second.build_id and first.assembly_text != second.assembly_text
    assert str(tmp_path) not in first.assembly_text


def test_errors_are_records_with_place_and_hint() -> None:
    with pytest.raises(CompileFailed) as error:
        make('extern "C" __global__ void k(float *p) { p[0] = 1; }')
    assert error.value.where == "source.hip:1"
    assert error.value.hint == "add #include <hip/hip_runtime.h>"
    first = error.value.details["diagnostics"][0]
    assert (first["severity"], first["file"], first["line"], first["column"]) == ("error", "source.hip", 1, 12)


def test_an_instruction_that_the_target_lacks_is_an_error_at_its_source_line() -> None:
    text = KERNEL.replace("p[i] *= FACTOR;", 'asm volatile("v_cvt_scalef32_pk_f32_fp4 v[0:1], v2, v3");')
    assert make(text, "gfx950").diagnostics.errors == 0
    with pytest.raises(CompileFailed, match="gfx942") as error:
        make(text, "gfx942")
    assert error.value.where == "source.hip:4"


def test_messages_are_capped_in_number_and_size() -> None:
    with pytest.raises(CompileFailed) as error:
        make("\n".join(f"int a{i} = b{'x' * 2000}{i};" for i in range(60)), flags=["-O0"])
    assert len(error.value.details["diagnostics"]) <= 50
    assert max(len(item["message"]) for item in error.value.details["diagnostics"]) <= 400


def test_warnings_are_kept_in_the_cache() -> None:
    text = KERNEL.replace("int i", "int unused; int i").replace("FACTOR", "2")
    first, second = (make(text, flags=["-Wall"]) for _ in range(2))
    assert (first.cached, second.cached) == (False, True)
    assert first.diagnostics == second.diagnostics and first.diagnostics.warnings == 1
    assert first.diagnostics.shown[0].flag == "-Wunused-variable"


def test_a_target_that_the_compiler_lacks_is_no_compiler_for_it() -> None:
    with pytest.raises(NoCompiler, match="cannot build for gfx9999"):
        make(KERNEL, "gfx9999", defines={"FACTOR": "1"})
    assert find_compiler().supports("gfx950") and not find_compiler().supports("gfx9999")


SPELLINGS = [
    '#include "{secret}"',
    "#include <{secret}>",
    '%:include "{secret}"',
    '#inc\\\nlude "{secret}"',
    '/**/#/**/include "{secret}"',
    '#define F "{secret}"\n#include F',
    "#define F <{secret}>\n#include F",
    '#include_next "{secret}"',
    '#import "{secret}"',
    '__attribute__((device, used)) const char text[] = {{\n#embed "{secret}"\n}};',
    "__attribute__((device, used)) const char text[] = {{\n%:em\\\nbed <{secret}>\n}};",
    '__attribute__((global)) void leak() {{ asm volatile(".incbin \\"{secret}\\""); }}',
    '__attribute__((global)) void leak() {{ asm volatile(".include \\"{secret}\\""); }}',
    '__attribute__((global)) void leak() {{ asm volatile(".inc" "bin \\"{secret}\\""); }}',
    '#if __has_include("{secret}")\n#error "{secret}"\n#include "{secret}"\n#endif',
]


@needs_landlock
@pytest.mark.parametrize("spelling", SPELLINGS)
@pytest.mark.parametrize("by_path", [False, True], ids=["text", "path"])
def test_no_spelling_of_an_include_shows_another_files_text(tmp_path: Path, spelling: str, by_path: bool) -> None:
    folder = tmp_path / "kernel"
    folder.mkdir()
    secret = tmp_path / "secret.h"
    secret.write_text(f"{SECRET} 1;\n")
    source = spelling.format(secret=secret) + "\n" + KERNEL.replace("FACTOR", "2")
    (folder / "k.hip").write_text(source)
    relative = source.replace(str(secret), "../secret.h")
    for text in (source, relative):
        (folder / "k.hip").write_text(text)
        try:
            built = build(from_file(folder / "k.hip") if by_path else from_text(text), "gfx950")
        except CompileFailed as error:
            assert SECRET not in json.dumps(error.payload())
        else:
            # A directive for the host's half of the compile is never read: the output must not have the text either.
            folder_of_build = cache.current_roots().builds / built.build_id
            files = [path.read_bytes() for path in folder_of_build.rglob("*") if path.is_file()]
            assert all(SECRET.encode() not in data and b"hor\x73e_bat" not in data for data in files)
            assert str(secret) not in str(built.diagnostics)


def test_without_isolation_the_build_says_so_and_withholds_messages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox, "landlock_abi", lambda: 0)
    assert make(KERNEL, defines={"FACTOR": "2"}).isolation == "none"
    secret = tmp_path / "secret"
    secret.write_text(f"{SECRET}\n")
    for spelling in SPELLINGS:
        with pytest.raises(CompileFailed) as error:
            make(spelling.format(secret=secret) + "\nint *x = 1.0;\n")
        assert SECRET not in json.dumps(error.value.payload())


@needs_landlock
def test_with_landlock_the_build_says_so() -> None:
    built = make(KERNEL, defines={"FACTOR": "2"})
    assert built.isolation == "landlock"


DOUBLING = "#define A0 1+\n" + "".join(f"#define A{i} A{i - 1} A{i - 1}\n" for i in range(1, 41)) + "int x = A40 1;\n"
RECURSIVE = """template <int N> struct T { T<2 * N> a; T<2 * N + 1> b; };
template <int N> constexpr long f() { if constexpr (N < 2) return 1; else return f<N - 1>() + f<N - 2>(); }
constexpr long g(long n) { return n < 2 ? 1 : g(n - 1) + g(n - 2); }
constexpr long forever = g(90);
"""


def test_a_compile_that_does_not_end_is_stopped_and_said_so() -> None:
    with pytest.raises(TimedOut, match="the compiler timed out after 1 s"):
        make(RECURSIVE, flags=["-fconstexpr-steps=2000000000"], limits=Limits(wall_s=1))
    assert list(cache.current_roots().builds.iterdir()) == []


def test_macros_that_double_reach_a_limit() -> None:
    with pytest.raises((CompilerCrashed, TimedOut)) as error:
        make(DOUBLING, limits=Limits(wall_s=3, memory_bytes=400 << 20))
    if isinstance(error.value, CompilerCrashed):
        assert error.value.details["reason"] == "memory" and "400 MiB" in error.value.message


@pytest.mark.parametrize("device", ["/dev/random", "/dev/zero", "/proc/self/environ"])
def test_devices_do_not_hang_the_compiler(device: str) -> None:
    with pytest.raises(CompileFailed):
        make(f'#include "{device}"\nint *x = 1.0;\n', limits=Limits(wall_s=20))


def test_output_without_bound_is_a_limit() -> None:
    with pytest.raises(OutputTooLarge, match="a file larger than 0 MiB"):
        make(KERNEL.replace("FACTOR", "2"), limits=Limits(wall_s=20, file_bytes=2048))
    with pytest.raises(OutputTooLarge, match="wrote more than 100 bytes"):
        make("int *x = 1.0;\n" * 20, limits=Limits(wall_s=20, output_bytes=100))


def test_a_dead_compiler_is_told_from_a_rejected_source(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "clang"
    known = '*--version*) echo "clang version 22.1.0";; *--print-targets*) echo " amdgcn - AMD";;'
    answer = f'case "$*" in {known} *) {{}};; esac\n'
    for action, match in (
        ("kill -SEGV $$", "signal 11"),
        ("echo 'PLEASE submit a bug report to x' >&2; exit 134", "internal error"),
    ):
        program.write_text("#!/bin/sh\n" + answer.format(action))
        program.chmod(0o755)
        monkeypatch.setenv("KB_COMPILER", str(program))
        with (
            monkeypatch.context() as patch,
            pytest.raises(CompilerCrashed, match=match),
        ):
            patch.setattr(sandbox, "landlock_abi", lambda: 0)  # the shell would need more of the system than clang does
            make(KERNEL, defines={"FACTOR": "2"})


def entry(built: Build) -> Path:
    return cache.current_roots().builds / built.build_id


@pytest.mark.parametrize(
    "damage", ["assembly cut", "assembly gone", "record cut", "record empty", "record foreign", "folder empty"]
)
def test_a_broken_entry_is_built_again(damage: str) -> None:
    first = make(KERNEL, defines={"FACTOR": "2"})
    folder = entry(first)
    match damage:
        case "assembly cut":
            (folder / cache.ASSEMBLY).write_text("half")
        case "assembly gone":
            (folder / cache.ASSEMBLY).unlink()
        case "record cut":
            (folder / cache.RECORD).write_text('{"format": 1, "bui')
        case "record empty":
            (folder / cache.RECORD).write_text("")
        case "record foreign":
            (folder / cache.RECORD).write_text("[1]")
        case "folder empty":
            for path in sorted(folder.rglob("*"), reverse=True):
                path.rmdir() if path.is_dir() else path.unlink()
    second = make(KERNEL, defines={"FACTOR": "2"})
    assert not second.cached and second.assembly_text == first.assembly_text
    assert make(KERNEL, defines={"FACTOR": "2"}).cached
    assert [path.name for path in cache.current_roots().builds.iterdir()] == [first.build_id]


def test_what_a_killed_build_left_is_cleared_when_old(roots: Roots) -> None:
    roots.builds.mkdir(parents=True)
    old, young = roots.builds / ".tmp-000000000000-old", roots.builds / ".tmp-000000000000-young"
    for folder in (old, young):
        folder.mkdir()
        (folder / "kernel.s").write_text("half")
    os.utime(old, (1, 1))
    make(KERNEL, defines={"FACTOR": "2"})
    assert not old.exists() and young.exists(), "a young folder may belong to a living build"


def test_the_same_build_is_made_once_and_any_change_is_another(tmp_path: Path) -> None:
    base = make(KERNEL, defines={"FACTOR": "2"})
    assert make(KERNEL, defines={"FACTOR": "2"}).build_id == base.build_id
    others = {
        make(KERNEL, defines={"FACTOR": "3"}).build_id,
        make(KERNEL, defines={"FACTOR": "2"}, flags=["-O1"]).build_id,
        make(KERNEL, "gfx942", defines={"FACTOR": "2"}).build_id,
        make(KERNEL + " ", defines={"FACTOR": "2"}).build_id,
    }
    assert len(others | {base.build_id}) == 5


def _build_in_process(roots: Roots, results: multiprocessing.Queue) -> None:
    with use_roots(roots):
        try:
            results.put([make(KERNEL, defines={"FACTOR": str(i)}).build_id for i in range(4)])
        except KbError as error:
            results.put(error.one_line())


def test_processes_that_build_the_same_at_once_agree(roots: Roots) -> None:
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    workers = [context.Process(target=_build_in_process, args=(roots, results)) for _ in range(3)]
    for worker in workers:
        worker.start()
    answers = [results.get(timeout=120) for _ in workers]
    for worker in workers:
        worker.join()
    assert answers[0] == answers[1] == answers[2] and len(set(answers[0])) == 4
    assert sorted(path.name for path in roots.builds.iterdir()) == sorted(answers[0])
    for build_id in answers[0]:
        assert load_build(build_id).build_id == build_id


@pytest.mark.parametrize("ref", ["000000000000", "", "../../etc", "build:nothing", "a" * 500, "0" * 11])
def test_an_unknown_build_does_not_resolve(ref: str) -> None:
    with pytest.raises(UnresolvedRef):
        load_build(ref)


def test_a_workspace_that_is_a_file_is_said_so(tmp_path: Path, roots: Roots) -> None:
    (tmp_path / "file").write_text("")
    with use_roots(Roots(roots.content, tmp_path / "file", "test")), pytest.raises(WorkspaceError):
        make(KERNEL, defines={"FACTOR": "2"})


def test_a_flag_is_refused_before_anything_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KB_COMPILER", "/nowhere/clang")
    with pytest.raises(UsageError, match="refused"):
        make(KERNEL, flags=["-fplugin=x.so"])
