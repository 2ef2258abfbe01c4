"""Every packed instruction runs the oracle's rule on both halves, chosen by op_sel and negated by neg_lo and neg_hi."""

from __future__ import annotations

from functools import lru_cache

import pytest

from kbserver.emulator.oracle import rules
from kbserver.emulator.oracle.rule import width
from kbserver.emulator.wave import WaveState
from tests.emulator.batches import make_wave, same
from tests.emulator.harness import EXEC, run
from tests.emulator.numbers import KINDS

NAMES = sorted(name for name, rule in rules().items() if rule.packed)
# (op_sel, op_sel_hi, neg_lo, neg_hi) of three sources.
_FORMS = {
    "plain": ((0, 0, 0), (1, 1, 1), (0, 0, 0), (0, 0, 0)),
    "swapped": ((1, 0, 1), (0, 1, 0), (0, 0, 0), (0, 0, 0)),
    "negated": ((0, 1, 0), (1, 1, 0), (1, 0, 1), (0, 1, 0)),
}


def _line(name: str, form: str, destination: int) -> str:
    rule = rules()[name]
    wide = width(rule.results[0]) == 32
    count = len(rule.sources)
    operands = [f"v[{n}:{n + 1}]" if wide else f"v{n}" for n in (destination, 0, 8, 16)][: count + 1]
    text = f"{name} {', '.join(operands)}"
    sel, sel_hi, neg_lo, neg_hi = _FORMS[form]
    if form != "plain":
        text += f" op_sel:[{_list(sel, count)}] op_sel_hi:[{_list(sel_hi, count)}]"
    if form == "negated":
        text += f" neg_lo:[{_list(neg_lo, count)}] neg_hi:[{_list(neg_hi, count)}]"
    return text


def _list(bits: tuple[int, ...], count: int) -> str:
    return ",".join(map(str, bits[:count]))


def _half(wave: WaveState, register: int, lane: int, high: int, size: int) -> int:
    if size == 32:
        return int(wave.vgprs[register + high, lane])
    return int(wave.vgprs[register, lane]) >> (16 * high) & 0xFFFF


def _expected(name: str, form: str, before: WaveState, lane: int, high: int) -> int:
    rule = rules()[name]
    sel, sel_hi, neg_lo, neg_hi = _FORMS[form]
    bits = []
    for place, word in enumerate(rule.sources):
        size = width(word)
        value = _half(before, 8 * place, lane, (sel_hi if high else sel)[place], size)
        bits.append(value ^ ((neg_hi if high else neg_lo)[place] << (size - 1)))
    return rule.apply(*bits)[0]


@lru_cache(maxsize=1)
def _cases() -> list[tuple[str, str, int]]:
    found = []
    for name in NAMES:
        for form in _FORMS:
            if form == "negated" and rules()[name].results[0][0] != "f":
                continue
            found.append((name, form, 24 + 2 * len(found)))
    return found


@lru_cache(maxsize=1)
def _runs() -> list[tuple[WaveState, WaveState]]:
    body = "\n".join(_line(*case) for case in _cases())
    pairs = []
    for kind in KINDS:
        wave = make_wave(kind, 1)
        before = wave.copy()
        run(body, wave)
        pairs.append((before, wave))
    return pairs


@pytest.mark.parametrize("name", NAMES)
def test_packed_instruction_equals_its_rule_on_both_halves(name: str) -> None:
    word = rules()[name].results[0]
    size = width(word)
    wrong = []
    for _, form, destination in (case for case in _cases() if case[0] == name):
        for before, after in _runs():
            for lane in range(64):
                for high in (0, 1):
                    got = _half(after, destination, lane, high, size)
                    if before.pair(EXEC) >> lane & 1:
                        wanted = _expected(name, form, before, lane, high)
                    else:
                        wanted = _half(before, destination, lane, high, size)
                    if not same(word, got, wanted):
                        wrong.append(f"{form} lane {lane} half {high}: {got:#x}, not {wanted:#x}")
    assert wrong == []
