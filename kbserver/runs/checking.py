"""The checks of a verification that do not look at results: races, and uses of what nobody wrote."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kbserver.core.errors import KbError
from kbserver.devices.buffers import SharedBuffer
from kbserver.devices.interface import Checked, Checks, Code, Device, Launch
from kbserver.runs.findings import Findings
from kbserver.runs.report import ChecksSummary
from kbserver.runs.task import Variant
from kbserver.toolchain.build import Build

WAVE_INSTRUCTIONS = 400_000
"""A launch of up to this many is checked whole, a longer one on a sample of about as many."""
LEAST_WORKGROUPS = 4


class Checking:
    """The kernels of a variant, prepared for checks in the background. Close it."""

    def __init__(self, checks: Mapping[str, Checks], steps: Sequence[str]) -> None:
        self._checks, self._steps = checks, steps

    @classmethod
    def start(cls, device: Device, built: Build, variant: Variant, arch: str, nbytes: int, wall_s: float) -> Checking:
        """Begin to prepare every symbol; a device without checks gives a Checking that does nothing."""
        load = getattr(device, "load_checks", None)
        steps = [step.entry for step in variant.steps]
        if load is None:
            return cls({}, ())
        return cls(
            {
                entry: load(Code.of(built, entry, arch), buffer_bytes=nbytes, wall_s=wall_s)
                for entry in dict.fromkeys(steps)
            },
            steps,
        )

    @property
    def there(self) -> bool:
        """Return whether the device can check at all."""
        return bool(self._checks)

    def check(self, step: int, launch: Launch, buffers: Sequence[SharedBuffer], sample: int | None) -> Checked:
        """Check one step of the variant. Raises what a launch raises."""
        return self._checks[self._steps[step]].check(launch, buffers, sample)

    def close(self) -> None:
        for one in self._checks.values():
            one.close()


def sample_of(launch: Launch, wave_instructions: int, wanted: int | None) -> int | None:
    """Return how many workgroups to check: those asked for, else as many as take little; None for all."""
    total = launch.grid[0] * launch.grid[1] * launch.grid[2]
    if wanted is None and wave_instructions > WAVE_INSTRUCTIONS:
        wanted = max(LEAST_WORKGROUPS, total * WAVE_INSTRUCTIONS // wave_instructions)
    return None if wanted is None or wanted >= total else wanted


def run_checks(
    checking: Checking, launches: Sequence[Launch], buffers: Sequence[SharedBuffer], findings: Findings, shape: str,
    samples: Sequence[int | None], between: Sequence[object],
) -> ChecksSummary:  # fmt: skip
    """Check every launch in order and note what is found; `between[k]()` runs launch k for the ones after it.

    An error of the checks is no verdict about the kernel: the summary says why they did not end.
    """
    done: list[Checked] = []
    reason = None
    try:
        for step, (launch, sample) in enumerate(zip(launches, samples, strict=True)):
            done.append(checking.check(step, launch, buffers, sample))
            findings.of_device(done[-1].findings)
            if step + 1 < len(launches):
                between[step]()  # type: ignore[operator]
    except KbError as error:
        reason = error.message
    return ChecksSummary(
        checks=list(done[0].checks) if done else [],
        shape=shape,
        workgroups=sum(one.workgroups for one in done),
        checked=sum(one.checked for one in done),
        accesses=sum(one.accesses for one in done),
        lost=sum(one.lost for one in done),
        reason=reason,
    )
