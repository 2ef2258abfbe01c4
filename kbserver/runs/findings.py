"""Findings of a verification: what went wrong, said once with how often, most telling first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kbserver.devices.interface import DeviceFinding
from kbserver.runs.acceptance import ChannelCheck, Comparison
from kbserver.runs.cases import Turn
from kbserver.runs.layouts import axis_words

ERROR, WARNING = "error", "warning"
KEPT = 20

# Device finding kind -> check, where the kind's own words are not the name.
_DEVICE_CHECKS = {
    "global read out of range": "out_of_range",
    "global write out of range": "out_of_range",
    "global atomic out of range": "out_of_range",
    "LDS read out of range": "out_of_range",
    "LDS write out of range": "out_of_range",
    "LDS atomic out of range": "out_of_range",
    "scalar read out of range": "out_of_range",
    "scratch access out of range": "out_of_range",
    "flat atomic on private memory": "private_atomic",
    "LDS atomic not aligned": "misaligned_atomic",
    "global atomic not aligned": "misaligned_atomic",
    "lanes outside a buffer resource": "buffer_clipped",
    "buffer access not aligned": "buffer_access",
    "buffer resource of a kind that is not emulated": "buffer_access",
    "buffer access in range only without its SGPR offset": "buffer_scalar_offset",
    "LDS transposing read without all lanes": "transposing_read",
    "LDS transposing read not aligned": "transposing_read",
    "write to an input": "input_modified",
}


@dataclass(frozen=True)
class Found:
    """One finding. Findings of one check at one place are one, with a count."""

    check: str
    severity: str
    where: str | None
    message: str
    count: int


@dataclass
class Findings:
    """All findings of a verification, in the order in which they were met."""

    found: dict[tuple[str, str | None], Found] = field(default_factory=dict)

    def add(self, check: str, message: str, *, where: str | None = None, severity: str = ERROR, count: int = 1) -> None:
        """Note a finding; a second one of the same check and place only adds to its count."""
        key = (check, where)
        if key in self.found:
            known = self.found[key]
            self.found[key] = replace(known, count=known.count + count)
        else:
            self.found[key] = Found(check, severity, where, message, count)

    @property
    def errors(self) -> bool:
        return any(found.severity == ERROR for found in self.found.values())

    def of_device(self, reported: Sequence[DeviceFinding]) -> None:
        """Note what the device saw."""
        for item in reported:
            check = _DEVICE_CHECKS.get(item.kind, item.kind.lower().replace(" ", "_"))
            self.add(check, f"{item.kind}: {item.message}", where=item.where, count=item.count, severity=item.severity)

    def of_comparison(self, comparison: Comparison, shape: str, axes: str | None = None) -> None:
        """Note wrong results: first what they have in common, then that they are wrong.

        axes: those of one slice; default: as the comparison says. Of several outputs, each is told on its own.
        """
        for part in comparison.parts:
            self.of_comparison(part, f"{shape}, {part.output}", part.axes)
        if comparison.right or comparison.parts:
            return
        failing = comparison.failing
        axes = comparison.axes or "" if axes is None else axes
        if comparison.unwritten:
            self.add("unwritten_output", f"{comparison.unwritten:,} elements still hold the fill", where=shape,
                     count=comparison.unwritten)  # fmt: skip
        if comparison.nonfinite > comparison.unwritten:
            self.add("not_finite", "the result has NaN or infinity where the exact value is a number", where=shape,
                     count=comparison.nonfinite - comparison.unwritten)  # fmt: skip
        constants = {check.constant for check in failing if check.constant is not None}
        if len(failing) == comparison.channels and len(constants) == 1:
            value = constants.pop()
            self.add("constant_output", f"every element is {value:g}, whatever the input", where=shape)
        self.add("wrong_result", _wrong(comparison, axes), where=shape, count=comparison.mismatches)

    def of_memory(self, inputs: Sequence[str], guards: Sequence[str]) -> None:
        """Note what was written where nothing may be."""
        for name in inputs:
            self.add("input_modified", f"the kernel changed its input {name}", where=name)
        for name in guards:
            self.add("guard_zone", f"memory beside {name} was written", where=name)

    def of_repetition(self, differing: int, turn: Turn, has_atomics: bool) -> None:
        """Note results that differ between launches with the same inputs."""
        if not differing:
            return
        # Atomic float additions may come in any order; without them nothing excuses a difference.
        severity = WARNING if has_atomics else ERROR
        if turn.poison:
            self.add("order_dependent", "the result depends on the order in which wavefronts take turns: a race",
                     where=f"order {turn.order}", severity=severity, count=differing)  # fmt: skip
        else:
            self.add("uninitialised_read", "the result depends on what registers or LDS held before the workgroup",
                     severity=severity, count=differing)  # fmt: skip


def _wrong(comparison: Comparison, axes: str) -> str:
    """Return one sentence that says how many elements are wrong, where, and how."""
    failing = comparison.failing
    what = "channels" if comparison.axis in (None, "C") else f"slices along {comparison.axis}"
    text = (
        f"{comparison.mismatches:,} of {comparison.elements:,} elements wrong in {len(failing)} of "
        f"{comparison.channels} {what}"
    )
    if len(failing) < comparison.channels and failing[0].channel >= 0:
        shown = ", ".join(str(check.channel) for check in failing[:8])
        text += f" ({shown}{', ...' if len(failing) > 8 else ''})"
    boxes = [check.box for check in failing]
    joined = [(min(b[k][0] for b in boxes), max(b[k][1] for b in boxes)) for k in range(len(boxes[0]))]
    if joined:
        text += f"; within {axis_words(axes, joined)}"
    ratio = _shared_ratio(failing)
    return text + (f"; all are {ratio:.3g} times the exact value" if ratio is not None else "")


def _shared_ratio(failing: Sequence[ChannelCheck]) -> float | None:
    ratios = [check.ratio for check in failing]
    if any(ratio is None for ratio in ratios):
        return None
    low, high = min(ratios), max(ratios)  # type: ignore[type-var]
    return sum(ratios) / len(ratios) if high - low <= 0.01 * abs(high) else None  # type: ignore[arg-type]
