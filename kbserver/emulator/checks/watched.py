"""A machine that runs instrumented code: it keeps what is watched in one arena and collects what the code reports."""

from __future__ import annotations

import ctypes
import hashlib
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

from kbserver.emulator.checks import runtime
from kbserver.emulator.checks.function import BARRIER_MARK, EXEC_MARK, SITE_MARK
from kbserver.emulator.checks.instrument import instrument
from kbserver.emulator.context import LAUNCH
from kbserver.emulator.decode import Decoded
from kbserver.emulator.jit import HostCode, compile_ir
from kbserver.emulator.kernel import Kernel
from kbserver.emulator.machine import Machine, Outcome, Worker
from kbserver.emulator.memory import Buffer, Memory, aligned_bytes
from kbserver.emulator.operands import EXEC, FUEL, SCC, SGPR_SLOTS
from kbserver.emulator.registers import VGPR_BYTES
from kbserver.emulator.rows import Flow, Row
from kbserver.emulator.translate import Translation

USES_ROOM = 4096
"""Uses of undefined values that one launch can report; a loop may fill it, so that others show once it is mended."""
TRACE_ROOM = 1 << 18
MAX_TRACE_ROOM = 1 << 23
"""Rows of the trace of one piece of a grid: 512 MB at most."""
_WATCHED = ("vgprs", "sgprs", "lds")
_lock = threading.Lock()
"""The state of instrumented code belongs to its module: one launch at a time."""


@lru_cache(maxsize=1)
def _version() -> str:
    """Return a digest of the code that instruments, so that compiled objects of another version are not used."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


class _Marks:
    """The observer that tells the instrumentation where instructions begin and where EXEC is written."""

    def before(self, t: Translation, d: Decoded, row: Row) -> None:
        t.emitter.lines.append(f"{SITE_MARK}{d.index}")
        if isinstance(row, Flow) and row.kind == "barrier":
            t.emitter.lines.append(BARRIER_MARK)

    def after(self, t: Translation, d: Decoded, row: Row) -> None:
        if t.registers.exec_changed and not isinstance(row, Flow):
            bits = t.registers.exec_bits
            if bits.ref.startswith("%"):
                t.emitter.lines.append(f"{EXEC_MARK}{bits.ref}")


@dataclass(frozen=True)
class Origins:
    """Which memory counts as undefined when a workgroup starts: vector registers by slot, scalar ones by number, LDS
    by byte, private memory. Narrower than everything to find where an undefined value came from."""

    vgprs: range = range(1 << 16)
    sgprs: range = range(1 << 16)
    lds: range = range(1 << 30)
    private: bool = True


NOTHING = Origins(range(0), range(0), range(0), False)


@dataclass(frozen=True, eq=False)
class Watched:
    """What one launch reported. uses: rows of kind, site, workgroup, wave. trace: rows of TRACE_WORDS words."""

    outcome: Outcome
    uses: np.ndarray
    trace: np.ndarray
    lost: int


class WatchedMachine(Machine):
    """A kernel with masks and trace. It is slower, and compiles more, than the plain machine."""

    def __init__(self, kernel: Kernel, *, cache: Path | None = None) -> None:
        self._arena = np.zeros(0, np.uint8)
        self._origins = Origins()
        self._trace = np.zeros((TRACE_ROOM, runtime.TRACE_WORDS), np.uint64)
        self._uses = np.zeros((USES_ROOM, runtime.USE_WORDS), np.uint64)
        self._pages = aligned_bytes(2 * runtime.PAGE_BYTES)
        super().__init__(kernel, cache=cache, observers=[_Marks()])

    def _compile(self, *, quick: bool) -> HostCode:
        del quick  # always: it runs little
        finish = (_version(), instrument)
        return compile_ir(self.translated.ir, self._cache, quick=True, exports=(runtime.STATE,), finish=finish)

    def watch(
        self, memory: Memory, arguments: Sequence[Buffer | int | float | bytes], *, origins: Origins | None = None,
        **shape: object,
    ) -> Watched:  # fmt: skip
        """Launch on one thread and return what was seen; `shape` is what `launch` takes."""
        with _lock:
            self._origins = origins or Origins()
            self._uses[:] = 0
            outcome = self.launch(memory, arguments, threads=1, **shape)  # type: ignore[arg-type]
            state = self._state()
            rows = int(state[runtime.SLOTS["trace_count"]])
            kept = min(rows, len(self._trace))
            uses = self._uses[: min(int(state[runtime.SLOTS["uses_count"]]), USES_ROOM)].copy()
            return Watched(outcome, uses, self._trace[:kept].copy(), rows - kept)

    def grow(self, rows: int) -> None:
        """Make room for a longer trace."""
        self._trace = np.zeros((min(MAX_TRACE_ROOM, rows), runtime.TRACE_WORDS), np.uint64)

    @property
    def room(self) -> int:
        return len(self._trace)

    def _state(self) -> np.ndarray:
        address = self.code.symbols[runtime.STATE]
        raw = (ctypes.c_uint64 * len(runtime.SLOTS)).from_address(address)
        return np.frombuffer(raw, np.uint64)

    def _prepare(self, worker: Worker) -> None:
        """Move what is watched into one arena, fill its masks and tell the module where all is."""
        places, size = {}, 0
        for name in _WATCHED:
            places[name] = size
            size += -(-worker.arrays[name].nbytes // 128) * 128
        self._arena = aligned_bytes(3 * size)
        for name, place in places.items():
            worker.arrays[name] = self._arena[place : place + worker.arrays[name].nbytes]
            worker.launch[LAUNCH[name]] = worker.arrays[name].ctypes.data
        waves = int(worker.launch[LAUNCH["waves"]])
        image = self._arena[2 * size :]
        self._fill_image(image, places, worker, waves)
        self._arena[size : 2 * size] = image
        self._pages[:] = 0
        base = self._arena.ctypes.data
        lds = worker.arrays["lds"]
        state = self._state()
        for name, value in {
            "arena": base, "arena_bytes": size, "shadow": size, "image": 2 * size,
            "zeros": self._pages.ctypes.data, "dump": self._pages.ctypes.data + runtime.PAGE_BYTES,
            "uses": self._uses.ctypes.data, "uses_room": USES_ROOM, "uses_count": 0,
            "trace": self._trace.ctypes.data, "trace_room": len(self._trace), "trace_count": 0,
            "context": worker.context.ctypes.data, "lds": lds.ctypes.data, "lds_bytes": lds.nbytes,
        }.items():  # fmt: skip
            state[runtime.SLOTS[name]] = value

    def _fill_image(self, image: np.ndarray, places: dict[str, int], worker: Worker, waves: int) -> None:
        """Write what is undefined when a workgroup starts: everything but v0 and what the launch puts in SGPRs."""
        origins = self._origins
        files = image[places["vgprs"] :][: worker.arrays["vgprs"].nbytes].reshape(waves, -1)
        slots = self.kernel.vgpr_slots
        chosen = range(max(1, origins.vgprs.start), max(1, min(slots, origins.vgprs.stop)))
        files[:, chosen.start * VGPR_BYTES : chosen.stop * VGPR_BYTES] = 0xFF
        files[:, slots * VGPR_BYTES :] = 0xFF if origins.private else 0
        scalars = image[places["sgprs"] :][: worker.arrays["sgprs"].nbytes].view(np.uint32).reshape(waves, SGPR_SLOTS)
        scalars[:, origins.sgprs.start : min(SGPR_SLOTS, origins.sgprs.stop)] = 0xFFFFFFFF
        scalars[:, sorted(self._given_sgprs(worker))] = 0
        lds = image[places["lds"] :][: worker.arrays["lds"].nbytes]
        lds[origins.lds.start : min(lds.nbytes, origins.lds.stop)] = 0xFF

    def _given_sgprs(self, worker: Worker) -> set[int]:
        """Return the scalar slots that hold something when a wavefront starts."""
        entry = self.kernel.entry
        ends = [place + 1 for place in entry.workgroup_ids if place is not None]
        # After the ids the hardware may put the wavefront's offset in private memory.
        end = max([entry.preload_first + entry.preload_dwords, *ends]) + (1 if entry.private_bytes else 0)
        given = set(range(end))
        given |= {EXEC, EXEC + 1, FUEL, FUEL + 1} | set(range(SCC + 1, SGPR_SLOTS))
        return given | set(np.flatnonzero(worker.arrays["initial_sgprs"].view(np.uint32)).tolist())
