"""The way through a timing run: gate, warm-up, interleaved batches until the medians are known, verdict.

A batch freshens every buffer set, keeps the device busy until its clocks are up, launches each competitor on each set
back to back, each launch between two events, and then checks every output. A sample is a pair: the kernel and the
baseline on their sets of one number, next to each other in time.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from kbserver.devices.gpu import GpuProcess, step_of
from kbserver.runs.timing.lane import Lane
from kbserver.runs.timing.method import COLD, STATES, Method
from kbserver.runs.timing.statistics import Interval, median, median_interval, ratio_interval, without_slow_outliers

WARMUP_SHARE = 0.02
"""Warm-up ends when the medians of two batches in a row differ by less."""
WARMUP_BATCHES = 12
THROTTLED_BELOW = 0.9
EMPTY_WINDOWS, COPIES = 20, 9
HARD_THROTTLE = ("hardware slowdown", "hardware thermal", "hardware power brake", "software thermal")


@dataclass
class Samples:
    """Pairs of one cache state: milliseconds of the kernel and, with one, of the baseline."""

    kernel: list[float] = field(default_factory=list)
    baseline: list[float] = field(default_factory=list)
    throttled: int = 0

    def kept(self) -> tuple[list[float], list[float], int]:
        """Return (kernel, baseline, dropped): pairs in which neither is a slow outlier."""
        places, _ = without_slow_outliers(self.kernel)
        if self.baseline:
            others, _ = without_slow_outliers(self.baseline)
            places = sorted(set(places) & set(others))
        kernel = [self.kernel[place] for place in places]
        baseline = [self.baseline[place] for place in places] if self.baseline else []
        return kernel, baseline, len(self.kernel) - len(places)


@dataclass
class Measured:
    """What a timing run gathered."""

    samples: dict[str, Samples]
    empty_ms: float
    copy_gb_s: float
    warmup_batches: int = 0
    warmup_stable: bool = False
    batches: int = 0
    clocks: list[float] = field(default_factory=list)
    before: dict[str, Any] | None = None
    after: dict[str, Any] | None = None
    stopped_by: str = ""

    def interval(self, state: str, lane: str, confidence: float) -> Interval | None:
        kernel, baseline, _ = self.samples[state].kept()
        return median_interval(kernel if lane == "kernel" else baseline, confidence)

    def ratio(self, state: str, confidence: float) -> Interval | None:
        kernel, baseline, _ = self.samples[state].kept()
        return ratio_interval(kernel, baseline, confidence) if baseline else None


class Harness:
    """One timing run on one process. `lanes` are the kernel and, perhaps, a baseline."""

    def __init__(
        self, process: GpuProcess, lanes: list[Lane], method: Method, dice: random.Random, say: Callable[[str], None]
    ) -> None:
        self._process, self._lanes, self._method, self._dice, self._say = process, lanes, method, dice, say
        self._sets = len(lanes[0].benches)
        self.measured = Measured({state: Samples() for state in STATES}, 0.0, 0.0)

    @property
    def rejected(self) -> bool:
        return self._lanes[0].findings.errors

    def gate(self) -> None:
        """One launch of each lane with every channel compared, and the two figures of the device itself."""
        self.measured.before = self._probe()
        self._batch(COLD, complete=True)

    def _probe(self) -> dict[str, Any] | None:
        empty, state = self._process.run(
            [step_of(None, None, {}, "empty")] * EMPTY_WINDOWS, spin_ms=self._method.spin_ms, telemetry=True
        )
        copies, _ = self._process.run([step_of(None, None, {}, "copy")] * COPIES, spin_ms=self._method.spin_ms)
        self.measured.empty_ms = median(empty)
        # Half of the memory is read, half written: as many bytes as the flush has.
        self.measured.copy_gb_s = self._method.flush_bytes / median(copies) / 1e6
        return state

    def warm_up(self) -> None:
        """Batches like the timed ones until two in a row agree; how many at most is drawn, so nobody can count."""
        last = None
        for number in range(WARMUP_BATCHES - self._dice.randrange(3)):
            times, _ = self._batch(COLD)
            self.measured.warmup_batches = number + 1
            middle = [median(series) for series in times]
            if self.rejected:
                return
            if last is not None and all(abs(a / b - 1) < WARMUP_SHARE for a, b in zip(middle, last, strict=True)):
                self.measured.warmup_stable = True
                return
            last = middle

    def measure(self, budget_s: float) -> None:
        """Take samples until both states are known well enough, or time or samples run out."""
        deadline, measured = time.monotonic() + budget_s, self.measured
        while True:
            for state in STATES:
                times, after = self._batch(state)
                self._keep(state, times, after)
            measured.batches += len(STATES)
            count = min(len(samples.kept()[0]) for samples in measured.samples.values())
            self._say(f"{count} pairs a state, {self._worst():.2%} uncertain")
            if self.rejected:
                measured.stopped_by = "a wrong output"
            elif count >= self._method.smallest_n and self._worst() <= self._method.target:
                measured.stopped_by = f"the target of {self._method.target:.1%}"
            elif len(measured.samples[COLD].kernel) >= self._method.largest_n:
                measured.stopped_by = f"{self._method.largest_n} samples"
            elif time.monotonic() > deadline:
                measured.stopped_by = f"the time limit of {budget_s:g} s"
            if measured.stopped_by:
                return

    def last_check(self) -> None:
        """One more launch of each lane, every channel compared: a kernel that is right for a while is not right."""
        self._batch(COLD, complete=True)

    def _worst(self) -> float:
        """Return the largest relative half width of what is to be known."""
        wanted = []
        for state in STATES:
            wanted.append(self.measured.interval(state, "kernel", self._method.confidence))
            if len(self._lanes) > 1:
                wanted.append(self.measured.ratio(state, self._method.confidence))
        return max(one.relative_half_width if one else float("inf") for one in wanted)

    def _batch(self, state: str, *, complete: bool = False) -> tuple[list[list[float]], dict[str, Any] | None]:
        """Launch each lane once on each set; returns the milliseconds by lane and set. Outputs are checked."""
        plan, who = [], []
        for place in range(1 if complete else self._sets):
            turn = list(range(len(self._lanes)))
            self._dice.shuffle(turn)
            for lane in turn:
                self._lanes[lane].freshen(place)
                plan.append(self._lanes[lane].step(place, state))
                who.append((lane, place))
        ms, after = self._process.run(plan, spin_ms=self._method.spin_ms, telemetry=True)
        self.measured.after = after
        times: list[list[float]] = [[] for _ in self._lanes]
        for (lane, place), value in zip(who, ms, strict=True):
            times[lane].append(value)
            self._lanes[lane].check(place, complete=complete)
        return times, after

    def _keep(self, state: str, times: list[list[float]], after: dict[str, Any] | None) -> None:
        """Keep a batch's samples unless the device was throttled."""
        samples, measured = self.measured.samples[state], self.measured
        clock = (after or {}).get("clock_mhz")
        if clock:
            measured.clocks.append(clock)
        throttled = bool(clock) and clock < THROTTLED_BELOW * max(measured.clocks)
        throttled = throttled or any(reason in HARD_THROTTLE for reason in (after or {}).get("throttle") or ())
        if throttled:
            samples.throttled += len(times[0])
            return
        samples.kernel += times[0]
        if len(times) > 1:
            samples.baseline += times[1]
