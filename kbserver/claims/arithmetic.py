"""Arithmetic that a text does: equations, ratios of times, percentages, times from work and rate."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from kbserver.claims.expressions import Side, agrees, equations
from kbserver.claims.model import CONTRADICTED, SUPPORTED, ClaimScope, Evidence, Finding
from kbserver.claims.quantities import Quantity
from kbserver.claims.scope import Scopes
from kbserver.claims.sentences import Sentence
from kbserver.claims.stance import ASSERTED, REPORTED, reported_block, stance
from kbserver.claims.world import World

KIND = "arithmetic"
MOST_ERROR = 0.06
"""Share by which two rounded times may shift their ratio at most; trailing zeros count as digits beyond it."""
_NO_TARGET = ClaimScope(decided_by="arithmetic: true or false on any target")
_BETTER = re.compile(
    r"\b(?:faster|speed\w*|slower|improve\w*|gain\w*|reduc\w*|shorter|longer|quicker|less|more|better|worse)\b"
)
# "a 16×256 band = 4 strips of 16×64" divides a shape; nothing is multiplied.
_SHAPE = re.compile(r"\d+[x×*]\d+ [a-z]")
_PAIRS = re.compile(r"\b(?:from|to|against|vs|versus|instead|down|after|before|drop\w*|went|->)\b|->")


def check(sentence: Sentence, world: World, scopes: Scopes) -> Iterator[Finding]:
    """Yield a finding for every calculation of the sentence that can be redone from its own numbers."""
    if sentence.block.quoted or reported_block(sentence):
        return
    yield from _equations(sentence)
    yield from _no_time(sentence)
    if not sentence.cells:
        yield from _ratios(sentence)
        yield from _work_over_rate(sentence)


def _equations(sentence: Sentence) -> Iterator[Finding]:
    for left, right in equations(sentence):
        if sentence.words[: left.start].count('"') % 2:
            continue
        if stance(sentence, left.start, right.end) == REPORTED and re.search(
            r"\b(?:wrong|false|incorrect|mistak\w+|not true|would|if)\b", sentence.low
        ):
            continue
        if _SHAPE.match(left.text) or _SHAPE.match(right.text):
            continue
        result = _written_result(sentence, left, right)
        if agrees(left.value, right.value, result):
            verdict, told, correction = SUPPORTED, f"{left.text} is {right.text}", None
        else:
            shown = _computed(left, right)
            verdict, told, correction = CONTRADICTED, f"{left.text} is not {right.text}", shown
        sums = f"{left.text} = {_number(left.value.raw)}, {right.text} = {_number(right.value.raw)}"
        yield _finding(verdict, told, sums, left.start, correction)


def _written_result(sentence: Sentence, left: Side, right: Side) -> Quantity | None:
    side = left if right.computed and not left.computed else right
    return next((q for q in sentence.quantities if side.start <= q.start < side.end), None)


def _computed(left: Side, right: Side) -> str:
    side = left if left.computed else right
    return f"{side.text} = {_number(side.value.raw)}"


def _number(value: float) -> str:
    return f"{value:,.0f}" if abs(value) >= 1e4 and value == int(value) else f"{value:.5g}"


def _no_time(sentence: Sentence) -> Iterator[Finding]:
    """FLOPs divided by bytes a second are no time and no intensity: nothing follows from them."""
    for one in sentence.quantities:
        if "FLOP" not in one.dims or not one.text.lower().endswith(("flop", "flops")) or one.text.endswith("FLOPS"):
            continue
        if one.text.startswith(("T", "P")):
            continue
        after = sentence.words[one.end : one.end + 1]
        rate = next((q for q in sentence.quantities if q.start == one.end + 1), None)
        if after != ["/"] or rate is None or rate.dim != "B/s":
            continue
        tail = sentence.words[rate.end : rate.end + 8]
        if "bound" not in tail or stance(sentence, one.start, rate.end) != ASSERTED:
            continue
        yield _finding(
            CONTRADICTED,
            f"{one.text} / {rate.text} divides work by bytes a second: that is neither a time nor an intensity",
            "FLOP / (B/s) has the unit FLOP s / B; a bound follows from FLOP / B against peak FLOP/s / (B/s)",
            one.start,
            "compare FLOP / bytes moved with the ridge of the unit that the kernel uses",
        )  # fmt: skip


@dataclass(frozen=True)
class _Times:
    """The times that a sentence sets against each other, in seconds, and where they stand."""

    first: float
    last: float
    error: float
    start: int
    end: int
    text: str


def _ratios(sentence: Sentence) -> Iterator[Finding]:
    times = _compared_times(sentence)
    if times is None:
        return
    ratios = [q for q in sentence.quantities if q.dim == "x" and not q.bound and q.low == q.high]
    percents = [q for q in sentence.quantities if q.dim == "%" and not q.bound and q.low == q.high]
    if len(ratios) == 1 and not percents and _about_times(sentence, ratios[0]):
        yield from _ratio(sentence, times, ratios[0])
    elif len(percents) == 1 and not ratios and _about_times(sentence, percents[0]):
        yield from _percent(sentence, times, percents[0])


def _about_times(sentence: Sentence, quantity: Quantity) -> bool:
    """True when a ratio stands near the words or signs that make it one of times."""
    near = sentence.words[max(0, quantity.start - 6) : quantity.end + 5]
    low = " ".join(near)
    return bool(_BETTER.search(low)) or "=" in near or "(" in near


def _compared_times(sentence: Sentence) -> _Times | None:
    """Return the first and last time of "A -> B ms", "from A to B s", "A ms against B ms"; None when unclear."""
    tokens, words = sentence.tokens, sentence.words
    with_unit = [q for q in sentence.quantities if q.dim == "s" and q.low == q.high]
    if not with_unit or not _PAIRS.search(sentence.low):
        return None
    seconds: list[tuple[float, Quantity]] = []
    for quantity in sentence.quantities:
        if quantity.dim == "s":
            seconds.append((quantity.value, quantity))
        elif quantity.dim == "" and words[quantity.end : quantity.end + 1] in (["->"], ["to"]):
            following = next((q for q in sentence.quantities if q.start == quantity.end + 1), None)
            if following is not None and following.dim == "s":
                seconds.append((quantity.high * following.factors[0], quantity))
    if len(seconds) < 2:
        return None
    chained = all(
        "->" in words[one.end : two.start] and two.start - one.end <= 8 for (_, one), (_, two) in pairwise(seconds)
    )
    if len(seconds) != 2 and not chained:
        return None
    (first, one), (last, two) = seconds[0], seconds[-1]
    if first <= 0 or last <= 0:
        return None
    error = min(one.half / one.high + two.half / two.high, MOST_ERROR)
    text = sentence.plain[tokens[one.start].start : tokens[two.end - 1].end]
    return _Times(first, last, error, one.start, two.end, text)


def _ratio(sentence: Sentence, times: _Times, said: Quantity) -> Iterator[Finding]:
    true = max(times.first, times.last) / min(times.first, times.last)
    slack = times.error + said.half / said.high + 0.004
    alternatives = (true, true - 1) if re.search(r"\b(?:faster|more|slower)\b", sentence.low) else (true,)
    if stance(sentence, times.start, said.end) == REPORTED and abs(true - said.high) > slack * true:
        return
    if any(abs(value - said.high) <= slack * value for value in alternatives):
        told, verdict, correction = f"{times.text} is {said.text}", SUPPORTED, None
    else:
        told, verdict, correction = f"{times.text} is not {said.text}", CONTRADICTED, f"{true:.3g}x"
    sums = f"{max(times.first, times.last):g} s / {min(times.first, times.last):g} s = {true:.4g}"
    yield _finding(verdict, told, sums, times.start, correction)


def _percent(sentence: Sentence, times: _Times, said: Quantity) -> Iterator[Finding]:
    low, high = sorted((times.first, times.last))
    gaps = ((high - low) / high, (high - low) / low, low / high, high / low)
    value = said.value
    slack = min(times.error, MOST_ERROR / 2) + min(said.half, 0.5) * 0.01
    if any(abs(gap - value) <= slack + 0.002 for gap in gaps):
        told, verdict, correction = f"{times.text} is {said.text}", SUPPORTED, None
    elif stance(sentence, times.start, said.end) == ASSERTED and _BETTER.search(sentence.low):
        shown = f"{100 * gaps[0]:.3g} % less time, or {100 * gaps[1]:.3g} % more speed"
        told, verdict, correction = f"{times.text} is not {said.text}", CONTRADICTED, shown
    else:
        return
    sums = f"({high:g} - {low:g}) / {high:g} = {100 * gaps[0]:.3g} %; / {low:g} = {100 * gaps[1]:.3g} %"
    yield _finding(verdict, told, sums, times.start, correction)


_RATES = {"B": "B/s", "FLOP": "FLOP/s"}
# What may stand between work, rate and time. Each order needs one of its own words, the others are fillers.
_DOING = ("reading", "writing", "moving", "streaming", "loading", "storing", "copying", "transferring", "fetching")
_TAKES = ("take", "takes", "is", "are", "need", "needs", ":", "->", "gives", "give", "means", "about", "~", "=")
_FILLERS = frozenset((
    "the", "a", "at", "of", "for", "to", "in", "about", "~", "only", "just", "all", "data", "memory", "hbm", "traffic",
    "least", "it", "read", "write", "bandwidth", "from", "per", "iteration", "peak", "input", "this", "that", "those",
    "these", ",", "would", "ideally", "roughly", "around", "exactly", "bytes", "work", *_DOING, *_TAKES,
))  # fmt: skip
_PART_OF_A_SUM = frozenset(("+", "-", "*", "/", "plus", "minus", "and"))
_WORK, _RATE, _TIME = "work", "rate", "time"
_ORDERS: dict[tuple[str, str, str], tuple[tuple[str, ...], tuple[str, ...]]] = {
    (_WORK, _RATE, _TIME): (("at", "over", "by"), _TAKES),
    (_WORK, _TIME, _RATE): (_TAKES, ("at",)),
    (_RATE, _WORK, _TIME): ((*_DOING, ",", "the"), _TAKES),
    (_TIME, _WORK, _RATE): (("for", "to", "of"), ("at",)),
}
"""Order in which the three stand -> the words of which one must stand in the first gap, and in the second."""


def _work_over_rate(sentence: Sentence) -> Iterator[Finding]:
    """ "442 MB at 8 TB/s take 55 us", "at 8 TB/s reading 442 MB takes 55 us": a time that follows from both."""
    if "%" in sentence.low or "percent" in sentence.low:
        return
    found = sentence.quantities
    for three in zip(found, found[1:], found[2:], strict=False):
        roles = tuple(_role(quantity) for quantity in three)
        gaps = _ORDERS.get(roles)  # type: ignore[arg-type]
        if gaps is None or not all(
            _links(sentence, one, two, allowed, roles[0] == _RATE)
            for one, two, allowed in zip(three, three[1:], gaps, strict=False)
        ):
            continue
        amount, speed, took = (three[roles.index(role)] for role in (_WORK, _RATE, _TIME))
        if sentence.words[max(0, amount.start - 1)] in _PART_OF_A_SUM:
            continue
        dim = amount.dim if amount.dim in _RATES else amount.dims[-1]
        if speed.dim == _RATES[dim]:
            yield from _work_verdict(sentence, amount, speed, took)


def _role(quantity: Quantity) -> str:
    if quantity.dim == "s":
        return _TIME
    if quantity.dim in _RATES.values():
        # "16 TFLOPs" may be work or a rate: it is a rate unless a rate stands beside it.
        return _RATE
    return _WORK if quantity.dim in _RATES or quantity.dims[-1] in _RATES else ""


def _links(sentence: Sentence, one: Quantity, two: Quantity, allowed: Sequence[str], comma: bool) -> bool:
    between = sentence.words[one.end : two.start]
    if not 0 < len(between) <= 6 or not any(word in allowed for word in between) or ("," in between and not comma):
        return False
    return len(between) <= 4 or all(word in _FILLERS for word in between)


def _work_verdict(sentence: Sentence, amount: Quantity, speed: Quantity, took: Quantity) -> Iterator[Finding]:
    spans = (amount, speed, took)
    if stance(sentence, min(q.start for q in spans), max(q.end for q in spans)) != ASSERTED:
        return
    true = amount.high * amount.factors[0] / speed.value if speed.value else 0.0
    slack = sum(q.half / q.high for q in (amount, speed, took) if q.high) + 0.03
    if not true or not took.value:
        return
    close = abs(took.value - true) <= slack * true
    told = f"{amount.text} at {speed.text} {'take' if close else 'do not take'} {took.text}"
    yield _finding(
        SUPPORTED if close else CONTRADICTED,
        told,
        f"{amount.text} / {speed.text} = {_time(true)}",
        amount.start,
        None if close else _time(true),
    )  # fmt: skip


def _time(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.4g} {unit}"
    return f"{seconds / 1e-9:.4g} ns"


def _finding(verdict: str, told: str, sums: str, start: int, correction: str | None) -> Finding:
    return Finding(
        kind=KIND,
        verdict=verdict,
        finding=told,
        evidence=(Evidence(ref="arithmetic", text=sums),),
        scope=_NO_TARGET,
        start=start,
        correction=correction,
        key=(KIND, sums, verdict),
    )
