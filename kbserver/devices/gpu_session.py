"""What the GPU worker holds: loaded kernels, device memory with its host side, and launches inside event pairs."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from kbserver.core.errors import LaunchFailed, TimedOut, ToolFailure, UsageError
from kbserver.devices.buffers import GUARD_BYTES, SharedBuffer
from kbserver.devices.gpu_api import LOCAL_BYTES, REGISTERS, SHARED_BYTES, DriverError, GpuApi, NotFinished
from kbserver.devices.kernarg import pack

COLD, WARM, COPY = "cold", "warm", "copy"
_REFUSALS = ("launch", "last_error")


@dataclass
class DeviceBuffer:
    """One tensor: its shared host memory, and device memory of the same size, guard zones included."""

    host: SharedBuffer
    base: int

    @property
    def address(self) -> int:
        return self.base + GUARD_BYTES

    @property
    def whole_bytes(self) -> int:
        return self.host.layout.map_bytes


@dataclass(frozen=True)
class Kernel:
    """A loaded function and how it is launched."""

    name: str
    function: int


class Session:
    """One device for one process."""

    def __init__(self, kind: str, ordinal: int) -> None:
        """Raises gpu_api.NoDriver."""
        self.api = GpuApi(kind, ordinal)
        self.kernels: dict[str, Any] = {}
        self.buffers: dict[str, DeviceBuffer] = {}
        self._scratch, self._scratch_bytes, self._fill = 0, 0, 0
        self._events: list[tuple[int, int]] = []
        self._mark = 0

    def load(self, slot: str, image: bytes, entry: str) -> dict[str, int]:
        """Load a kernel under a name; returns its resources. Raises ToolFailure when the driver refuses the code."""
        try:
            _, function = self.api.load(image, entry)
            found = {
                "lds_bytes": self.api.attribute(function, SHARED_BYTES),
                "registers": self.api.attribute(function, REGISTERS),
                "scratch_bytes": self.api.attribute(function, LOCAL_BYTES),
            }
        except DriverError as error:
            raise ToolFailure(
                f"the driver cannot load the kernel: {error}",
                where=entry,
                hint=f"the device is {self.api.identity.arch}: was the code built for it?",
                details={"driver_error": error.name, "number": error.number},
            ) from None
        self.kernels[slot] = Kernel(entry, function)
        return found

    def attach(self, key: str, host: SharedBuffer) -> None:
        """Give a host buffer its device memory. Raises ToolFailure when there is not enough."""
        try:
            base = self.api.allocate(host.layout.map_bytes)
        except DriverError as error:
            raise ToolFailure(f"no device memory for {host.layout.map_bytes:,} bytes: {error}", where=key) from None
        self.buffers[key] = DeviceBuffer(host, base)

    def upload(self, keys: Sequence[str]) -> None:
        """Copy host buffers, guard zones included, to the device."""
        for key in keys:
            one = self.buffers[key]
            self._checked("upload", one.base, one.host.whole.ctypes.data, one.whole_bytes, where=key)

    def download(self, keys: Sequence[str]) -> None:
        """Copy device buffers back into their host buffers."""
        for key in keys:
            one = self.buffers[key]
            self._checked("download", one.host.whole.ctypes.data, one.base, one.whole_bytes, where=key)

    def _checked(self, call: str, *arguments: object, where: str) -> None:
        try:
            self.api.call(call, *arguments)
        except DriverError as error:
            raise LaunchFailed(f"the device failed: {error}", where=where) from None

    def scratch(self, size: int) -> None:
        """Set memory aside that is written before cold launches, so that no cache holds anything of the kernel's."""
        try:
            self._scratch, self._scratch_bytes = self.api.allocate(size), size
        except DriverError as error:
            raise ToolFailure(f"no device memory to flush caches with, {size:,} bytes: {error}") from None

    def run(self, plan: Sequence[Mapping[str, Any]], *, spin_ms: float, limit_s: float) -> list[float]:
        """Do the steps of a plan back to back, each in an event pair of its own; returns their milliseconds.

        A step names a kernel (or none: an empty window), its launch, the names of its buffers, and the state of the
        caches: cold, warm, or copy, which copies half of the scratch memory to the other half inside the window.
        Raises UsageError for a launch that the driver refuses, LaunchFailed for one that fails, TimedOut.
        """
        self._spin(spin_ms, limit_s)
        pairs = []
        step: Mapping[str, Any] = {}
        try:
            for step in plan:
                self._set_caches(step)
                start, stop = self._pair(len(pairs))
                self.api.call("record", start, self.api.stream)
                self._window(step)
                self.api.call("record", stop, self.api.stream)
                pairs.append((start, stop))
                self._finish(step)
            for _, stop in pairs:
                self.api.wait(stop, limit_s)
            self.api.call("stream_wait", self.api.stream)
            return [self.api.elapsed_ms(*pair) for pair in pairs]
        except NotFinished:
            raise self._hung(limit_s, str(step.get("slot"))) from None
        except DriverError as error:
            raise self._failed(error, str(step.get("slot"))) from None

    def _failed(self, error: DriverError, slot: str) -> UsageError | LaunchFailed:
        where = getattr(self.kernels.get(slot), "name", None)
        details = {"driver_error": error.name, "number": error.number}
        if any(error.call == self.api.flavour.names.get(name) for name in _REFUSALS):
            return UsageError(f"the driver refused the launch: {error}", where=where, details=details)
        return LaunchFailed(
            f"the launch failed on the device: {error}",
            where=where,
            hint="an access outside its buffers, most often; `kb verify` on the emulator names the instruction",
            details=details,
        )

    def _hung(self, limit_s: float, slot: str) -> TimedOut:
        return TimedOut(
            f"the kernel had not finished after {limit_s:g} s",
            where=getattr(self.kernels.get(slot), "name", None),
            hint="its process is killed; the device may need time, or a reset by its owner, to recover",
            details={"limit": "launch"},
        )

    def _pair(self, number: int) -> tuple[int, int]:
        """Return the events of a window; they are made once and used again by the next plan."""
        if number == len(self._events):
            self._events.append((self.api.event(), self.api.event()))
        return self._events[number]

    def _spin(self, spin_ms: float, limit_s: float) -> None:
        """Keep the device busy for a while: an idle one lowers its clocks."""
        if not spin_ms or not self._scratch:
            return
        self._mark = self._mark or self.api.event()
        mark, deadline = self._mark, time.monotonic() + spin_ms / 1000
        while time.monotonic() < deadline:
            self._flush()
            self.api.call("record", mark, self.api.stream)
            self.api.wait(mark, limit_s)

    def _flush(self) -> None:
        self._fill = (self._fill + 1) % 251
        self.api.call("fill", self._scratch, self._fill, self._scratch_bytes, self.api.stream)

    def _set_caches(self, step: Mapping[str, Any]) -> None:
        """Before the window: write the scratch memory (cold), or read the inputs that the launch will read (warm)."""
        if step["state"] in (COLD, COPY) and self._scratch:
            self._flush()
        elif step["state"] == WARM:
            self._flush()
            for key in step.get("buffers", {}).values():
                one = self.buffers[key]
                if not one.host.layout.writable:
                    size = min(one.whole_bytes, self._scratch_bytes)
                    self.api.call("copy", self._scratch, one.base, size, self.api.stream)

    def _window(self, step: Mapping[str, Any]) -> None:
        if step["state"] == COPY:
            half = self._scratch_bytes // 2
            self.api.call("copy", self._scratch, self._scratch + half, half, self.api.stream)
        elif step["slot"] is not None:
            kernel, launch = self.kernels[step["slot"]], step["launch"]
            if isinstance(kernel, Kernel):
                addresses = {name: self.buffers[key].address for name, key in step["buffers"].items()}
                self.api.launch(
                    kernel.function, launch["grid"], launch["block"], launch["dynamic_lds_bytes"],
                    pack(launch["arguments"], addresses),
                )  # fmt: skip
            else:
                kernel(self._buffers_of(step), self.api.stream)

    def _finish(self, step: Mapping[str, Any]) -> None:
        """After the window: a library's result goes to where a kernel of ours writes its own."""
        kernel = self.kernels.get(step["slot"])
        if kernel is not None and not isinstance(kernel, Kernel):
            kernel.finish(self._buffers_of(step), self.api.stream)

    def _buffers_of(self, step: Mapping[str, Any]) -> dict[str, DeviceBuffer]:
        return {name: self.buffers[key] for name, key in step["buffers"].items()}
