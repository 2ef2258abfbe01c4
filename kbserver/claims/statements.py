"""Well-known statements about these GPUs that numbers do not catch. A row is a pattern and what decides it.

A row names an entry of gpu_arch/facts/claims.yaml, facts, or a section of the documents: verdicts rest on these.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kbserver.claims.context import Context
from kbserver.claims.model import CONTRADICTED, UNSOURCED, Evidence, Finding
from kbserver.claims.sentences import Sentence
from kbserver.claims.stance import reported_block
from kbserver.claims.world import World, fact_evidence
from kbserver.core.errors import KbError
from kbserver.hardware.known_claims import KnownClaim

KIND = "statement"
MAX_FACTS = 3
_VERDICTS = {"contradicted": CONTRADICTED, "unit_error": CONTRADICTED, "doubtful": UNSOURCED}
_DENIED = re.compile(
    r"\b(?:wrong(?:ly)?|false|incorrect|untrue|myth|mistak\w+|refut\w+|retract\w+|contradict\w*|contested|doubtful|"
    r"unverified|unsupported|claim(?:s|ed)?|believ\w+|assum\w+|guess\w*|suppos\w+|said|says|too far|misconception|trap|"
    r"not|never|nobody|no|none|advice|if|would|n ' t)\b"
)


@dataclass(frozen=True)
class Row:
    """A pattern over the lower-case tokens of a sentence, joined by blanks, and what decides it."""

    name: str
    pattern: re.Pattern[str]
    claim: str | None = None
    facts: tuple[str, ...] = ()
    section: str | None = None
    verdict: str = CONTRADICTED
    finding: str = ""
    correction: str | None = None
    archs: tuple[str, ...] = ()
    """Targets to which the row is limited; a scope outside makes no claim."""


def _row(name: str, pattern: str, **rest: object) -> Row:
    return Row(name, re.compile(pattern), **rest)  # type: ignore[arg-type]


ROWS = (
    _row(
        "registers per CU",
        r"\b512 vgprs? (?:per|/|a) (?:cu|compute unit)\b|\b800 sgprs? (?:per|/|a) (?:cu|compute unit)\b",
        claim="registers-per-cu",
        correction="512 VGPRs per SIMD lane and 800 SGPRs per SIMD",
    ),
    _row(
        "unified L2",
        r"\bl2(?: cache)? (?:is |\( ?)?(?:unified|shared) (?:across|by|between|over) (?:the )?(?:whole |entire )?"
        r"(?:gpu|device|all (?:xcds?|cus?|compute units))\b",
        claim="l2-unified",
        correction="one L2 per XCD; the Infinity Cache is shared",
        archs=("gfx942", "gfx950"),
    ),
    _row(
        "memory per GCD",
        r"\b\d+ gb (?:of )?(?:hbm\w* |memory )?per gcd\b",
        claim="mi350x-252gb-per-gcd",
        correction="the memory belongs to the device: it has XCDs, no GCDs",
        archs=("gfx942", "gfx950"),
    ),
    _row(
        "ridge unit",
        r"\bridge(?: point)? = peak (?:tflops|tflop / s) / (?:peak )?(?:hbm |memory )?(?:bandwidth )?(?:\( ?|"
        r"in )?gb / s",
        claim="ridge-in-gb",
        correction="peak TFLOPS / bandwidth in TB/s",
    ),
    _row(
        "sched_group_barrier arguments",
        r"sched_group_barrier (?:takes |has |is )?\( type , (?:count|size|n) , mask",
        claim="sched-group-barrier-order",
        correction="(mask, number of instructions, sync id)",
    ),
    _row(
        "remark ignores LDS",
        r"\b(?:remark|compiler)\b[^.;]{0,50}\b(?:ignores lds|ignores the lds|only reports the vgpr limit|"
        r"reports? only the vgpr limit|reports? only vgpr limits|reflects vgpr limits only)\b|"
        r"\bcompiler \" occupancy \" remark \| vgpr - bound only ; ignores lds\b",
        claim="remark-ignores-lds",
        correction="static LDS counts for a declared workgroup size; dynamic LDS never does",
    ),
    _row(
        "occupancy formula",
        r"\bmin \( floor \( 512 / vgprs? ?\) , floor \( (?:lds|160|64)",
        claim="occupancy-mixed-units",
        correction="waves per SIMD from rounded registers against workgroups from rounded LDS",
    ),
    _row(
        "ds_read_b64 is slow",
        r"\bds_read_b64\b[^.;]{0,30}\b4\.2 ?(?:x|times|\*)? (?:times )?slower\b",
        claim="ds-read-b64-slow",
        correction="conflict-free ds_read_b64 takes 2 phases; strides and alignment decide",
    ),
    _row(
        "VMEM queue",
        r"\bvmem\b[^.;]{0,30}\b64 - entry (?:hardware )?queue\b|\b64 - entry (?:hardware )?(?:vmem )queue\b",
        claim="vmem-queue-64",
    ),
    _row(
        "LGKM queue",
        r"\b(?:16 - entry )?lgkm queue\b[^.;]{0,20}\boverflow|\blgkm\b[^.;]{0,30}\bqueue\b[^.;]{0,20}\boverflow",
        facts=("waits.lgkmcnt_bits",),
        verdict=UNSOURCED,
        finding="no source states such a queue; 4 bits bound the counter, not a queue depth",
    ),
    _row(
        "one instruction a cycle",
        r"\b(?:v_fma_f32|ds_read_b32|global_load_dword)\b[^.;|]{0,40}[ |:](?:1|one) (?:per|/) (?:cycle|clock|clk)\b",
        claim="one-per-cycle",
        correction="a VALU instruction of a wavefront holds its SIMD for 4 clocks",
    ),
    _row(
        "s_barrier scope",
        r"\bs_barrier\b[^.;]{0,50}\b(?:wave|wavefront|warp) ?-? ?level\b|\b(?:wave|wavefront|"
        r"warp) - level barrier s_barrier",
        facts=("waits.s_barrier_scope",),
        finding="s_barrier is no wave-level barrier",
        correction="the workgroup",
    ),
    _row(
        "separate register files",
        r"\b(?:two |have |has |are )?separate (?:register )?(?:pools?|files?|register files?)\b[^.;]{0,40}"
        r"\b(?:agprs?|accvgprs?)\b|\bagprs?\b[^.;]{0,25}\bseparate (?:register )?(?:pool|file)|"
        r"^vgpr \+ agpr \|.{0,300}\bseparate - pool\b",
        facts=("registers.vgprs_per_simd_lane",),
        finding="VGPRs and AGPRs are not separate files",
        correction="one file of 512 registers per SIMD lane holds both",
    ),
    _row(
        "Infinity Cache removed",
        r"\binfinity cache (?:is|was|has been|got) (?:removed|dropped|gone)\b",
        facts=("caches.infinity_cache_bytes",),
        finding="the Infinity Cache is there",
        correction="256 MB",
        archs=("gfx942", "gfx950"),
    ),
    _row(
        "32-byte loads",
        r"\b32 ?-? ?(?:b|bytes?) (?:vectori[sz]ed |wide )?(?:loads?|stores?|loads / stores)\b[^.;]{0,20}"
        r"\b(?:instead of|over|rather than) 16 ?-? ?(?:b|bytes?)\b",
        section="gpu_arch/general/coalescing.md#is-there-a-32-byte-load-per-lane-dwordx8-what-is-the-widest",
        finding="no load or store of a lane is wider than 16 bytes",
        correction="16 bytes: dwordx4, b128",
    ),
    _row(
        "launch bounds",
        r"__launch_bounds__ \( (?:maxthreads|max_threads)\w* , (?:minblocks|min_blocks)\w* \)",
        section="gpu_arch/optimization/porting-from-cuda.md#launch-bounds-registers-per-thread-occupancy-do-cudas-carry-over",
        finding="the second argument is no number of blocks on AMD GPUs",
        correction="waves per SIMD",
    ),
)


def check(sentence: Sentence, world: World, scopes: Context) -> Iterator[Finding]:
    """Yield a finding for every well-known statement that the sentence makes as its own."""
    if sentence.block.quoted or reported_block(sentence):
        return
    for row in ROWS:
        match = row.pattern.search(sentence.low)
        if match is None or (sentence.low[: match.start()].count('"') % 2 and row.name != "remark ignores LDS"):
            continue
        around = f"{sentence.low[: match.start()]} {sentence.low[match.end() :]}"
        if not sentence.cells and _DENIED.search(around[-400:] if len(around) > 400 else around):
            continue
        finding = _finding(row, sentence, match, world, scopes)
        if finding is not None:
            yield finding


def _finding(row: Row, sentence: Sentence, match: re.Match[str], world: World, scopes: Context) -> Finding | None:
    start = sentence.low[: match.start()].count(" ")
    scope = scopes.of(sentence, min(start, len(sentence.words) - 1), min(start + 1, len(sentence.words)))
    archs = scope.archs or row.archs or world.archs
    if scope.foreign or (row.archs and not set(archs) <= set(row.archs)):
        return None
    known = next((one for one in world.known if one.id == row.claim), None)
    evidence = _evidence(row, known, archs, world)
    if not evidence:
        return None
    verdict = _VERDICTS.get(known.verdict, row.verdict) if known else row.verdict
    told = row.finding or (known.finding if known else "")
    correction = row.correction if verdict == CONTRADICTED else None
    return Finding(KIND, verdict, told, evidence, scope.shown, start, correction, (KIND, row.name))


def _evidence(row: Row, known: KnownClaim | None, archs: tuple[str, ...], world: World) -> tuple[Evidence, ...]:
    if known is not None:
        return tuple(fact_evidence(fact) for fact in known.facts[:MAX_FACTS])
    if row.section is not None:
        try:
            return (Evidence(ref=row.section, text=row.finding, source=world.resolve(row.section)),)
        except (LookupError, KbError):
            return ()
    facts = [fact for key in row.facts for arch in archs for fact in world.facts_of_arch(key, arch)]
    return tuple(fact_evidence(fact) for fact in {fact.id: fact for fact in facts}.values())[:MAX_FACTS]
