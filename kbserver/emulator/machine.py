"""Launch a kernel: compile it once, then run grids of workgroups over real buffers on host threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from kbserver.core.errors import LaunchFailed, TimedOut, UsageError
from kbserver.emulator.arguments import Launch
from kbserver.emulator.context import ABORTED, CONTEXT, FINDING, FINDING_KINDS, LAUNCH, LOST, OUT_OF_FUEL
from kbserver.emulator.counters import Counts
from kbserver.emulator.entry_state import EntryState, check_launch, entry_state
from kbserver.emulator.hazard_check import hazards
from kbserver.emulator.ir import LANES
from kbserver.emulator.jit import HostCode, compile_ir
from kbserver.emulator.kernel import DYNAMIC_STACK_BYTES, Kernel
from kbserver.emulator.linking import lost
from kbserver.emulator.memory import POISON, Buffer, Memory, aligned_bytes
from kbserver.emulator.operands import DISCARD, SGPR_SLOTS
from kbserver.emulator.orders import wave_orders
from kbserver.emulator.registers import VGPR_BYTES
from kbserver.emulator.translate import Observer, TranslatedKernel, translate
from kbserver.emulator.wait_check import missing_waits

FINDING_CAPACITY = 256
DEFAULT_FUEL = 1 << 33
"""Instructions that one wavefront may spend in loops before it counts as endless."""
QUICK_WORK = 100_000_000
"""Wavefronts times instructions of the kernel up to which code that LLVM did not optimise is the faster way. It takes a
fifth to a half of the time to compile and runs at about half the speed: 0.9 s against 1.8 s for step3_nchw_lds at the
published size, which is near the border."""


@dataclass(frozen=True)
class Finding:
    """One access that was refused: what, at which instruction, by which lane, and where it pointed."""

    kind: str
    site: int
    line: int
    source: str | None
    instruction: str
    lane: int
    workgroup: int
    wave: int
    address: int
    bytes: int
    where: str


@dataclass(frozen=True)
class Outcome:
    """What a launch did. `finding_count` counts every refused access, `findings` holds the first ones.

    clipped_lanes: how often the range check of a buffer resource stopped a lane, in whole or in part. No fault: the
    hardware defines it, and compilers use it to mask.
    """

    counts: Counts
    findings: tuple[Finding, ...]
    finding_count: int
    divergent_rounds: int
    wall_s: float
    waves: int
    clipped_lanes: int = 0


class Machine:
    """A compiled kernel that can be launched any number of times, from any thread.

    adaptive: begin with quickly compiled code, and optimise once more than QUICK_WORK is to be done.
    """

    def __init__(
        self,
        kernel: Kernel,
        *,
        cache: Path | None = None,
        observers: Sequence[Observer] = (),
        adaptive: bool = False,
    ) -> None:
        self.kernel = kernel
        self.missing_waits = tuple(missing_waits(kernel))
        self.hazards = tuple(hazards(kernel))
        started = time.monotonic()
        self.translated: TranslatedKernel = translate(kernel, observers)
        self.translate_s = time.monotonic() - started
        self._cache = cache
        self._quick_work_left = QUICK_WORK if adaptive else None
        self.code: HostCode = self._compile(quick=adaptive)

    def _compile(self, *, quick: bool) -> HostCode:
        return compile_ir(self.translated.ir, self._cache, quick=quick)

    def _spend(self, waves: int) -> None:
        """Take the work of a launch off what quickly compiled code may do; optimise when it is spent."""
        # Read once: another thread may have spent the rest meanwhile.
        left = self._quick_work_left
        if left is not None:
            left -= waves * len(self.kernel.code)
            if left < 0:
                self.code = self._compile(quick=False)
            self._quick_work_left = left if left >= 0 else None

    def _prepare(self, worker: Worker) -> None:
        """Called before a worker runs, for machines that watch its memory."""

    def launch(
        self,
        memory: Memory,
        arguments: Sequence[Buffer | int | float | bytes],
        *,
        grid: tuple[int, int, int],
        block: tuple[int, int, int],
        dynamic_lds_bytes: int = 0,
        workgroups: range | None = None,
        threads: int = 1,
        order: str = "forward",
        seed: int = 0,
        poison: bool = True,
        fuel: int = DEFAULT_FUEL,
        trace: np.ndarray | None = None,
    ) -> Outcome:
        """Run the grid (`grid` counts workgroups) or a part of its workgroups.

        order: forward, reversed or seeded, the order in which wavefronts take turns. trace: where the recorder of
        `observers.accesses` writes; needed with that observer, and then for one thread. Raises UsageError for a launch
        that the hardware would refuse and TimedOut when a wavefront spends its loop budget.
        """
        launch = Launch(grid, block, dynamic_lds_bytes)
        check_launch(self.kernel, launch)
        start = entry_state(self.kernel, launch, memory, arguments)
        total = grid[0] * grid[1] * grid[2]
        wanted = range(total) if workgroups is None else workgroups
        if wanted.step != 1 or wanted.start < 0 or wanted.stop > total:
            raise UsageError(f"workgroups {wanted} are not within the grid's {total}")
        orders = wave_orders(order, launch.waves, seed)
        self._spend(launch.waves * len(wanted))
        workers = [Worker(self, launch, start, orders, poison, fuel) for _ in range(max(1, threads))]
        if trace is not None:
            if len(workers) != 1:
                raise ValueError("accesses are recorded by one thread")
            workers[0].context[CONTEXT["trace"]] = trace.ctypes.data
        for worker in workers:
            self._prepare(worker)
        started = time.monotonic()
        _run_all(workers, wanted)
        wall_s = time.monotonic() - started
        return self._outcome(workers, start.memory, wall_s, launch.waves * len(wanted))

    def _outcome(self, workers: list[Worker], memory: Memory, wall_s: float, waves: int) -> Outcome:
        counters = sum(worker.counters for worker in workers)
        counts = Counts(self.translated.segments, counters[:, 0], counters[:, 1])
        findings = [self._finding(row, memory) for worker in workers for row in worker.recorded()]
        return Outcome(
            counts=counts,
            findings=tuple(sorted(findings, key=lambda f: (f.workgroup, f.wave, f.site, f.lane))),
            finding_count=sum(worker.finding_count for worker in workers),
            divergent_rounds=sum(worker.divergence for worker in workers),
            wall_s=wall_s,
            waves=waves,
            clipped_lanes=sum(worker.clipped for worker in workers),
        )

    def _finding(self, row: np.ndarray, memory: Memory) -> Finding:
        word = {name: int(row[slot]) for name, slot in FINDING.items()}
        instruction = self.kernel.code[word["site"]].instruction
        kind = FINDING_KINDS[word["kind"]]
        return Finding(
            kind=kind,
            site=word["site"],
            line=instruction.line,
            source=str(instruction.source) if instruction.source else None,
            instruction=" ".join(instruction.text.split()),
            lane=word["lane"],
            workgroup=word["workgroup"],
            wave=word["wave"],
            address=word["address"],
            bytes=word["bytes"],
            where=self._describe(kind, word["address"], memory),
        )

    def _describe(self, kind: str, address: int, memory: Memory) -> str:
        if kind.startswith("LDS"):
            return f"LDS byte {address}"
        if kind.startswith("scratch"):
            size = f"{self.kernel.private_bytes} bytes of private memory"
            assumed = f" ({DYNAMIC_STACK_BYTES} assumed: the stack has no known size)"
            return f"byte {address} of the lane's {size}{assumed if self.kernel.entry.dynamic_stack else ''}"
        return memory.describe(address)


class Worker:
    """One host thread's register files, LDS, counters and findings."""

    def __init__(
        self, machine: Machine, launch: Launch, start: EntryState, orders: np.ndarray, poison: bool, fuel: int
    ) -> None:
        kernel = machine.kernel
        waves = launch.waves
        lds_bytes = kernel.entry.lds_bytes + launch.dynamic_lds_bytes
        # Private memory follows the vector registers: what fills these with poison fills it too.
        vgpr_bytes = kernel.vgpr_slots * VGPR_BYTES + -(-kernel.private_bytes * LANES // VGPR_BYTES) * VGPR_BYTES
        self.run = machine.code.run
        self.kernel = kernel
        self.error: BaseException | None = None
        segments = max(1, len(machine.translated.segments))
        self.counters = aligned_bytes(segments * 16).view(np.uint64).reshape(segments, 2)
        self.findings = np.zeros((FINDING_CAPACITY, len(FINDING)), np.uint64)
        self.context = aligned_bytes(len(CONTEXT) * 8).view(np.uint64)
        self.arrays = {
            "vgprs": aligned_bytes(waves * vgpr_bytes),
            "sgprs": aligned_bytes(waves * SGPR_SLOTS * 4),
            "lds": aligned_bytes(max(lds_bytes, 64)),
            "states": aligned_bytes(waves * 4),
            "initial_sgprs": start.sgprs,
            "initial_exec": launch.initial_exec(),
            "initial_v0": launch.initial_v0(kernel.entry.work_item_axes),
            "order": orders,
        }
        self.ranges, self.symbols = start.memory.table(), start.symbols
        _fill(
            self.context, CONTEXT, ranges=self.ranges.ctypes.data, range_count=len(self.ranges),
            findings=self.findings.ctypes.data, finding_capacity=FINDING_CAPACITY, lds_bytes=lds_bytes,
            counters=self.counters.ctypes.data, symbols=self.symbols.ctypes.data,
        )  # fmt: skip
        ids = [DISCARD if place is None else place for place in kernel.entry.workgroup_ids]
        self.launch = aligned_bytes(len(LAUNCH) * 8).view(np.uint64)
        _fill(
            self.launch, LAUNCH, context=self.context.ctypes.data, vgpr_bytes=vgpr_bytes, lds_allocated=lds_bytes,
            waves=waves, groups_x=launch.grid[0], groups_y=launch.grid[1], id_x=ids[0], id_y=ids[1], id_z=ids[2],
            fill_registers=int(poison), poison=POISON if poison else 0, fuel=fuel,
            **{name: array.ctypes.data for name, array in self.arrays.items()},
        )  # fmt: skip

    def execute(self, first: int, last: int) -> None:
        """Run workgroups [first, last). Raises TimedOut when a wavefront runs out of its loop budget."""
        state = self.run(self.launch.ctypes.data, first, last)
        if state == OUT_OF_FUEL:
            raise TimedOut(
                f"wavefront {int(self.context[CONTEXT['wave']])} of workgroup "
                f"{int(self.context[CONTEXT['workgroup']])} spent its loop budget",
                where=self.kernel.name,
                hint="an endless loop, or a budget too small for this kernel",
            )
        if state == LOST:
            site, address = (int(self.context[CONTEXT[name]]) for name in ("lost_site", "lost_address"))
            raise lost(self.kernel.code[site], address)
        if state == ABORTED:
            instruction = self.kernel.code[int(self.context[CONTEXT["lost_site"]])].instruction
            raise LaunchFailed(
                f"workgroup {int(self.context[CONTEXT['workgroup']])} stopped at `s_trap 2`",
                where=str(instruction.source or f"{self.kernel.name}, assembly line {instruction.line}"),
                hint="the kernel ends itself there: __builtin_trap, a failed assertion, or unreachable code",
            )
        if state:
            raise RuntimeError(f"the kernel function left with state {state}")

    @property
    def clipped(self) -> int:
        return int(self.context[CONTEXT["clipped"]])

    @property
    def finding_count(self) -> int:
        return int(self.context[CONTEXT["finding_count"]])

    @property
    def divergence(self) -> int:
        return int(self.launch[LAUNCH["divergence"]])

    def recorded(self) -> np.ndarray:
        return self.findings[: min(self.finding_count, FINDING_CAPACITY)]


def _fill(record: np.ndarray, slots: dict[str, int], **values: int) -> None:
    for name, value in values.items():
        record[slots[name]] = value


def _run_all(workers: list[Worker], wanted: range) -> None:
    """Share the workgroups between the workers in small pieces. Raises what the first failing worker raised."""
    piece = max(1, min(64, len(wanted) // (len(workers) * 8) or 1))
    starts = iter(range(wanted.start, wanted.stop, piece))
    lock = threading.Lock()
    failed = threading.Event()

    def work(worker: Worker) -> None:
        while not failed.is_set():
            with lock:
                first = next(starts, None)
            if first is None:
                return
            try:
                worker.execute(first, min(first + piece, wanted.stop))
            except BaseException as error:
                worker.error = error
                failed.set()

    others = [threading.Thread(target=work, args=(worker,), daemon=True) for worker in workers[1:]]
    for thread in others:
        thread.start()
    work(workers[0])
    for thread in others:
        thread.join()
    for worker in workers:
        if worker.error is not None:
            raise worker.error
