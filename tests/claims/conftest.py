"""Fixtures of the claim checker: verdicts of a text against the content of this checkout."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kbserver.claims.model import Claim
from kbserver.ops.claims import check


@pytest.fixture
def claims_of() -> Callable[..., list[Claim]]:
    """Return the claims of a text, optionally with the target that the caller names."""

    def claims(text: str, arch: str | None = None, name: str = "") -> list[Claim]:
        return list(check(text, (arch, None, "given") if arch else None, name).claims)

    return claims


@pytest.fixture
def verdicts_of(claims_of: Callable[..., list[Claim]]) -> Callable[..., list[tuple[str, str]]]:
    """Return the (kind, verdict) pairs of a text."""

    def verdicts(text: str, arch: str | None = None) -> list[tuple[str, str]]:
        return [(claim.kind, claim.verdict) for claim in claims_of(text, arch)]

    return verdicts
