"""Confinement: a child reads what it is given and nothing else."""

from __future__ import annotations

import socket
import sys
from pathlib import Path

import pytest

from kbserver.core.process import Finished, Limits, run_limited
from kbserver.toolchain import sandbox

needs_landlock = pytest.mark.skipif(
    sandbox.landlock_abi() == 0, reason="SKIPPED LOUDLY: this kernel has no Landlock, confinement is not tested"
)
SYSTEM = [Path(sys.base_prefix), Path("/lib"), Path("/lib64"), Path("/usr/lib"), Path("/usr/bin"), Path("/dev/urandom")]


def run(code: str, *, read: list[Path], write: list[Path]) -> Finished:
    with sandbox.confinement(read=[*SYSTEM, *read], write=write) as enter:
        assert enter is not None
        python = str(Path(sys.executable).resolve())
        return run_limited([python, "-I", "-c", code], limits=Limits(wall_s=20), cwd=Path("/"), env={}, preexec=enter)


@needs_landlock
def test_a_confined_child_reads_only_what_is_allowed(tmp_path: Path) -> None:
    (tmp_path / "open").mkdir()
    (tmp_path / "open" / "a").write_text("allowed text")
    (tmp_path / "secret").write_text("the secret text")
    (tmp_path / "open" / "link").symlink_to(tmp_path / "secret")
    good = run(f"print(open({str(tmp_path / 'open' / 'a')!r}).read())", read=[tmp_path / "open"], write=[])
    assert good.stdout.strip() == "allowed text"
    for path in (tmp_path / "secret", tmp_path / "open" / "link", Path("/etc/passwd"), Path("/proc/1/environ")):
        bad = run(f"print(open({str(path)!r}).read())", read=[tmp_path / "open"], write=[])
        assert "PermissionError" in bad.stderr and bad.stdout == ""


@needs_landlock
def test_a_confined_child_writes_only_where_allowed(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    for folder, allowed in (("out", True), ("in", False)):
        target = tmp_path / folder / "file"
        done = run(f"open({str(target)!r}, 'w').write('x')", read=[tmp_path / "in"], write=[tmp_path / "out"])
        assert (done.returncode == 0) is allowed and target.exists() is allowed


@needs_landlock
@pytest.mark.skipif(sandbox.landlock_abi() < 4, reason="SKIPPED LOUDLY: Landlock before version 4 knows no network")
def test_a_confined_child_opens_no_connection() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        done = run(f"import socket; socket.create_connection(('127.0.0.1', {port}), 5)", read=[], write=[])
    assert "PermissionError" in done.stderr


def test_without_landlock_there_is_nothing_to_enter(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sandbox, "landlock_abi", lambda: 0)
    with sandbox.confinement(read=[tmp_path], write=[]) as enter:
        assert enter is None
