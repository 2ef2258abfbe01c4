"""How times are taken, as data that is stored with each: times taken in different ways are not compared."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from kbserver.core.errors import UsageError

VERSION = 2
"""1 counted slow outliers among the smallest number of samples."""
COLD, WARM = "cold", "warm"
STATES = (COLD, WARM)


@dataclass(frozen=True)
class Method:
    """Everything that decides what a time means. Bytes, milliseconds, shares of one.

    window: what one sample is. cold, warm: what happens to the caches before the window. fresh: what changes from
    sample to sample. dropped: which samples do not count.
    """

    version: int = VERSION
    window: str = "one launch between two events on one stream"
    cold: str = "flush_bytes written before the window"
    warm: str = "flush_bytes written, then the inputs read by a copy, before the window"
    fresh: str = "every input element and the output's fill change before every launch; buffer sets take turns"
    order: str = "kernel and baseline next to each other, which comes first is drawn anew for each pair"
    dropped: str = "slower than the median by 5 robust deviations; batches at less than 0.9 of the best clock"
    flush_bytes: int = 1 << 30
    spin_ms: float = 20.0
    confidence: float = 0.95
    target: float = 0.005
    """Half width of the interval, as a share of the median, at which measuring stops."""
    smallest_n: int = 20
    largest_n: int = 400

    @property
    def method_id(self) -> str:
        """A short hash of all of it."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:12]


def require_same_method(ours: str, theirs: str) -> None:
    """Raise UsageError when two runs were not measured in the same way."""
    if ours != theirs:
        raise UsageError(
            f"the runs were measured in different ways ({ours} and {theirs}): their times cannot be compared",
            where="method",
            hint="time both again in one run: kb time NAME --against OTHER",
        )
