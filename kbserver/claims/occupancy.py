"""Occupancy arithmetic: waves that registers allow, workgroups that LDS allows, waves of a workgroup."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kbserver.claims.figures import AGPRS, GROUPS, LDS, THREADS, VGPRS, WAVES, Figure, figures, row_figures
from kbserver.claims.model import CONTRADICTED, SUPPORTED, Evidence, Finding
from kbserver.claims.scope import NOWHERE, Scope, Scopes
from kbserver.claims.sentences import Sentence
from kbserver.claims.stance import ASSERTED, stance
from kbserver.claims.world import World, fact_evidence
from kbserver.hardware.occupancy_model import FACT_IDS, Constants, load_constants, round_up

KIND = "occupancy"
REACH = 14
_GIVES = frozenset((
    "give", "gives", "giving", "allow", "allows", "allowing", "permit", "permits", "->", "=", "yield", "yields",
    "leave", "leaves", "means", "mean", "limit", "limits", "so", "get", "gets", "result", "results", "fit", "fits",
    "support", "supports", "hold", "holds", "achieve", "achieves", "enable", "enables", "reach", "reaches",
    "therefore", "hence", "keep", "keeps", "keeping", "meaning", "leaving", "stuck", "drops", "drop",
    "limiting", "limited", "caps", "capped",
))  # fmt: skip
_CAUSE = frozenset(("because", "since", "due", "by"))
"""Between waves and the registers that are said to cause them: "3 waves because the kernel uses 128 VGPRs"."""
_FIT = frozenset(("fit", "fits", "resident", "possible", "run", "remain"))
"""Right after the later figure: "with 212 VGPRs three waves fit"."""
_WITH = frozenset(("with", "of", "using", "at", "each", "a", "that", "which", "need", "take", "use"))
_OTHER_LIMITS = re.compile(
    r"\b(?:lds|shared|sgprs?|workgroups?|blocks?|\w*launch\w*|(?<!per )threads?|scratch|barrier|smem)\b"
)
# What is named takes part of the registers only: the kernel takes more.
_PART = re.compile(
    r"\b(?:accumulat\w*|address\w*|fragments?|operands?|temporar\w*|pass|everything|alone|just for|each)\b"
)
_SIMD = re.compile(r"\b(?:simd|occupancy|eu)\b")
_SOFT = re.compile(r"\b(?:remark|compiler reports?|reported|unless|without rounding|unrounded|naive\w*)\b")


def check(sentence: Sentence, world: World, scopes: Scopes) -> Iterator[Finding]:
    """Yield a finding for every occupancy statement of the sentence."""
    if sentence.cells:
        yield from _row(sentence, world, scopes)
        return
    found = figures(sentence)
    yield from _by_registers(sentence, found, world, scopes)
    yield from _by_lds(sentence, found, world, scopes)
    yield from _waves_of_threads(sentence, found, world, scopes)


def _constants(scope: Scope, world: World) -> list[Constants]:
    return [load_constants(arch, world.facts) for arch in scope.archs or world.archs]


def _by_registers(sentence: Sentence, found: list[Figure], world: World, scopes: Scopes) -> Iterator[Finding]:
    for number, figure in enumerate(found):
        if figure.kind != VGPRS or figure.quantity.bound == ">" or figure.value <= 0:
            continue
        waves = _partner(sentence, found, number, WAVES, VGPRS)
        if waves is None or len(waves.chain) != len(figure.chain) or waves.per == "cu":
            continue
        low, high = sorted((figure, waves), key=lambda one: one.start)
        between = sentence.words[low.quantity.end : high.quantity.start]
        around = sentence.words[max(0, low.start - 6) : high.quantity.end + 5]
        said_per_simd = waves.per == "simd" or bool(_SIMD.search(" ".join(around)))
        if {"not", "n't", "never", "no"}.intersection(between):
            continue
        gives = _follows(sentence, between, figure, waves)
        agprs = next((f.value for f in found if f.kind == AGPRS and f.start < high.start), 0.0)
        scope = scopes.of(sentence, low.start, high.quantity.end)
        if scope.foreign or stance(sentence, low.start, high.quantity.end) != ASSERTED:
            continue
        for vgprs, said in zip(figure.chain, waves.chain, strict=True):
            yield from _register_verdict(
                sentence, int(vgprs), int(agprs), said, scope, world, low.start, gives, said_per_simd
            )


def _follows(sentence: Sentence, between: list[str], cause: Figure, effect: Figure) -> bool:
    """True when the sentence says that the second figure follows from the first, in either order."""
    last = max(cause.quantity.end, effect.quantity.end)
    if effect.start > cause.start:
        fits = _FIT.intersection(sentence.words[last : last + 6])
        return bool(_GIVES.intersection(between) or ":" in between or fits)
    return bool(_CAUSE.intersection(between))


def _partner(sentence: Sentence, found: list[Figure], number: int, kind: str, own: str) -> Figure | None:
    """Return the next figure of `kind`, else the one before, with no other figure of `own` in between."""
    for step in (1, -1):
        place = number + step
        while 0 <= place < len(found) and found[place].kind not in (own, kind):
            place += step
        if not (0 <= place < len(found)) or found[place].kind != kind:
            continue
        low, high = sorted((found[number], found[place]), key=lambda one: one.start)
        between = sentence.words[low.quantity.end : high.quantity.start]
        if len(between) <= REACH and not {";", "but", "while", "whereas"}.intersection(between):
            return found[place]
    return None


def _register_verdict(
    sentence: Sentence, vgprs: int, agprs: int, said: float, scope: Scope, world: World, start: int, gives: bool,
    per_simd: bool,
) -> Iterator[Finding]:  # fmt: skip
    constants = _constants(scope, world)
    if vgprs + agprs > constants[0].vgprs or said != int(said):
        return
    allowed = {one.arch: _waves(one, vgprs, agprs) for one in constants}
    values = set(allowed.values())
    if len(values) != 1:
        return
    most = values.pop()
    one = constants[0]
    total = round_up(vgprs, one.agpr_offset_granule) + agprs if agprs else vgprs
    rounded = round_up(total, one.vgpr_granule)
    sums = f"{total} registers take {rounded} (granule {one.vgpr_granule}): "
    sums += f"floor({one.vgprs} / {rounded}) = {one.vgprs // rounded}"
    sums += f", at most {one.waves_per_simd}" if one.vgprs // rounded > one.waves_per_simd else ""
    evidence = (
        Evidence(ref="arithmetic", text=f"{sums} waves per SIMD"),
        *_facts(world, one.arch, "vgprs", "vgpr_granule"),
    )
    what = f"{total} VGPRs"
    if said == most and (gives or per_simd):
        verdict, told, right = SUPPORTED, f"{what} allow {_count(most)} per SIMD", None
    elif (said > most and per_simd) or (said > most and gives and said <= 8):
        verdict, told, right = CONTRADICTED, f"{what} do not allow {_count(said)} per SIMD", f"{_count(most)} per SIMD"
    elif (
        said < most
        and gives
        and per_simd
        and not any(cue.search(sentence.low) for cue in (_OTHER_LIMITS, _SOFT, _PART))
    ):
        verdict, told, right = (
            CONTRADICTED,
            f"{what} allow more than {_count(said)} per SIMD",
            f"{_count(most)} per SIMD",
        )
    else:
        return
    yield Finding(KIND, verdict, told, evidence, scope.shown, start, right, (KIND, total, said, scope.archs))


def _count(waves: float) -> str:
    return f"{waves:g} wave{'' if waves == 1 else 's'}"


def _waves(one: Constants, vgprs: int, agprs: int) -> int:
    total = round_up(vgprs, one.agpr_offset_granule) + agprs if agprs else vgprs
    return min(one.waves_per_simd, one.vgprs // max(one.vgpr_granule, round_up(total, one.vgpr_granule)))


def _facts(world: World, arch: str, *fields: str) -> tuple[Evidence, ...]:
    return tuple(fact_evidence(world.facts.get(f"{arch}.{FACT_IDS[name]}")) for name in fields)


def _row(sentence: Sentence, world: World, scopes: Scopes) -> Iterator[Finding]:
    """A row with a VGPR column and a waves column: more waves than the registers allow are wrong."""
    cells = {kind: (value, quantity) for _, kind, value, quantity in row_figures(sentence)}
    if VGPRS not in cells or WAVES not in cells or AGPRS in cells or stance(sentence, 0, 1) != ASSERTED:
        return
    (vgprs, quantity), (waves, _) = cells[VGPRS], cells[WAVES]
    scope = scopes.of(sentence, quantity.start, quantity.end)
    if not scope.foreign and 0 < vgprs == int(vgprs) and quantity.low == quantity.high and 0 < waves <= 16:
        yield from _register_verdict(sentence, int(vgprs), 0, waves, scope, world, quantity.start, False, True)


def _by_lds(sentence: Sentence, found: list[Figure], world: World, scopes: Scopes) -> Iterator[Finding]:
    for number, figure in enumerate(found):
        if figure.kind != LDS or len(figure.chain) != 1 or figure.quantity.bound:
            continue
        groups = _partner(sentence, found, number, GROUPS, LDS)
        if groups is None or len(groups.chain) != 1 or groups.quantity.bound:
            continue
        low, high = sorted((figure, groups), key=lambda one: one.start)
        between = sentence.words[low.quantity.end : high.quantity.start]
        if figure.start < groups.start:
            follows = _follows(sentence, between, figure, groups) and not _is_capacity(sentence, figure)
        else:  # "two workgroups with 64 KB of LDS each fit"
            after = sentence.words[figure.quantity.end : figure.quantity.end + 6]
            follows = set(between) <= _WITH and bool(_FIT.intersection(after))
        if not follows:
            continue
        scope = scopes.of(sentence, low.start, high.quantity.end)
        capacity = _capacity(sentence, figure)
        how = stance(sentence, low.start, high.quantity.end)
        if scope.foreign or how != ASSERTED or not (scope.pairs or capacity) or _SOFT.search(sentence.low):
            continue
        yield from _lds_verdict(figure, groups, capacity, scope, world, low.start, "at most" in sentence.low)


def _is_capacity(sentence: Sentence, figure: Figure) -> bool:
    """True for "LDS is 64 KB per CU": what the CU has, not what a workgroup takes."""
    return figure.per == "cu" or sentence.words[figure.quantity.end : figure.quantity.end + 4][-2:] == ["per", "cu"]


def _capacity(sentence: Sentence, figure: Figure) -> float | None:
    """Return the LDS size that the sentence itself puts beside ("on 64 KB", "of 160 KB")."""
    for quantity in sentence.quantities:
        larger = quantity.dim == "B" and quantity.start > figure.quantity.end and quantity.value > figure.value
        if larger and sentence.words[quantity.start - 1] in ("on", "of", "in", "with", "a", "the", "from", "/"):
            return quantity.high * quantity.factors[-1]
    return None


def _lds_verdict(
    figure: Figure, groups: Figure, capacity: float | None, scope: Scope, world: World, start: int, at_most: bool
) -> Iterator[Finding]:
    answers, sums = set(), ""
    if figure.value <= 0:
        return
    constants = _constants(scope, world)
    if capacity:
        # A size that the sentence names decides the target, not one that an earlier paragraph named.
        fitting = [one for one in _constants(scope, world) + _constants(NOWHERE, world) if one.lds_bytes == capacity]
        if not fitting:
            return
        constants = [fitting[0]]
    for one in constants:
        size = one.lds_bytes
        taken = round_up(int(figure.value), one.lds_granule)
        most = min(int(size // taken), one.workgroups_per_cu)
        answers.add((most,))
        sums = (
            f"{figure.value:,.0f} B take {taken:,} (granule {one.lds_granule}): floor({size:,.0f} / {taken:,}) = {most}"
        )
    if len(answers) != 1:
        return
    (most,) = answers.pop()
    said = groups.value
    if said < most and at_most:
        return
    right = said == most
    where = f" on {constants[0].arch}" if len(constants) == 1 else ""
    yield Finding(
        KIND,
        SUPPORTED if right else CONTRADICTED,
        f"{figure.quantity.text} of LDS {'allows' if right else 'does not allow'} {said:g} workgroups{where}",
        (Evidence(ref="arithmetic", text=sums), *_facts(world, constants[0].arch, "lds_bytes", "lds_granule")),
        scope.shown,
        start,
        None if right else f"{most} workgroup{'s' if most != 1 else ''} per CU",
        (KIND, "lds", figure.value, said, scope.archs),
    )


def _waves_of_threads(sentence: Sentence, found: list[Figure], world: World, scopes: Scopes) -> Iterator[Finding]:
    """ "256 threads (4 waves)": a wavefront has 64 work-items."""
    for threads in found:
        if threads.kind != THREADS or sentence.words[threads.quantity.end - 1] in ("lanes", "lane", "wide"):
            continue
        for waves in found:
            if not 0 < waves.start - threads.quantity.end <= 2:
                continue
            between = sentence.words[threads.quantity.end : waves.start]
            if waves.kind != WAVES or between not in (
                ["("],
                ["="],
                ["are"],
                ["is"],
                ["make"],
                [","],
                ["or"],
                ["-", ">"],
            ):
                continue
            scope = scopes.of(sentence, threads.start, waves.quantity.end)
            size = load_constants((scope.archs or world.archs)[0], world.facts).wavefront_size
            right = -(-int(threads.value) // size)
            ok = waves.value == right
            if (
                scope.foreign
                or stance(sentence, threads.start, waves.start) != ASSERTED
                or (not ok and between == [","])
            ):
                continue
            yield Finding(
                KIND,
                SUPPORTED if ok else CONTRADICTED,
                f"{threads.value:g} threads are {'' if ok else 'not '}{waves.value:g} waves",
                (
                    Evidence(ref="arithmetic", text=f"ceil({threads.value:g} / {size}) = {right}"),
                    *_facts(world, (scope.archs or world.archs)[0], "wavefront_size"),
                ),
                scope.shown,
                threads.start,
                None if ok else f"{right} waves",
                (KIND, "threads", threads.value, waves.value),
            )
