"""The operation `check_claims`: which statements of a text are supported, contradicted, unsourced or unknown."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from kbserver.claims.model import MAX_BYTES, Claim
from kbserver.core.errors import UnknownName, UsageError
from kbserver.core.model import Record, Result
from kbserver.core.targets import targets
from kbserver.ops.registry import Arg, operation

if TYPE_CHECKING:
    from kbserver.claims.pipeline import Checked


class ClaimSummary(Record):
    """Claims of each verdict, those beyond the cap included."""

    supported: int
    contradicted: int
    unsourced: int
    unknown: int


class CheckedClaims(Result):
    """The checkable claims of a text in its order; a text without any has an empty list, which is no praise."""

    arch: str | None
    product: str | None
    decided_by: str
    """How the text's target was decided; each claim names its own scope."""
    claims: list[Claim]
    summary: ClaimSummary
    total: int
    truncated: bool
    sentences: int
    """Sentences, headings and table rows that were read."""
    name: str | None = None


@operation(
    name="check_claims",
    command="check",
    title="Check the claims of a text",
    toolset="knowledge",
    says_no=lambda result: result.summary.contradicted > 0,
)
def check_claims(
    text: Annotated[
        str | None,
        Arg(
            "What to check: a file, - for standard input, or the text itself (Markdown or plain).",
            positional=True,
            file_argument="path",
            stdin_argument="text",
        ),
    ] = None,
    path: Annotated[str | None, Arg("File to check.")] = None,
    arch: Annotated[
        str | None, Arg("Target or product that the text is about where it names none: gfx950, MI355X.")
    ] = None,
) -> CheckedClaims:
    """Check a post-mortem, commit message or lesson before others rely on it. Finds hardware numbers, peaks, occupancy
    and other arithmetic, instruction names, register and LDS figures of kernels and builds, times, product names and
    citations, and gives each a verdict with evidence: supported, contradicted (with the right value), unsourced or
    unknown (name the target). It is precise first: statements that it cannot decide are left out, so no finding is no
    proof. Quoted, denied or hypothetical statements are not held against the author.
    """
    given = _given(arch)
    if (text is None) == (path is None):
        raise UsageError("give either text or path", where="text", hint="kb check FILE, or kb check - for stdin")
    if path is not None:
        text = _read(path)
    assert text is not None
    if len(text.encode("utf-8", "replace")) > MAX_BYTES:
        raise UsageError(f"the text is larger than {MAX_BYTES:,} bytes", where="text", hint="check it in parts")
    if not text.strip():
        raise UsageError("the text is empty", where="text", hint="kb check FILE, or kb check - for stdin")
    return _result(check(text, given, path or ""), path)


def check(text: str, given: tuple[str, str | None, str] | None = None, name: str = "") -> Checked:
    """Return the claims of a text held against the content root in force."""
    from kbserver.claims.checkers import CHECKERS, IN_CODE  # imported here: other operations need none of it
    from kbserver.claims.pipeline import check_text
    from kbserver.ops.claims_world import current_world

    return check_text(text, current_world(), CHECKERS, IN_CODE, given, name)


def _given(arch: str | None) -> tuple[str, str | None, str] | None:
    if arch is None:
        return None
    gfx, how = targets().resolve(arch)
    try:
        product = targets().product(arch).name
    except UnknownName:
        product = None
    return gfx, product, "given as arch" if how == "given" else f"given as arch: {how}"


def _read(path: str) -> str:
    file = Path(path).expanduser()
    try:
        if not file.is_file():
            raise UsageError("no such file" if not file.exists() else "not a regular file", where=path)
        with file.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"cannot read: {getattr(error, 'strerror', None) or error}", where=path) from None
    if len(data) > MAX_BYTES:
        raise UsageError(f"the file is larger than {MAX_BYTES:,} bytes", where=path, hint="check it in parts")
    if b"\x00" in data:
        raise UsageError("the file is binary", where=path, hint="only text is checked: Markdown or plain")
    return data.decode("utf-8-sig", "replace")


def _result(checked: Checked, path: str | None) -> CheckedClaims:
    counts: Mapping[str, int] = checked.counts
    return CheckedClaims(
        arch=checked.scope.shown.arch,
        product=checked.scope.shown.product,
        decided_by=checked.scope.decided_by,
        claims=list(checked.claims),
        summary=ClaimSummary(
            supported=counts.get("supported", 0),
            contradicted=counts.get("contradicted", 0),
            unsourced=counts.get("unsourced", 0),
            unknown=counts.get("unknown", 0),
        ),
        total=checked.total,
        truncated=checked.total > len(checked.claims),
        sentences=checked.sentences,
        name=Path(path).name if path else None,
    )
