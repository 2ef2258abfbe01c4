"""The unit vocabulary of facts, and values as people read them: 163840 B is "160 KiB"."""

from __future__ import annotations

from typing import Any

UNITS = {
    "B": "bytes; KiB, MiB and GiB are powers of 1024",
    "B/clk": "bytes per clock",
    "GB/s": "10^9 bytes per second",
    "TB/s": "10^12 bytes per second",
    "MHz": "10^6 clocks per second",
    "ns": "nanoseconds",
    "clk": "clocks of the engine",
    "wait states": "instruction issue slots that must lie between, as s_nop counts them",
    "bits": "bits",
    "lanes": "lanes of a wavefront",
    "registers": "32-bit registers of one lane (vector) or of one wavefront (scalar)",
    "banks": "LDS banks, 4 bytes wide",
    "phases": "steps in which the lanes of one LDS instruction are served",
    "conflicts": "bank conflicts as counted by the profiler",
    "waves": "wavefronts",
    "workgroups": "workgroups",
    "work-items": "work-items (threads) of a workgroup",
    "SIMD": "vector units",
    "CU": "compute units",
    "XCD": "accelerator complex dies",
    "GCD": "graphics compute dies",
    "IOD": "I/O dies",
    "channels": "cache channels",
    "ways": "ways of a set-associative cache",
    "mnemonics": "instruction names",
    "FLOP/clk": "floating-point operations per clock",
    "OP/clk": "integer operations per clock",
    "TFLOPS": "10^12 floating-point operations per second",
    "TOPS": "10^12 integer operations per second",
    "FLOP/B": "floating-point operations per byte of memory traffic",
    "W": "watts",
    "x": "ratio",
    "percent": "hundredths",
    "PCI id": "PCI device id",
}

_BINARY = (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10))
_SPACELESS = {"x": "x"}
_WRITTEN = {"percent": "%", "PCI id": ""}
_ONE = {
    "registers": "register",
    "banks": "bank",
    "phases": "phase",
    "waves": "wave",
    "channels": "channel",
    "ways": "way",
    "lanes": "lane",
}


def short(value: Any, unit: str | None) -> str:
    """Return value and unit as prose needs them: "160 KiB", "5.3 TB/s", "unknown", "yes", "1-64: 8, 65-72: 7 waves"."""
    if value is None:
        return "unknown"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return _with_unit("; ".join(number(item) for item in value), unit)
    if isinstance(value, dict):
        text = ", ".join(f"{key}: {number(item)}" for key, item in value.items())
        return f"{text} ({unit})" if unit else text
    if unit == "B" and isinstance(value, int):
        return _bytes(value)
    return _with_unit(number(value), _ONE.get(unit or "", unit) if value == 1 else unit)


def full(value: Any, unit: str | None) -> str:
    """Return `short`, with the exact byte count where it was rounded to a larger unit: "160 KiB (163,840 B)"."""
    text = short(value, unit)
    if unit == "B" and isinstance(value, int) and not text.endswith(" B"):
        return f"{text} ({value:,} B)"
    return text


def number(value: Any) -> str:
    """Return a plain value; thousands are grouped from 10,000 on."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}" if abs(value) >= 10_000 else str(value)
    if isinstance(value, float):
        return f"{value:,.10g}" if abs(value) >= 10_000 else f"{value:.10g}"
    if isinstance(value, list):
        return " | ".join(number(item) for item in value)
    return "unknown" if value is None else str(value)


def _bytes(value: int) -> str:
    for name, size in _BINARY:
        # One decimal at most: 12,800 B is 12.5 KiB, 1280 B stays as it is.
        if abs(value) >= size and (value * 10) % size == 0:
            return f"{number(value / size)} {name}"
    return f"{number(value)} B"


def _with_unit(text: str, unit: str | None) -> str:
    if not unit:
        return text
    if unit in _SPACELESS:
        return text + _SPACELESS[unit]
    return f"{text} {_WRITTEN.get(unit, unit)}".rstrip()
