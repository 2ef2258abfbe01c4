"""Compiler discovery: the order, the reason for each rejection, and no silent replacement."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest

from kbserver.core.errors import NoCompiler, UsageError
from kbserver.toolchain import compilers
from kbserver.toolchain.compilers import find_compiler, survey

TARGETS = "  Registered Targets:\\n    amdgcn     - AMD GCN GPUs\\n"


def fake(path: Path, version: str, targets: str = TARGETS) -> Path:
    """Write a program that answers `--version` and `--print-targets` as a clang would."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\ncase \"$*\" in *--version*) echo '{version}';; *) printf '{targets}';; esac\n")
    path.chmod(0o755)
    return path


@pytest.fixture(autouse=True)
def empty_machine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A machine without any compiler: PATH is one empty folder, no ROCm, no ziglang."""
    for name in ("KB_COMPILER", "ROCM_PATH", "HIP_PATH"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(compilers, "rocm_clangs", lambda: iter(()))
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    return tmp_path


def test_without_a_compiler_the_error_names_the_install_command() -> None:
    with pytest.raises(NoCompiler) as error:
        find_compiler()
    assert "pip install 'kbserver[compile]'" in (error.value.hint or "")
    assert [line.split(":")[0] for line in error.value.details["looked_at"]] == ["rocm", "system", "ziglang"]


def test_a_system_clang_is_taken_with_its_version(empty_machine: Path) -> None:
    fake(empty_machine / "bin" / "clang-22", "Debian clang version 22.1.0")
    found = find_compiler()
    assert (found.kind, found.llvm_major, found.version) == ("system", 22, "Debian clang version 22.1.0")


def test_rocm_comes_before_a_system_clang(empty_machine: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rocm = fake(empty_machine / "rocm" / "llvm" / "bin" / "clang++", "AMD clang version 20.0.0git")
    fake(empty_machine / "bin" / "clang-22", "clang version 22.1.0")
    monkeypatch.setattr(compilers, "rocm_clangs", lambda: iter([rocm]))
    assert find_compiler().kind == "rocm"
    assert find_compiler("system").kind == "system"
    assert find_compiler(str(empty_machine / "bin" / "clang-22")).kind == "system"


@pytest.mark.parametrize(
    ("version", "targets", "reason"),
    [
        ("clang version 14.0.6", TARGETS, "too old"),
        ("clang version 22.1.0", "    x86-64 - 64-bit X86\\n", "without the AMDGPU target"),
        ("gcc (Debian) 14.2.0", TARGETS, "not clang"),
        ("", TARGETS, "not clang"),
    ],
)
def test_each_rejection_has_its_reason(empty_machine: Path, version: str, targets: str, reason: str) -> None:
    fake(empty_machine / "bin" / "clang-20", version, targets)
    system = next(candidate for candidate in survey() if candidate.kind == "system")
    assert not system.usable and reason in (system.reason or "")
    with pytest.raises(NoCompiler):
        find_compiler()


def test_a_named_compiler_that_fails_is_an_error_though_another_works(
    empty_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake(empty_machine / "bin" / "clang-22", "clang version 22.1.0")
    for named, reason in (
        (empty_machine / "gone", "no such file"),
        (fake(empty_machine / "old" / "clang", "clang version 15.0.7"), "too old"),
        (fake(empty_machine / "x" / "hipcc", "HIP version: 5"), "no ROCm clang beside"),
    ):
        monkeypatch.setenv("KB_COMPILER", str(named))
        with pytest.raises(NoCompiler, match=reason):
            find_compiler()
        assert survey()[0].found == str(named)


def test_a_program_named_in_an_argument_is_not_run_unless_it_was_found(empty_machine: Path) -> None:
    marker = empty_machine / "ran"
    program = empty_machine / "evil"
    program.write_text(f"#!/bin/sh\n/bin/touch {marker}\n")
    program.chmod(0o755)
    with pytest.raises(UsageError) as error:
        find_compiler(str(program))
    assert "KB_COMPILER" in (error.value.hint or "")
    assert not marker.exists()


def test_a_kind_that_is_not_there_is_an_error(empty_machine: Path) -> None:
    fake(empty_machine / "bin" / "clang-22", "clang version 22.1.0")
    with pytest.raises(NoCompiler, match="ziglang is not installed"):
        find_compiler("ziglang")


def test_the_identity_depends_on_the_program_not_on_its_place(
    empty_machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    identities = []
    for folder, version in (("a", "22.1.0"), ("b", "22.1.0"), ("c", "22.1.1")):
        monkeypatch.setenv("KB_COMPILER", str(fake(empty_machine / folder / "clang", f"clang version {version}")))
        identities.append(find_compiler().identity)
    assert identities[0] == identities[1] != identities[2]


def test_a_compiler_gets_no_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MY_TOKEN", "hunter2")
    environment = compilers.clean_environment(tmp_path)
    assert "hunter2" not in str(environment) and environment["TMPDIR"] == str(tmp_path)
    assert os.environ["MY_TOKEN"] == "hunter2"
