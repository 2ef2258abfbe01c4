"""rocminfo's text -> agents, as reported: nothing is filled in, and what the text does not say is None.

`parse` accepts what people paste: complete output, one agent, translated labels, cut and stitched texts, error output.
Which product a GPU is, and what is odd about it, is decided in `identify.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field

from kbserver.core.errors import UsageError
from kbserver.core.model import Record
from kbserver.hardware.rocminfo_errors import Problem, error_problems
from kbserver.hardware.rocminfo_text import Entry, clean, entries

_NUMBER = re.compile(r"^(?P<decimal>[0-9]{1,20})(?![0-9])\s*(?:\(0x(?P<hex>[0-9a-fA-F]{1,16})\)?)?")
_GFX = re.compile(r"^gfx[0-9a-f]{3,}$")
_ISA = re.compile(r"^amdgcn-amd-amdhsa--(?P<gfx>[a-z0-9-]+)")
_GROUP_INLINE = re.compile(r"^(?P<segment>(?:GROUP|GLOBAL).*?) (?P<size>[0-9]{1,20}(?:\(0x[0-9a-fA-F]+\))?)\s*KB$")
_DRIVER = re.compile(r"^ROCk module (?:version (?P<version>\S+) )?is loaded")
_NO_UUID = {"", "GPU-XX", "CPU-XX", "AIE-XX"}
_KIB = 1024
_MAX_AGENTS = 1024
_MAX_NAME = 200


class Pool(Record):
    """A memory pool of an agent: its segment as printed, and its size in bytes, None when cut off."""

    segment: str
    size_bytes: int | None = None


class Agent(Record):
    """One agent as rocminfo reports it; None means that the text does not say."""

    number: int | None = None
    """The agent's number in the text; None when its header is missing."""
    kind: str
    """GPU, CPU, DSP or unknown."""
    name: str | None = None
    uuid: str | None = None
    marketing_name: str | None = None
    chip_id: int | None = None
    isas: tuple[str, ...] = ()
    compute_units: int | None = None
    simds_per_cu: int | None = None
    shader_engines: int | None = None
    wavefront_size: int | None = None
    max_waves_per_cu: int | None = None
    max_workgroup_size: int | None = None
    clock_reported: int | None = None
    """The number under "Max Clock Freq. (MHz)", before any correction."""
    l1_bytes: int | None = None
    l2_bytes: int | None = None
    l3_bytes: int | None = None
    cacheline_bytes: int | None = None
    bdfid: int | None = None
    pools: tuple[Pool, ...] = ()
    garbled: tuple[str, ...] = ()
    """Fields whose value contradicts itself (decimal against hexadecimal) or is no number."""


class Rocminfo(Record):
    """Everything that one text says."""

    agents: tuple[Agent, ...]
    runtime_version: str | None = None
    driver: str | None = None
    complete: bool
    """False when the author marked a gap or the closing line is missing."""
    repairs: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


_FIELD_OF = {
    "chip_id": "chip_id",
    "compute_units": "compute_units",
    "simds": "simds_per_cu",
    "shader_engines": "shader_engines",
    "wavefront": "wavefront_size",
    "waves_per_cu": "max_waves_per_cu",
    "workgroup_max": "max_workgroup_size",
    "clock": "clock_reported",
    "cacheline": "cacheline_bytes",
    "bdfid": "bdfid",
    "l1": "l1_bytes",
    "l2": "l2_bytes",
    "l3": "l3_bytes",
}
_IN_KIB = {"l1", "l2", "l3", "size"}


@dataclass
class _Draft:
    """An agent being read."""

    number: int | None = None
    words: dict[str, str] = field(default_factory=dict)
    values: dict[str, int] = field(default_factory=dict)
    isas: list[str] = field(default_factory=list)
    pools: list[dict[str, object]] = field(default_factory=list)
    pool_open: bool = False
    in_isa: bool = False
    garbled: list[str] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        return not (self.words or self.values or self.isas or self.pools)


class _Reader:
    """Walks the entries and collects drafts; a header, a gap or a second Name begins a new agent."""

    def __init__(self) -> None:
        self.drafts: list[_Draft] = []
        self.runtime: str | None = None
        self.gaps = 0
        self._current: _Draft | None = None

    def read(self, stream: Iterable[Entry]) -> None:
        for entry in stream:
            if entry.kind == "agent":
                self._start(int(entry.key))
            elif entry.kind == "gap":
                self.gaps += 1
                self._current = None
            elif entry.kind == "pool":
                self._pool_header(entry)
            elif entry.kind == "isa":
                self._draft().in_isa, self._draft().pool_open = True, False
                self._isa(entry.value)
            elif entry.kind == "field":
                self._field(entry)

    def _start(self, number: int | None) -> _Draft:
        if len(self.drafts) == _MAX_AGENTS:
            raise UsageError(f"more than {_MAX_AGENTS} agents: not one output of rocminfo")
        self._current = _Draft(number)
        self.drafts.append(self._current)
        return self._current

    def _draft(self) -> _Draft:
        return self._current or self._start(None)

    def _pool_header(self, entry: Entry) -> None:
        draft = self._draft()
        draft.pools.append({})
        draft.pool_open = True
        inline = _GROUP_INLINE.match(" ".join(entry.value[:_MAX_NAME].split()))
        if inline:
            draft.pools[-1] = {"segment": inline["segment"], "size": self._number(draft, "size", inline["size"])}

    def _isa(self, name: str) -> None:
        match = _ISA.match(name)
        if match:
            self._draft().isas.append(name.split()[0][:_MAX_NAME])
            self._draft().in_isa = True

    def _field(self, entry: Entry) -> None:
        key, value = entry.key, entry.value
        if key == "runtime":
            self.runtime = value or None
        elif key == "name" and _ISA.match(value):
            self._isa(value)
        elif key in ("name", "uuid", "marketing", "vendor", "device_type"):
            draft = self._draft()
            if key in draft.words and (key == "name" or draft.in_isa or draft.pools):
                draft = self._start(None)
            draft.words.setdefault(key, value[:_MAX_NAME])
        elif key in ("segment", "size"):
            self._pool_field(key, value)
        elif not (self._draft().in_isa and key == "workgroup_max"):
            self._value(key, value)

    def _value(self, key: str, text: str) -> None:
        draft = self._draft()
        number = self._number(draft, key, text)
        if number is not None:
            draft.values.setdefault(key, number)

    def _pool_field(self, key: str, text: str) -> None:
        draft = self._draft()
        if key == "segment" and (not draft.pool_open or not draft.pools or "segment" in draft.pools[-1]):
            draft.pools.append({})
            draft.pool_open = True
        if not draft.pools:
            return  # a size whose pool was cut off says nothing
        pool = draft.pools[-1]
        if key == "segment":
            pool["segment"] = text[:_MAX_NAME]
        elif "segment" in pool and "size" not in pool:
            pool["size"] = self._number(draft, key, text)

    @staticmethod
    def _number(draft: _Draft, key: str, text: str) -> int | None:
        match = _NUMBER.match(text)
        if match is None or (match["hex"] and int(match["hex"], 16) != int(match["decimal"])):
            if text:
                draft.garbled.append(key)
            return None
        return int(match["decimal"]) * (_KIB if key in _IN_KIB else 1)


def parse(text: str, where: str = "text") -> Rocminfo:
    """Return what a rocminfo text says. Raises UsageError when it is empty or nothing of rocminfo is in it."""
    if not text.strip():
        raise UsageError("the text is empty", where=where, hint="rocminfo prints to stdout: `rocminfo > rocminfo.txt`")
    cleaned = clean(text)
    done = any(line.strip() == "*** Done ***" for line in cleaned.lines)
    reader = _Reader()
    reader.read(entries(_without_cut_value(cleaned.lines, done)))
    agents = tuple(_finish(draft) for draft in reader.drafts if not draft.empty)
    agents = tuple(agent for agent in agents if agent.kind != "unknown" or agent.name)
    problems = error_problems(cleaned.lines)
    if not agents and not problems:
        raise UsageError(
            "nothing of rocminfo's output is in this text",
            where=where,
            hint="pass the whole output of `rocminfo`, errors included: `rocminfo > rocminfo.txt 2>&1`",
        )
    driver = next((match for line in cleaned.lines if (match := _DRIVER.match(line.strip()))), None)
    return Rocminfo(
        agents=agents,
        runtime_version=reader.runtime,
        driver=(driver["version"] or "loaded, version not printed") if driver else None,
        complete=done and not reader.gaps,
        repairs=tuple(cleaned.repairs),
        problems=tuple(problems),
    )


def _without_cut_value(lines: list[str], done: bool) -> list[str]:
    """Drop a last line that the end of the text may have cut in the middle of its number: `Compute Unit: 25` of 256."""
    if done or not lines or not lines[-1][-1:].isdigit():
        return lines
    return lines[:-1]


def _finish(draft: _Draft) -> Agent:
    words = {key: value for key, value in draft.words.items() if value}
    pools = tuple(
        Pool(segment=str(pool["segment"]), size_bytes=pool.get("size"))  # type: ignore[arg-type]
        for pool in draft.pools
        if "segment" in pool
    )
    uuid = words.get("uuid", "")
    return Agent(
        number=draft.number,
        kind=_kind(words, draft.isas),
        name=words.get("name"),
        uuid=None if uuid in _NO_UUID else uuid,
        marketing_name=words.get("marketing"),
        isas=tuple(draft.isas),
        pools=pools,
        garbled=tuple(dict.fromkeys(draft.garbled)),
        **{_FIELD_OF[key]: value for key, value in draft.values.items()},
    )


def _kind(words: dict[str, str], isas: list[str]) -> str:
    """Return the kind of agent that the text states: Device Type, else a gfx name or ISA, else the vendor CPU."""
    stated = words.get("device_type", "").upper()
    if stated in ("GPU", "CPU", "DSP"):
        return stated
    if _GFX.match(words.get("name", "")) or isas:
        return "GPU"
    if words.get("vendor") == "CPU" or words.get("uuid", "").startswith("CPU-"):
        return "CPU"
    return "unknown"


def gfx_name(agent: Agent) -> str | None:
    """Return the gfx target that the agent states: its Name, else its first ISA line that is not a generic target."""
    if agent.name and _GFX.match(agent.name):
        return agent.name
    for isa in agent.isas:
        match = _ISA.match(isa)
        if match and _GFX.match(match["gfx"]):
            return match["gfx"]
    return None


def lds_bytes(agent: Agent) -> int | None:
    """Return the GROUP pool's size: the LDS that a workgroup may use. None when the text has no such pool."""
    sizes = {pool.size_bytes for pool in agent.pools if pool.segment.upper().startswith("GROUP")}
    sizes.discard(None)
    return sizes.pop() if len(sizes) == 1 else None


def memory_bytes(agent: Agent) -> int | None:
    """Return the size of the first coarse-grained global pool: the device memory."""
    for pool in agent.pools:
        if pool.segment.upper().startswith("GLOBAL") and "COARSE" in pool.segment.upper():
            return pool.size_bytes
    return None
