"""Two verifications side by side: the same inputs, the same checks, which of the two is right."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kbserver.ops.other import looks_like_file
from kbserver.runs.compare import Comparison, Figure, compare
from kbserver.runs.report import FAIL, NOT_VERIFIED, VerifyReport

if TYPE_CHECKING:
    from kbserver.runs.stage import Subject

NOT_SPEED = "results only: kb profile --compare counts the work, kb time measures on the hardware"


def verify_other(text: str, subject: Subject, how: dict[str, Any]) -> VerifyReport:
    """Verify what `--compare` names, as the subject was. how: the arguments that are the same for both.

    Raises what `verify_kernel` raises.
    """
    from kbserver.ops.verify import verify_kernel

    wanted, task = text.strip(), str(subject.task.path)
    if looks_like_file(wanted):
        return verify_kernel(path=wanted, task=task, variant=subject.variant.name, **how)
    name = wanted.removeprefix("kernel:")
    own = name in [one.name for one in subject.task.variants]
    return verify_kernel(name=name, task=task if own else None, **how)


def compare_verified(before: VerifyReport, after: VerifyReport) -> Comparison:
    """Return two verifications side by side. What decides are faults: fewer are better."""
    found = [{finding.check: finding.count for finding in one.findings} for one in (before, after)]
    figures = [
        Figure("FAIL", before.verdict == FAIL, after.verdict == FAIL, decides=True),
        Figure("wrong elements, %", *(_share(one.mismatches, one) for one in (before, after)), decides=True),
        Figure("unwritten elements, %", *(_share(one.unwritten, one) for one in (before, after)), decides=True),
        *(
            Figure(check, found[0].get(check, 0), found[1].get(check, 0))
            for check in dict.fromkeys([*found[0], *found[1]])
        ),
        Figure("largest error", before.max_abs, after.max_abs, None),
        Figure("largest error, ulp", before.max_ulp, after.max_ulp, None),
        Figure("elements compared", before.elements, after.elements, None),
    ]
    unknown = [f"{one.kernel}: {one.reason}" for one in (before, after) if one.verdict == NOT_VERIFIED]
    sizes = [one.shapes[one.shape] for one in (before, after)]
    if before.task != after.task or sizes[0] != sizes[1]:
        unknown.append(f"{before.kernel} ({before.task}) and {after.kernel} ({after.task}) compute different problems")
    alike = before.kernel == after.kernel
    notes = [f"{before.kernel} {before.verdict}, {after.kernel} {after.verdict}", NOT_SPEED]
    if before.shapes != after.shapes:
        notes.append("each was tried on a shape of its own too, as its launch allows")
    return compare(
        (f"{before.kernel} ({before.source})" if alike else before.kernel,
         f"{after.kernel} ({after.source})" if alike else after.kernel),
        (f"run:{before.run_id}", f"run:{after.run_id}"),
        "faults", None, figures, cannot_tell="; ".join(unknown) or None, notes=notes,
    )  # fmt: skip


def _share(count: int, report: VerifyReport) -> float:
    """Return a count as percent of the elements that were compared: the launches of the two may differ in number."""
    return 100 * count / report.elements if report.elements else 0.0
