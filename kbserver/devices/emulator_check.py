"""One check of a launch on the emulator, inside the worker: shared buffers in, findings out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kbserver.devices.buffers import SharedBuffer
from kbserver.devices.emulator_launch import argument, emulator_buffers
from kbserver.devices.interface import Checked, DeviceFinding
from kbserver.emulator.checks.report import CHECKS
from kbserver.emulator.checks.run import Checker
from kbserver.emulator.memory import Memory


def check(checker: Checker, message: dict[str, Any], shared: Sequence[SharedBuffer]) -> Checked:
    """Check the launch of a message; the buffers hold afterwards what they held before."""
    buffers = emulator_buffers(shared)
    report = checker.check(
        Memory(list(buffers.values())),
        [argument(entry, buffers) for entry in message["arguments"]],
        grid=tuple(message["grid"]),
        block=tuple(message["block"]),
        dynamic_lds_bytes=message["dynamic_lds_bytes"],
        sample=message["sample"],
        fuel=message["fuel"],
    )
    return Checked(
        checks=CHECKS,
        findings=tuple(
            DeviceFinding(kind=one.kind, count=one.count, message=one.message, where=one.where, severity=one.severity)
            for one in report.findings
        ),
        workgroups=report.workgroups,
        checked=report.checked,
        accesses=report.accesses,
        lost=report.lost,
        compile_s=report.compile_s,
        wall_s=report.wall_s,
    )
