"""rocminfo text as people paste it -> labelled entries: colours, scroll marks, quotes and lost newlines undone.

Nothing is guessed here: a line that no known label starts is kept as an `other` entry, a gap that the author marked
(`[...]`) is kept as a `gap` entry, and what had to be repaired is listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from kbserver.core.errors import UsageError

MAX_TEXT_BYTES = 4 << 20

# What we read, by the label that rocminfo prints. A translation adds labels, not code.
LABELS = {
    "name": ("Name", "名称"),
    "uuid": ("Uuid",),
    "marketing": ("Marketing Name", "营销名称"),
    "vendor": ("Vendor Name", "供应商名称"),
    "device_type": ("Device Type", "设备类型"),
    "chip_id": ("Chip ID", "芯片 ID"),
    "l1": ("L1",),
    "l2": ("L2",),
    "l3": ("L3",),
    "cacheline": ("Cacheline Size", "缓存行大小"),
    "clock": ("Max Clock Freq. (MHz)", "最大时钟频率 (MHz)"),
    "compute_units": ("Compute Unit", "计算单元"),
    "simds": ("SIMDs per CU", "每个 CU 的 SIMD 数"),
    "shader_engines": ("Shader Engines", "着色器引擎"),
    "wavefront": ("Wavefront Size", "波前大小"),
    "workgroup_max": ("Workgroup Max Size", "工作组最大大小"),
    "waves_per_cu": ("Max Waves Per CU", "每个 CU 的最大波前数"),
    "bdfid": ("BDFID",),
    "segment": ("Segment", "段"),
    "size": ("Size", "大小"),
    "runtime": ("Runtime Version", "运行时版本"),
}
# Labels that we only step over: they keep a line without newlines from running into the next field.
SKIPPED = (
    "Runtime Ext Version", "System Timestamp Freq.", "Sig. Max Wait Duration", "Machine Model", "System Endianness",
    "Mwaitx", "XNACK enabled", "DMAbuf Support", "VMM Support", "Feature", "Features", "Profile", "Float Round Mode",
    "Max Queue Number", "Queue Min Size", "Queue Max Size", "Queue Type", "Node", "Cache Info", "ASIC Revision",
    "Internal Node ID", "Shader Arrs. per Eng.", "WatchPts on Addr. Ranges", "Coherent Host Access",
    "Memory Properties", "Fast F16 Operation", "Workgroup Max Size per Dimension", "Max Work-item Per CU",
    "Grid Max Size", "Grid Max Size per Dimension", "Max fbarriers/Workgrp", "Packet Processor uCode",
    "SDMA engine uCode", "IOMMU Support", "Pool Info", "ISA Info", "Allocatable", "Alloc Granule",
    "Alloc Recommended Granule", "Alloc Alignment", "Accessible by all", "Acessible by all", "Machine Models",
    "Profiles", "Default Rounding Mode", "Fast f16", "FBarrier Max Size",
)  # fmt: skip
_KEY_OF = {label.lower(): key for key, labels in LABELS.items() for label in labels}
_KEY_OF |= {label.lower(): "" for label in SKIPPED}
_ANY_LABEL = "|".join(re.escape(label) for label in sorted(_KEY_OF, key=len, reverse=True))
_LABEL = re.compile(rf"(?<!\S)(?P<label>{_ANY_LABEL})\s*::?", re.IGNORECASE)
_NUMBERED = r"(?P<kind>Agent|Pool|ISA|代理|池) (?P<number>[0-9]{1,6})"
_HEADER = re.compile(rf"(?<!\S){_NUMBERED}(?!\S)", re.IGNORECASE)
_CONDENSED = re.compile(rf"{_NUMBERED}\b\s*:?\s*(?P<rest>.*)$", re.IGNORECASE)
_HEADER_KIND = {"agent": "agent", "代理": "agent", "pool": "pool", "池": "pool", "isa": "isa"}

_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)?|[@-_])")
_SCROLL_MARK = re.compile(r"\[[0-9]{1,7}/[0-9]{1,7}\]$")
_GAP = re.compile(r"^\[?\s*(?:\.\.\.|…)[^:]*\]?$")
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]")


@dataclass(frozen=True)
class Entry:
    """One piece of the text: kind is `field`, `agent`, `pool`, `isa`, `gap` or `other`."""

    kind: str
    key: str = ""
    value: str = ""


@dataclass
class Cleaned:
    """The text without what terminals and mail added, and the names of the repairs."""

    lines: list[str]
    repairs: list[str] = field(default_factory=list)


def decode(data: bytes, where: str) -> str:
    """Return the bytes of a file as text. Raises UsageError for what is too large, binary or not text at all."""
    if len(data) > MAX_TEXT_BYTES:
        raise UsageError(
            f"larger than {MAX_TEXT_BYTES >> 20} MiB: not the output of rocminfo",
            where=where,
            hint="save the output with `rocminfo > rocminfo.txt`",
        )
    for mark, encoding in ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"), (b"\xef\xbb\xbf", "utf-8-sig")):
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    if b"\x00" in data:
        raise UsageError("a binary file, not text", where=where, hint="save the output with `rocminfo > rocminfo.txt`")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")  # the labels are ASCII; only names of foreign devices can suffer


def clean(text: str) -> Cleaned:
    """Undo what terminals, mail and web pages did to the text."""
    cleaned = Cleaned([])
    plain = _ANSI.sub("", text)
    if plain != text:
        cleaned.repairs.append("terminal colours removed")
    plain = plain.replace("\r\n", "\n").replace("\r", "\n").replace("\ufeff", "").replace("\xa0", " ")
    for raw in plain.split("\n"):
        line = _CONTROL.sub("", raw.expandtabs(8).replace("：", ":")).rstrip()  # full-width colon of translations
        unmarked = line
        mark = _SCROLL_MARK.search(line[-20:])  # the tail only: a search from every blank of a long line is quadratic
        if mark:
            unmarked = line[: len(line) - len(mark[0])].rstrip()
            _note(cleaned, "terminal scroll marks removed")
        if unmarked.endswith("\\"):
            unmarked = unmarked.rstrip("\\ ")
            _note(cleaned, "stray backslashes removed")
        line = re.sub(r"^\s*>\s?", "", unmarked)
        pieces = list(_split(line))
        if len(pieces) > 1:
            _note(cleaned, "lost newlines put back")
        cleaned.lines.extend(pieces)
    return cleaned


def _note(cleaned: Cleaned, repair: str) -> None:
    if repair not in cleaned.repairs:
        cleaned.repairs.append(repair)


def _split(line: str) -> Iterator[str]:
    """Yield the fields of a line that holds several; a normal line comes back whole."""
    labels = [match.start() for match in _LABEL.finditer(line)]
    if len(labels) < 2:
        yield line
        return
    cuts = sorted({0, len(line), *labels, *(match.start() for match in _HEADER.finditer(line))})
    for start, end in pairwise(cuts):
        piece = line[start:end].strip()
        if piece:
            yield piece


def entries(lines: list[str]) -> Iterator[Entry]:
    """Yield one entry a line."""
    for line in lines:
        text = line.strip().strip("*").strip() if set(line.strip()) != {"*"} else ""
        if not text or set(text) == {"="}:
            continue
        if _GAP.match(text):
            yield Entry("gap", value=text)
            continue
        label = _LABEL.match(text)
        if label:
            key = _KEY_OF[label["label"].lower()]
            if key:
                yield Entry("field", key, text[label.end() :].strip())
            continue
        header = _CONDENSED.match(text)
        if header:
            yield Entry(_HEADER_KIND[header["kind"].lower()], header["number"], header["rest"].strip())
            continue
        yield Entry("other", value=text)
