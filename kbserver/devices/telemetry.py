"""Clocks, power, temperature and other users of a GPU, where this machine lets them be read; None where it does not.

AMD's driver shows them as files, NVIDIA's through its management library. Neither needs a program to be started.
"""

from __future__ import annotations

import ctypes
import re
from ctypes import byref, c_uint, c_ulonglong, c_void_p
from pathlib import Path
from typing import Any, Protocol

PCI_DEVICES = Path("/sys/bus/pci/devices")
KEYS = ("clock_mhz", "memory_clock_mhz", "power_w", "temperature_c", "busy_percent", "other_processes", "throttle")
"""What a reading has; `throttle` is a list of reasons, empty when there is none."""
# Bits that say "idle" or "as configured" are left out: they slow nothing down.
_REASONS = {
    0x4: "software power cap", 0x8: "hardware slowdown", 0x10: "sync boost", 0x20: "software thermal",
    0x40: "hardware thermal", 0x80: "hardware power brake", 0x100: "display clocks",
}  # fmt: skip


class Telemetry(Protocol):
    def read(self) -> dict[str, Any]:
        """Return a value for each of KEYS."""


class NoTelemetry:
    """A device whose state cannot be read here."""

    def read(self) -> dict[str, Any]:
        return dict.fromkeys(KEYS)


class AmdTelemetry:
    """Files of the amdgpu driver for one PCI device."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._hwmon = next(iter(sorted((folder / "hwmon").glob("hwmon*"))), None)

    def read(self) -> dict[str, Any]:
        power = self._number("power1_average", 1e-6) or self._number("power1_input", 1e-6)
        return {
            "clock_mhz": _active_level(self._text(self._folder / "pp_dpm_sclk")) or self._number("freq1_input", 1e-6),
            "memory_clock_mhz": _active_level(self._text(self._folder / "pp_dpm_mclk")),
            "power_w": power,
            "temperature_c": self._number("temp1_input", 1e-3),
            "busy_percent": _first_number(self._text(self._folder / "gpu_busy_percent")),
            "other_processes": None,
            "throttle": None,
        }

    def _text(self, path: Path) -> str:
        try:
            return path.read_text("utf-8", "replace")
        except OSError:
            return ""

    def _number(self, name: str, factor: float) -> float | None:
        value = _first_number(self._text(self._hwmon / name)) if self._hwmon else None
        return None if value is None else round(value * factor, 3)


def _active_level(text: str) -> float | None:
    """Return the MHz of the line that the driver marks with a star."""
    found = re.search(r"(\d+)\s*Mhz\s*\*", text, re.I)
    return float(found[1]) if found else None


def _first_number(text: str) -> float | None:
    found = re.match(r"\s*(\d+(?:\.\d+)?)", text)
    return float(found[1]) if found else None


class NvidiaTelemetry:
    """NVML, the management library that comes with NVIDIA's driver."""

    def __init__(self, library: ctypes.CDLL, handle: c_void_p) -> None:
        self._library, self._handle = library, handle

    def read(self) -> dict[str, Any]:
        power = self._value("nvmlDeviceGetPowerUsage")
        return {
            "clock_mhz": self._value("nvmlDeviceGetClockInfo", c_uint(1)),
            "memory_clock_mhz": self._value("nvmlDeviceGetClockInfo", c_uint(2)),
            "power_w": None if power is None else power / 1000,
            "temperature_c": self._value("nvmlDeviceGetTemperature", c_uint(0)),
            "busy_percent": self._busy(),
            "other_processes": self._others(),
            "throttle": self._throttle(),
        }

    def _value(self, name: str, *arguments: object) -> int | None:
        value = c_uint()
        return value.value if self._ok(name, *arguments, byref(value)) else None

    def _ok(self, name: str, *arguments: object) -> bool:
        function = getattr(self._library, name, None)
        return function is not None and function(self._handle, *arguments) == 0

    def _busy(self) -> int | None:
        rates = (c_uint * 2)()
        return rates[0] if self._ok("nvmlDeviceGetUtilizationRates", byref(rates)) else None

    def _others(self) -> int | None:
        """Return how many processes besides this one compute on the device; None where they cannot be listed."""
        count, table = c_uint(64), (ctypes.c_ubyte * (64 * 64))()
        if not self._ok("nvmlDeviceGetComputeRunningProcesses_v3", byref(count), table):
            return None
        return max(0, count.value - 1)

    def _throttle(self) -> list[str] | None:
        bits = c_ulonglong()
        if not self._ok("nvmlDeviceGetCurrentClocksThrottleReasons", byref(bits)):
            return None
        return [text for bit, text in _REASONS.items() if bits.value & bit]


def telemetry_of(kind: str, bus: str) -> Telemetry:
    """Return what can read the state of the device on a PCI bus address."""
    if kind == "hip":
        folder = PCI_DEVICES / bus
        return AmdTelemetry(folder) if folder.is_dir() else NoTelemetry()
    try:
        library = ctypes.CDLL("libnvidia-ml.so.1")
        handle = c_void_p()
        if library.nvmlInit_v2() or library.nvmlDeviceGetHandleByPciBusId_v2(bus.encode(), byref(handle)):
            return NoTelemetry()
    except (OSError, AttributeError):
        return NoTelemetry()
    return NvidiaTelemetry(library, handle)
