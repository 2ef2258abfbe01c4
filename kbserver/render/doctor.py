"""`kb doctor` as text: one line a check, then the fixes."""

from kbserver.ops.doctor import DoctorReport
from kbserver.render.document import Document
from kbserver.render.registry import renders


@renders(DoctorReport)
def _(report: DoctorReport) -> Document:
    document = Document().say(f"kbserver {report.version}: " + ("ready" if report.healthy else "not ready"))
    document.table(
        ("check", "state", "detail"),
        [(c.name, "ok" if c.ok else ("missing" if not c.required else "FAULT"), c.detail) for c in report.checks],
    )
    for check in report.checks:
        if check.fix and not check.ok:
            document.say(f"{check.name}: {check.fix}")
    return document
