"""What the checker hands on: a claim with its place, its verdict, and the evidence that decides it."""

from __future__ import annotations

from dataclasses import dataclass, field

from kbserver.core.model import Record

SUPPORTED, CONTRADICTED, UNSOURCED, UNKNOWN = "supported", "contradicted", "unsourced", "unknown"
VERDICTS = (CONTRADICTED, UNSOURCED, UNKNOWN, SUPPORTED)
"""In the order in which a reader wants them."""
MAX_BYTES = 1_000_000
"""UTF-8 bytes of a text at most."""


class Evidence(Record):
    """One thing that decides a claim: a ref that can be read (or `arithmetic`), what it says, and who says so."""

    ref: str
    text: str
    source: str | None = None


class ClaimScope(Record):
    """Which target and product a claim was held against, and how that was decided; None where it is about no one."""

    arch: str | None = None
    product: str | None = None
    decided_by: str


class Claim(Record):
    """One checkable statement. `text` is the sentence or table row, `finding` what was found, in one line."""

    text: str
    line: int
    kind: str
    """hardware_number | occupancy | arithmetic | instruction | resource | time | citation | target | statement."""
    verdict: str
    finding: str
    evidence: tuple[Evidence, ...]
    correction: str | None = None
    scope: ClaimScope


@dataclass(frozen=True)
class Finding:
    """A claim before it is placed: what a checker returns for a sentence.

    `start` is the token at which it begins, `key` what makes two findings of a text the same one (reported once).
    """

    kind: str
    verdict: str
    finding: str
    evidence: tuple[Evidence, ...]
    scope: ClaimScope
    start: int = 0
    correction: str | None = None
    key: tuple[object, ...] = field(default=())
