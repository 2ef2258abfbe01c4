"""Numbers of the hardware against the fact table."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from kbserver.claims.clauses import CONTRAST, REASON, clause, opens_with
from kbserver.claims.context import Context
from kbserver.claims.matching import Match, find_matches, limit_of
from kbserver.claims.model import CONTRADICTED, SUPPORTED, UNKNOWN, Finding
from kbserver.claims.names import Name
from kbserver.claims.quantities import Quantity
from kbserver.claims.scope import Scope, Scopes
from kbserver.claims.sentences import Sentence
from kbserver.claims.stance import ASSERTED, DENIED, stance
from kbserver.claims.subjects import AT_MOST, MAY_TAKE, SUBJECTS
from kbserver.claims.world import World, fact_evidence
from kbserver.hardware import units
from kbserver.hardware.fact_model import Fact

KIND = "hardware_number"
MAX_EVIDENCE = 4
HBM = "HBM bandwidth"
_HBM = next(subject for subject in SUBJECTS if subject.name == HBM)
_MEMORY = frozenset(("bandwidth", "memory", "hbm", "hbm3", "hbm3e", "dram"))
_MOVES = frozenset(("reads", "writes", "moves", "streams", "delivers", "sustains", "reaches"))
_LINKS = frozenset(("xgmi", "pcie", "link", "links", "fabric", "network", "aggregate", "node", "gpus", "nodes"))
_CACHES = frozenset(("cache", "caches", "l1", "l2", "lds", "infinity", "mall", "warm"))
_WORKING = re.compile(r"\b(?:active|enabled|usable|available|expos\w*|total|visible|schedul\w*|launch\w*)\b")
# What rocminfo printed: it counts other memories, and some versions misreport.
_PRINTED = re.compile(r"\b(?:bdfid|asic revision|pool info|watchpts|alloc granule|device type :|kernarg)\b")
_DIVIDED = re.compile(r"\b(?:cpx|dpx|qpx|nps\d|partition\w*)\b")
_WORK_OF = frozenset(("kernel", "version", "variant", "path", "build", "code", "port", "tile", "run"))
_LEFT = frozenset(("left", "free", "unused", "spare", "remaining"))
_BASE = {"TB/s": 1e12, "GB/s": 1e9, "TFLOPS": 1e12, "TOPS": 1e12, "MHz": 1e6}


@dataclass(frozen=True)
class Judged:
    """What the facts say of one number: those that it is, those that it is not, and whether targets differ."""

    fits: tuple[Fact, ...]
    differs: tuple[Fact, ...]
    unknown: bool
    """True when some target or product in the scope has no figure."""


def check(sentence: Sentence, world: World, scopes: Context) -> Iterator[Finding]:
    """Yield a finding for every number of the sentence that has a subject and a fact."""
    if _PRINTED.search(sentence.low):
        return
    named = scopes.names_in(sentence)
    matches = find_matches(sentence, named)
    for match in matches:
        keys = match.subject.per.get(match.part)
        if _changes(sentence, match.quantity) or _is_case(sentence, match, scopes):
            continue
        limit = limit_of(sentence.words, match.quantity)
        if match.subject.name == "LDS size" and (limit is not match.quantity or _may_take(sentence, match)):
            keys = match.subject.per["workgroup"]
        elif keys is None:
            continue
        elif match.subject.anti and match.subject.anti.search(_around(sentence, match)):
            if match.subject.name == HBM:
                yield from _above_peak(sentence, match, world, scopes)
            if not _owns(sentence, match, named):
                continue
        scope = scopes.of(sentence, match.start, match.end)
        finding = judge_number(
            sentence, limit, match.subject.name, keys, scope, world, match.start, limit is not match.quantity
        )
        if (
            finding is not None
            and finding.verdict == CONTRADICTED
            and _is_possible(sentence, match, keys, scope, world)
        ):
            continue
        if finding is not None:
            yield _built(sentence, match, scope, world) or finding
    if not any(match.subject.dim == "B/s" for match in matches):
        yield from _reads(sentence, named, world, scopes)


def _changes(sentence: Sentence, quantity: Quantity) -> bool:
    """True for either number of "64 KB -> 160 KB": it tells two things apart, which the sentence need not name."""
    starts = {other.start for other in sentence.quantities}
    ends = {other.end for other in sentence.quantities}
    words = sentence.words
    after = words[quantity.end : quantity.end + 1] == ["->"] and quantity.end + 1 in starts
    return after or (words[quantity.start - 1 : quantity.start] == ["->"] and quantity.start - 1 in ends)


def _is_case(sentence: Sentence, match: Match, scopes: Context) -> bool:
    """True for a number below "LDS" in a table that gives one target several of them."""
    return match.column is not None and scopes.tables.lists_cases(sentence, match.column)


def _built(sentence: Sentence, match: Match, scope: Scope, world: World) -> Finding | None:
    """Return the answer to "an XCD has 40 CUs": so many are built, fewer work, and the sentence does not say which."""
    if match.subject.name != "compute units" or match.part != "XCD" or _WORKING.search(sentence.low):
        return None
    facts = [f for arch in scope.archs for f in _facts(world, ["compute.physical_cus_per_xcd"], arch, None)]
    if not facts or not all(match.quantity.is_value(in_base(fact)) for fact in facts):
        return None
    told = f"compute units: {match.quantity.text} are built on an XCD, fewer are active; say which"
    active = [f for a, p in scope.pairs for f in _facts(world, ["compute.cus_per_xcd"], a, p)]
    return _finding(UNKNOWN, match.quantity, match.subject.name, told, [*facts, *active], scope, match.start)


def _is_possible(sentence: Sentence, match: Match, keys: Sequence[str], scope: Scope, world: World) -> bool:
    """True for "can use 32 KB of LDS" below the limit: so much is possible, and nobody says that it is the most."""
    if match.subject.name != "LDS size" or not _may_take(sentence, match):
        return False
    before = " ".join(sentence.words[max(0, match.start - 6) : match.quantity.start])
    facts = [fact for arch, product in scope.pairs for fact in _facts(world, keys, arch, product)]
    return not AT_MOST.search(before) and all(match.quantity.value < in_base(fact) for fact in facts)


def _reads(sentence: Sentence, named: Sequence[Name], world: World, scopes: Scopes) -> Iterator[Finding]:
    """ "MI300X reads at most 8 TB/s": more than its memory gives, in a sentence about memory and no cache or link."""
    words = sentence.words
    if not _MEMORY.intersection(words) or _CACHES.intersection(words) or _LINKS.intersection(words):
        return
    for quantity in sentence.quantities:
        verb = quantity.start - 1
        while verb > 0 and words[verb] in ("at", "most", "up", "to", "about", "only", "~"):
            verb -= 1
        if quantity.dim == "B/s" and words[verb] in _MOVES and any(name.end == verb for name in named):
            yield from _above_peak(sentence, Match(quantity, _HBM, "", verb, quantity.end), world, scopes)


def _owns(sentence: Sentence, match: Match, named: Sequence[Name]) -> bool:
    """True for "MI355X has 64 KB of LDS" and "the 64 KB LDS of the MI355X": whatever else the sentence tells, that is a
    property of the chip.
    """
    words = sentence.words
    after = words[match.end : match.end + 2]
    part_of_it = match.subject.dim == "CU" and "of" in words[match.end : match.end + 4]
    if _LEFT.intersection(after) or part_of_it or _DIVIDED.search(sentence.low):
        return False
    if _of_chip(words, match, named):
        return True
    verb = match.start - 1
    if verb < 1 or words[verb] not in ("has", "have", "provides", "offers") or match.quantity.start != match.start:
        return False
    return any(name.end == verb for name in named)


def _of_chip(words: Sequence[str], match: Match, named: Sequence[Name]) -> bool:
    """True for "the 64 KB LDS of the MI355X" and "the MI355X's LDS (64 KB)", which name the owner with the number."""
    for name in named:
        of = words[match.end : name.start] in (["of", "the"], ["of"], ["of", "an"], ["of", "a"], ["on", "the"])
        if of and words[match.start - 1 : match.start] == ["the"]:
            return not _WORK_OF.intersection(words[name.end : name.end + 2])
        owner = words[name.end : match.start] == ["'", "s"] and match.start < match.quantity.start
        if owner and words[match.quantity.start - 1] == "(":
            return True
    return False


def _above_peak(sentence: Sentence, match: Match, world: World, scopes: Scopes) -> Iterator[Finding]:
    """A bandwidth that somebody reached is wrong when it is above the peak of the memory."""
    scope = scopes.of(sentence, match.start, match.end)
    if scope.foreign or _CACHES.intersection(sentence.words) or stance(sentence, match.start, match.end) != ASSERTED:
        return
    facts = [fact for arch, product in scope.pairs for fact in _facts(world, ["memory.hbm_bandwidth"], arch, product)]
    top = max(facts, key=in_base, default=None)
    if top is None or (match.quantity.low - match.quantity.slack()) * match.quantity.factors[0] <= in_base(top):
        return
    said = f"{match.quantity.text} is above the peak of the memory"
    right = f"at most {units.short(top.value, top.unit)} ({top.product or top.arch})"
    yield _finding(CONTRADICTED, match.quantity, HBM, said, [top], scope, match.start, right)


def _may_take(sentence: Sentence, match: Match) -> bool:
    before = " ".join(sentence.words[max(0, match.start - 6) : match.quantity.start])
    return bool(MAY_TAKE.search(before)) and not sentence.cells


def _around(sentence: Sentence, match: Match) -> str:
    """Return the words that can say what a match is about: a consequence that follows it, or the clause to which it
    gives the reason, says nothing about its number.
    """
    words = sentence.words
    if sentence.cells:
        return " ".join(words[match.start : match.end + 3])
    low, high = match.start, match.end
    while low > 0 and words[low - 1] not in (";", "."):
        low -= 1
    own, high = clause(words, match.start, match.end)
    if opens_with(words, own) in (*REASON, *CONTRAST) or _begins_with(words, own, match):
        low = max(low, own)
    return " ".join(words[low:high])


def _begins_with(words: Sequence[str], low: int, match: Match) -> bool:
    """True for a clause of the form "the L2 is 4 MB": its subject stands first."""
    skipped = words[low : match.start]
    return low > 0 and match.start < match.quantity.start and all(word in ("the", "its", "and") for word in skipped)


def judge_number(
    sentence: Sentence,
    quantity: Quantity,
    what: str,
    keys: Sequence[str],
    scope: Scope,
    world: World,
    start: int,
    limit: bool = False,
) -> Finding | None:
    """Return the verdict on one number, or None when it makes no claim that facts can decide. `limit`: a denial in
    front of the number makes it a limit ("cannot use more than"), it does not deny the number.
    """
    if scope.foreign:
        return None
    how = stance(sentence, quantity.start, quantity.end, denial_counts=not limit)
    judged = judge(quantity, keys, scope, world)
    if how not in (ASSERTED, DENIED) or not (judged.fits or judged.differs):
        return None
    if how == DENIED:
        # "not 64 KB": right when no target in scope has it; a denied true value is too often about something else.
        if judged.fits or judged.unknown or not scope.pairs:
            return None
        return _finding(SUPPORTED, quantity, what, f"it is indeed not {quantity.text}", judged.differs, scope, start)
    if what == HBM and quantity.hedged and all(quantity.value < in_base(fact) for fact in judged.differs):
        return None  # "about 5 TB/s" below the peak is what somebody reached
    if judged.differs and not judged.fits and not judged.unknown:
        right = _values(judged.differs)
        said = f"{what}: not {quantity.text}"
        return _finding(CONTRADICTED, quantity, what, said, judged.differs, scope, start, correction=right)
    if judged.fits and not judged.differs and (len(scope.pairs) == 1 or not judged.unknown):
        return _finding(SUPPORTED, quantity, what, f"{what}: {quantity.text}", judged.fits, scope, start)
    if len(scope.pairs) > 1 or "-" in quantity.text:
        return None  # targets are compared, or the number only tells one device from another ("a 104-CU MI200")
    if not scope.pairs and any(fact.product for fact in judged.fits):
        return None  # "304 CUs" without a product anywhere near may be about any machine
    if judged.fits and (judged.differs or judged.unknown):
        told = f"{what}: {quantity.text} holds for {_who(judged.fits)}"
        told += f", not for {_who(judged.differs)}" if judged.differs else ""
        return _finding(
            UNKNOWN, quantity, what, f"{told}; name the one meant", judged.fits + judged.differs, scope, start
        )
    return None


def judge(quantity: Quantity, keys: Sequence[str], scope: Scope, world: World) -> Judged:
    """Hold a number against the facts of every target and product in the scope."""
    fits: dict[str, Fact] = {}
    differs: dict[str, Fact] = {}
    unknown = False
    anywhere = not scope.pairs
    for arch, product in scope.pairs or [(arch, None) for arch in world.archs]:
        facts = _facts(world, keys, arch, product)
        # A figure that siblings have and this product lacks may be the one that is meant.
        unknown = unknown or any(
            world.fact_of(key, arch, product) is None and world.facts_of_arch(key, arch)
            for key in keys
            if product and key not in _SECOND
        )
        if anywhere:
            facts = [fact for fact in facts if fact.value]
        right = [fact for fact in facts if quantity.is_value(in_base(fact))]
        if right:
            fits.update((fact.id, fact) for fact in right)
            # A figure that products of one target do not share needs the product.
            holders = {fact.product for fact in right}
            others = [f for f in facts if f.product not in holders and f.key in {r.key for r in right}]
            differs.update((fact.id, fact) for fact in others)
        elif facts:
            differs.update((fact.id, fact) for fact in facts)
        else:
            unknown = unknown or not anywhere
    return Judged(tuple(fits.values()), tuple(differs.values()), unknown)


def _facts(world: World, keys: Sequence[str], arch: str, product: str | None) -> list[Fact]:
    found: list[Fact] = []
    for key in keys:
        if product is None:
            found += world.facts_of_arch(key, arch)
        else:
            fact = world.fact_of(key, arch, product)
            found += [fact] if fact else []
    return [fact for fact in found if isinstance(fact.value, int | float) and not isinstance(fact.value, bool)]


def in_base(fact: Fact) -> float:
    """Return the value of a numeric fact in the base of its dimension (bytes, bytes/s, FLOP/s, Hz)."""
    return float(fact.value) * _BASE.get(fact.unit or "", 1.0)  # type: ignore[arg-type]


def _who(facts: Sequence[Fact]) -> str:
    return ", ".join(dict.fromkeys(fact.product or fact.arch for fact in facts))


def _values(facts: Sequence[Fact]) -> str:
    """Return the right values in one line: "160 KiB (gfx950)"; targets with one value stand together."""
    by_value: dict[str, list[str]] = {}
    for fact in facts:
        if fact.key in _SECOND and len(facts) > 1:
            continue
        shown = units.short(fact.value, fact.unit)
        name = _tail(fact.key)
        by_value.setdefault(f"{shown}{name}", []).append(fact.product or fact.arch)
    return "; ".join(f"{value} ({', '.join(dict.fromkeys(who))})" for value, who in by_value.items())


_SECOND = frozenset(("memory.vram_pool_bytes",))
"""Right as well, but not what a correction should say."""
_TAILS = {"caches.l2_bytes_per_xcd": " per XCD", "caches.l2_bytes_per_gcd": " per GCD",
          "caches.l2_total_bytes": " in total", "compute.cus_per_xcd": " per XCD",
          "compute.cus_per_gcd": " per GCD"}  # fmt: skip


def _tail(key: str) -> str:
    return _TAILS.get(key, "")


def _finding(
    verdict: str, quantity: Quantity, what: str, said: str, facts: Sequence[Fact], scope: Scope, start: int,
    correction: str | None = None,
) -> Finding:  # fmt: skip
    return Finding(
        kind=KIND,
        verdict=verdict,
        finding=said + (_contested(quantity, facts) if verdict == CONTRADICTED else ""),
        evidence=tuple(fact_evidence(fact) for fact in facts[:MAX_EVIDENCE]),
        scope=scope.shown,
        start=start,
        correction=correction,
        key=(KIND, what, quantity.low, quantity.high, quantity.dim, scope.pairs, verdict),
    )


def _contested(quantity: Quantity, facts: Sequence[Fact]) -> str:
    """Say when a source does give the number, and why the fact does not take it."""
    for fact in facts:
        for one in fact.conflicts:
            if not isinstance(one.value, int | float) or isinstance(one.value, bool):
                continue
            same = quantity.is_value(float(one.value) * _BASE.get(one.unit or fact.unit or "", 1.0))
            if same:
                return f" (said by {one.sources[0].title}; not taken: {one.reason.rstrip('.')})"
    return ""
