"""Many instructions in one kernel, each with registers of its own: one compile checks a whole family."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from kbserver.emulator.oracle.formats import is_nan, ordered
from kbserver.emulator.oracle.rule import Rule, width
from kbserver.emulator.wave import WaveState
from tests.emulator.harness import ALL, EXEC, SCC, VCC, fresh_wave, run
from tests.emulator.numbers import KINDS, pairs

SOURCE_MASK = 10  # s[10:11] is every source that is a mask
KEPT_EXEC = 12  # s[12:13] holds EXEC for the instructions that change it
KEPT_SCC = 14
_IMMEDIATES = (0, 1, 0x7FFF, 0x8000, 0xFFFF, 0x1234)


@dataclass(frozen=True)
class Case:
    """One instruction of a batch: its lines, and where its sources and results are."""

    name: str
    rule: Rule
    lines: tuple[str, ...]
    sources: tuple[int | str, ...]
    """First register of each source, or one of mask, dst, scc, exec, vcc, or an immediate as `#n`."""
    results: tuple[int | str, ...]


def _registers(letter: str, first: int, dwords: int) -> str:
    return f"{letter}{first}" if dwords == 1 else f"{letter}[{first}:{first + dwords - 1}]"


def _dwords(word: str) -> int:
    return max(1, width(word) // 32)


def vector_case(name: str, rule: Rule, destination: int, mask: int, suffix: str = "") -> Case:
    """Sources are v0, v8 and v16 (pairs from there on); results go to `destination` and s[mask:mask+1]."""
    operands, results, sources = [], [], []
    for word in rule.results:
        if word == "mask":
            operands.append(_registers("s", mask, 2))
            results.append(mask)
        elif word == "exec":
            results.append("exec")
        else:
            operands.append(_registers("v", destination, _dwords(word)))
            results.append(destination)
    place = 0
    for word in rule.sources:
        if word == "mask":
            operands.append(_registers("s", SOURCE_MASK, 2))
            sources.append("mask")
        elif word in ("dst", "vcc"):
            sources.append(word)
        else:
            operands.append(_registers("v", place * 8, _dwords(word)))
            sources.append(place * 8)
            place += 1
    lines = [f"{name} {', '.join(operands)}{suffix}"]
    if "exec" in rule.results:
        lines.append(f"s_mov_b64 exec, s[{KEPT_EXEC}:{KEPT_EXEC + 1}]")
    return Case(name, rule, tuple(lines), tuple(sources), tuple(results))


def scalar_cases(name: str, rule: Rule, first: int) -> Iterator[tuple[Case, int]]:
    """Yield (case, next free SGPR). Sources are s[0:1], s[2:3], s[4:5]; SCC comes from s14."""
    for number in _IMMEDIATES if "k" in rule.sources or "uk" in rule.sources else (None,):
        operands, results, sources, place = [], [], [], 0
        after = []
        for word in rule.results:
            if word == "scc":
                results.append(first)
                after.append(f"s_cselect_b32 s{first}, 1, 0")
                first += 1
            elif word == "exec":
                results.append(first + first % 2)
                first += first % 2
                after.append(f"s_mov_b64 s[{first}:{first + 1}], exec")
                first += 2
            else:
                first += first % 2
                operands.append(_registers("s", first, _dwords(word)))
                results.append(first)
                first += 2
        for word in rule.sources:
            if word in ("scc", "exec", "dst"):
                sources.append(word)
            elif word in ("k", "uk"):
                operands.append(hex(number or 0))
                sources.append(f"#{number}")
            else:
                operands.append(_registers("s", 2 * place, _dwords(word)))
                sources.append(2 * place)
                place += 1
        lines = [f"s_cmp_lg_u32 s{KEPT_SCC}, 0", f"{name} {', '.join(operands)}", *after]
        lines.append(f"s_mov_b64 exec, s[{KEPT_EXEC}:{KEPT_EXEC + 1}]")
        yield Case(name, rule, tuple(lines), tuple(sources), tuple(results)), first


def run_batch(cases: Sequence[Case], wave: WaveState) -> tuple[WaveState, WaveState]:
    """Return the wavefront before and after all cases ran."""
    before = wave.copy()
    run("\n".join(line for case in cases for line in case.lines), wave)
    return before, wave


def make_wave(kind: str, seed: int) -> WaveState:
    """Return a wavefront with operands of one kind, random old destinations and a random EXEC (full at times)."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    wave = fresh_wave()
    wave.vgprs[:] = rng.integers(0, 1 << 32, wave.vgprs.shape, dtype=np.uint32)
    wave.sgprs[:SCC] = rng.integers(0, 1 << 32, SCC, dtype=np.uint32)
    for place in range(3):
        values = pairs(kind, 64, rng)
        wave.vgprs[place * 8] = values.astype(np.uint32)
        wave.vgprs[place * 8 + 1] = (values >> np.uint64(32)).astype(np.uint32)
        wave.set_pair(2 * place, int(pairs(kind, 1, rng)[0]))
    mask = ALL if seed % 3 == 0 else int(rng.integers(0, 1 << 64, dtype=np.uint64))
    wave.set_pair(EXEC, mask)
    wave.set_pair(KEPT_EXEC, mask)
    wave.set_pair(VCC, int(rng.integers(0, 1 << 64, dtype=np.uint64)))
    wave.sgprs[KEPT_SCC] = int(rng.integers(0, 2))
    wave.sgprs[SCC] = 0
    return wave


def _vgpr(wave: WaveState, register: int, lane: int, bits: int) -> int:
    value = int(wave.vgprs[register, lane])
    if bits == 64:
        value |= int(wave.vgprs[register + 1, lane]) << 32
    return value & ((1 << bits) - 1)


def vector_mismatches(case: Case, before: WaveState, after: WaveState) -> list[str]:
    """Return what one vector case got wrong, lane by lane."""
    active = before.pair(EXEC)
    wrong = []
    for lane in range(64):
        bits = [
            _vector_source(case, before, word, place, lane)
            for word, place in zip(case.rule.sources, case.sources, strict=True)
        ]
        on = bool(active >> lane & 1)
        wanted = case.rule.apply(*bits) if on else None
        for number, (word, place) in enumerate(zip(case.rule.results, case.results, strict=True)):
            if place == "exec":
                continue
            if word == "mask":
                got = after.pair(int(place)) >> lane & 1
                expected = wanted[number] if wanted else 0
            else:
                got = _vgpr(after, int(place), lane, width(word))
                expected = wanted[number] if wanted else _vgpr(before, int(place), lane, width(word))
            if not same(word, got, expected, case.rule.ulp if on else 0):
                shown = ", ".join(f"{b:#x}" for b in bits) if on else "inactive"
                wrong.append(f"{case.name} lane {lane} ({shown}) {word}: {got:#x}, not {expected:#x}")
    return wrong


def _vector_source(case: Case, before: WaveState, word: str, place: int | str, lane: int) -> int:
    if word == "mask":
        return before.pair(SOURCE_MASK) >> lane & 1
    if word == "vcc":
        return before.pair(VCC) >> lane & 1
    if word == "dst":
        return _vgpr(before, int(case.results[0]), lane, width(case.rule.results[0]))
    return _vgpr(before, int(place), lane, width(word))


def scalar_mismatches(case: Case, before: WaveState, after: WaveState) -> list[str]:
    """Return what one scalar case got wrong."""
    bits = [
        _scalar_source(case, before, word, place) for word, place in zip(case.rule.sources, case.sources, strict=True)
    ]
    wanted = case.rule.apply(*bits)
    wrong = []
    for word, place, expected in zip(case.rule.results, case.results, wanted, strict=True):
        got = after.pair(int(place)) if width(word) == 64 else int(after.sgprs[int(place)])
        if got != expected:
            shown = ", ".join(f"{b:#x}" for b in bits)
            wrong.append(f"{case.lines[1]} ({shown}) {word}: {got:#x}, not {expected:#x}")
    return wrong


def _scalar_source(case: Case, before: WaveState, word: str, place: int | str) -> int:
    if word == "scc":
        return int(before.sgprs[KEPT_SCC])
    if word == "exec":
        return before.pair(EXEC)
    if word == "dst":
        place = case.results[0]
        word = case.rule.results[0]
    if isinstance(place, str):
        number = int(place[1:])
        return number - 0x10000 & 0xFFFFFFFF if word == "k" and number >> 15 else number
    return before.pair(place) if width(word) == 64 else int(before.sgprs[place])


def same(word: str, got: int, wanted: int, ulp: int = 0) -> bool:
    """Return whether two results agree: bit for bit, any NaN equal to any NaN, floats within `ulp` steps."""
    if got == wanted:
        return True
    if word.endswith("x2"):
        pairs_of_halves = ((got >> shift & 0xFFFF, wanted >> shift & 0xFFFF) for shift in (0, 16))
        return all(a == b or all(is_nan(x, 16, bfloat=word[0] == "b") for x in (a, b)) for a, b in pairs_of_halves)
    if word[0] != "f":
        return False
    size = width(word)
    if is_nan(got, size) or is_nan(wanted, size):
        return is_nan(got, size) and is_nan(wanted, size)
    return abs(ordered(got, size) - ordered(wanted, size)) <= ulp if ulp else False
