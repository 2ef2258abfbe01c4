"""`kb doctor`: what works on this machine, and how to get the rest."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

from kbserver import __version__
from kbserver.core.errors import KbError
from kbserver.core.model import Record, Result
from kbserver.core.paths import current_roots


class Check(Record):
    """One line of the report. A missing optional part keeps the report healthy."""

    name: str
    ok: bool
    detail: str
    fix: str | None = None
    required: bool = False


class DoctorReport(Result):
    """All lines; `healthy` means that every required line is ok."""

    version: str
    healthy: bool
    checks: list[Check]


def examine() -> DoctorReport:
    """Look at content, workspace, compiler, device and client configuration of this machine."""
    checks = [check for probe in PROBES for check in _guarded(probe)]
    return DoctorReport(version=__version__, healthy=all(check.ok for check in checks if check.required), checks=checks)


def _guarded(probe: Callable[[], Iterator[Check]]) -> Iterator[Check]:
    name = probe.__name__.strip("_").replace("_", " ")
    try:
        yield from probe()
    except KbError as error:
        yield Check(name=name, ok=False, detail=error.one_line(), fix=error.hint, required=True)


def _content() -> Iterator[Check]:
    from kbserver.ops.corpus import check_content

    roots = current_roots()
    report = check_content()
    yield Check(
        name="content",
        ok=not report.problems,
        detail=f"{report.documents} documents, {report.facts} facts, {report.lessons} lessons in {roots.content} "
        f"({roots.decided_by})" + (f"; {len(report.problems)} problems" if report.problems else ""),
        fix="; ".join(report.problems[:3]) or None,
        required=True,
    )


def _workspace() -> Iterator[Check]:
    workspace = current_roots().workspace
    existing = next(path for path in (workspace, *workspace.parents) if path.exists())
    writable = os.access(existing, os.W_OK) and existing.is_dir()
    yield Check(
        name="workspace",
        ok=writable,
        detail=str(workspace),
        fix=None if writable else "pass --workspace or set KB_WORKSPACE to a writable folder",
    )


def _compiler() -> Iterator[Check]:
    from kbserver.toolchain.compilers import survey

    candidates = survey()
    usable = [c for c in candidates if c.usable]
    for candidate in candidates:
        if candidate.found:
            yield Check(
                name=f"compiler: {candidate.kind}",
                ok=candidate.usable,
                detail=(candidate.version or "version unknown") + (f"; {candidate.reason}" if candidate.reason else ""),
            )
    if not usable:
        yield Check(
            name="compiler",
            ok=False,
            detail="none that builds for gfx90a, gfx942 and gfx950; kb compile will refuse",
            fix="pip install 'kbserver[compile]'",
        )


def _disassembler() -> Iterator[Check]:
    from kbserver.toolchain.disassembler import find_disassembler

    try:
        tool = find_disassembler()
    except KbError as error:
        detail = f"{error.message}; kb asm, verify and profile read sources and assembly text only"
        yield Check(name="disassembler", ok=False, detail=detail, fix=error.hint)
        return
    yield Check(name="disassembler", ok=True, detail=f"{tool.version}, for code objects")


def _emulator() -> Iterator[Check]:
    if importlib.util.find_spec("llvmlite") is None:
        detail = "llvmlite is not installed; kb verify and kb profile will refuse"
        yield Check(name="emulator", ok=False, detail=detail, fix="pip install 'kbserver[emulate]'")
        return
    from kbserver.emulator.jit import check_host
    from kbserver.emulator.semantics import table

    try:
        host = check_host()
    except KbError as error:
        yield Check(name="emulator", ok=False, detail=error.message, fix=error.hint)
        return
    yield Check(name="emulator", ok=True, detail=f"{len(table())} mnemonics, on {host}")


def _device() -> Iterator[Check]:
    from kbserver.ops.device import device_info

    try:
        report = device_info()
    except KbError as error:
        yield Check(name="device", ok=False, detail=error.message, fix=error.hint)
        return
    names = [f"{gpu.product or 'unknown product'} ({gpu.arch})" for gpu in report.gpus]
    yield Check(name="device", ok=bool(names), detail=", ".join(names) or "rocminfo lists no GPU")


def _clients() -> Iterator[Check]:
    places = {
        "client: Claude Code": [Path.cwd() / ".mcp.json", Path.home() / ".claude.json"],
        "client: Cursor": [Path.cwd() / ".cursor" / "mcp.json", Path.home() / ".cursor" / "mcp.json"],
    }
    fixes = {
        "client: Claude Code": f"claude mcp add kbserver -- {shutil.which('kb') or 'kb'} serve",
        "client: Cursor": 'in .cursor/mcp.json: {"mcpServers": {"kbserver": {"command": "kb", "args": ["serve"]}}}',
    }
    for name, files in places.items():
        found = [path for path in files if _mentions_kbserver(path)]
        yield Check(
            name=name,
            ok=bool(found),
            detail=f"configured in {found[0]}" if found else "not configured",
            fix=None if found else fixes[name],
        )


def _mentions_kbserver(path: Path) -> bool:
    try:
        return path.stat().st_size < 8 << 20 and '"kbserver"' in path.read_text("utf-8", "replace")
    except OSError:
        return False


PROBES = (_content, _workspace, _compiler, _disassembler, _emulator, _device, _clients)
