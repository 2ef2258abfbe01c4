"""Peak rates: "MI300X reaches 1307 TFLOPS of dense BF16", ridge points, and rates above what the chip can do."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kbserver.claims.hardware import KIND, in_base, judge_number
from kbserver.claims.matching import GLUE
from kbserver.claims.model import CONTRADICTED, SUPPORTED, UNKNOWN, Evidence, Finding
from kbserver.claims.quantities import Quantity
from kbserver.claims.scope import Scope, Scopes
from kbserver.claims.sentences import Sentence
from kbserver.claims.stance import ASSERTED, stance
from kbserver.claims.tables import column_of
from kbserver.claims.tokens import tokenize
from kbserver.claims.world import World, fact_evidence
from kbserver.hardware.fact_model import Fact

_TYPES = {
    "bf16": "bf16", "bfloat16": "bf16", "fp16": "fp16", "f16": "fp16", "half": "fp16", "fp8": "fp8", "f8": "fp8",
    "e4m3": "fp8", "int8": "int8", "i8": "int8", "tf32": "tf32", "xf32": "tf32", "fp32": "fp32", "f32": "fp32",
    "fp64": "fp64", "f64": "fp64", "double": "fp64", "fp4": "mxfp4", "mxfp4": "mxfp4", "fp6": "mxfp6",
    "mxfp6": "mxfp6",
}  # fmt: skip
_VECTOR = frozenset(("vector", "valu", "simd", "packed"))
_MATRIX = frozenset(("matrix", "mfma", "tensor", "mma"))
_SPARSE = frozenset(("sparse", "twice", "double", "2x", "sparsity", "structured", "smfmac", "2:4"))
_DENSE = frozenset(("dense",))
_BOTH = ("fp32", "fp64", "fp16")
_PEAK = re.compile(
    r"\b(?:peaks?|theoretical|dense|sparse|sparsity|delivers?|offers?|provides?|rated?|spec\w*|maximum|max)\b"
)
_WORK = re.compile(
    r"\b(?:achiev\w*|reach\w*|measured|sustain\w*|got|gets|attain\w*|observed|kernel|gemm|runs?|ran|hits?|benchmark\w*|"
    r"shows?|ours|naive|utili[sz]\w*|library|hipblaslt|efficien\w*|% of|percent|assembl\w*|triton|attention|matmul|"
    r"prefill|decode|forward|backward)\b"
)
_A_PART = re.compile(
    r"\b(?:per|each|one|a|single) (?:gcd|xcd|cu|compute unit|die|simd|watt|core|chiplet)\b|/ (?:cu|gcd|xcd|clk|w)\b"
)
REACH = 9
_KIND_WORDS = frozenset(("point", *_TYPES, *_VECTOR, *_MATRIX, *_DENSE))
_NAMED = re.compile(r"gfx|mi\d|cdna")


def check(sentence: Sentence, world: World, scopes: Scopes) -> Iterator[Finding]:
    """Yield a finding for every peak, ridge or achieved rate of the sentence."""
    for quantity in sentence.quantities:
        if quantity.dim == "FLOP/s" or (quantity.dim == "" and _cell_of_rates(sentence, quantity)):
            yield from _rate(sentence, quantity, world, scopes)
        elif quantity.dim == "FLOP/B":
            yield from _ridge(sentence, quantity, world, scopes)


def _cell_of_rates(sentence: Sentence, quantity: Quantity) -> bool:
    """True for a bare number that begins a cell whose row is labelled as a peak ("MFMA BF16, MI300X | 653")."""
    if not sentence.cells or not 10 <= quantity.high <= 30_000 or quantity.bound:
        return False
    place = sentence.tokens[quantity.start].start
    label = sentence.text[: sentence.cells[0][1]].lower()
    begins = any(low == place for low, _ in sentence.cells[1:])
    return begins and bool(re.search(r"\b(?:mfma|peak|tflops|tf)\b", label))


def _rate(sentence: Sentence, quantity: Quantity, world: World, scopes: Scopes) -> Iterator[Finding]:
    words = _context(sentence, quantity)
    types = list(dict.fromkeys(_TYPES[word] for word in words if word in _TYPES))
    scope = scopes.of(sentence, quantity.start, quantity.end)
    if not types or quantity.bound or scope.foreign or _A_PART.search(sentence.low):
        return
    if quantity.dim == "":
        quantity = _in_tflops(quantity)
    near = " ".join(words)
    if _WORK.search(sentence.low) and not re.search(r"\b(?:peaks?|theoretical)\b", near):
        yield from _above_peak(sentence, quantity, types, words, scope, world)
        return
    if not (_PEAK.search(near) or scope.near) or (len(types) > 1 and "fp16" not in types):
        return
    keys = tuple(key for one in types for key in _keys(one, words))
    sparse = _times_two(quantity, keys, scope, world)
    what = f"{'/'.join(types).upper()} peak"
    if sparse is not None:
        if _SPARSE.intersection(words):
            return  # figures with sparsity are twice the dense ones; nothing more is known here
        if not _DENSE.intersection(words):
            yield _sparse(quantity, what, sparse, scope)
            return
    finding = judge_number(sentence, quantity, what, keys, scope, world, quantity.start)
    if (finding is not None and (finding.verdict != CONTRADICTED or any(product for _, product in scope.pairs))) or (
        finding is not None and scope.pairs
    ):
        yield finding


def _context(sentence: Sentence, quantity: Quantity) -> list[str]:
    """Return the words that can say what a rate is: those of its clause, and of its row and column in a table."""
    words = sentence.words
    if sentence.cells:
        column = column_of(sentence, quantity.start)
        spans = {0, column}
        found = [
            token.low
            for token in sentence.tokens
            if any(sentence.cells[n][0] <= token.start < sentence.cells[n][1] for n in spans)
        ]
        if column < len(sentence.block.header):
            found += [token.low for token in tokenize(sentence.block.header[column])]
        return found
    low, high = quantity.start, quantity.end
    while low > 0 and quantity.start - low < REACH and words[low - 1] not in (";", ",", "and", "--"):
        low -= 1
    while high < len(words) and high - quantity.end < REACH and words[high] not in (";", ",", "and", "--", ":"):
        high += 1
    found = words[low:high]
    # "BF16 and FP16 peak is 653 TFLOPS": the list before belongs to it.
    while low > 1 and words[low - 1] in ("and", ",", "/") and words[low - 2] in _TYPES:
        found, low = [*words[low - 2 : low], *found], low - 2
    return found


def _in_tflops(quantity: Quantity) -> Quantity:
    return Quantity(
        quantity.start, quantity.end, quantity.low, quantity.high, quantity.half, ("FLOP/s",), (1e12,), quantity.text
    )


def _keys(one: str, words: list[str]) -> tuple[str, ...]:
    vector, matrix = bool(_VECTOR.intersection(words)), bool(_MATRIX.intersection(words))
    if one in _BOTH and vector and not matrix:
        return (f"peak.vector_{one}", f"peak.vector_packed_{one}")
    if one in _BOTH and not matrix and one != "fp16":
        return (f"peak.vector_{one}", f"peak.matrix_{one}", f"peak.vector_packed_{one}")
    return (f"peak.matrix_{one}",)


def _times_two(quantity: Quantity, keys: tuple[str, ...], scope: Scope, world: World) -> Fact | None:
    """Return the fact of which the number is twice the value: the figure with structured sparsity."""
    for arch, product in scope.pairs:
        facts = world.facts_of_arch(keys[0], arch) if product is None else [world.fact_of(keys[0], arch, product)]
        for fact in facts:
            doubled = fact and fact.key.startswith("peak.matrix_") and fact.value
            if fact and doubled and quantity.is_value(2 * in_base(fact)) and not _is_one_of(quantity, facts):
                return fact
    return None


def _is_one_of(quantity: Quantity, facts: Sequence[Fact | None]) -> bool:
    return any(fact is not None and quantity.is_value(in_base(fact)) for fact in facts)


def _sparse(quantity: Quantity, what: str, fact: Fact, scope: Scope) -> Finding:
    return Finding(
        kind=KIND,
        verdict=UNKNOWN,
        finding=f"{what}: {quantity.text} is twice the dense peak, so a figure with structured sparsity; say which",
        evidence=(fact_evidence(fact),),
        scope=scope.shown,
        start=quantity.start,
        key=(KIND, what, quantity.low, scope.pairs, "sparse"),
    )


def _above_peak(
    sentence: Sentence, quantity: Quantity, types: list[str], words: list[str], scope: Scope, world: World
) -> Iterator[Finding]:
    """A rate that somebody reached is wrong when it is above the peak."""
    if stance(sentence, quantity.start, quantity.end) != ASSERTED or _SPARSE.intersection(words) or len(types) != 1:
        return
    facts = [
        fact
        for arch, product in scope.pairs
        for key in _keys(types[0], words)
        for fact in ([world.fact_of(key, arch, product)] if product else world.facts_of_arch(key, arch))
        if fact and fact.value
    ]
    top = max(facts, key=in_base, default=None)
    if top is None or (quantity.low - quantity.slack()) * quantity.factors[0] <= in_base(top):
        return
    yield Finding(
        kind=KIND,
        verdict=CONTRADICTED,
        finding=f"{quantity.text} is above the peak that the chip can reach",
        evidence=(fact_evidence(top),),
        scope=scope.shown,
        start=quantity.start,
        correction=f"at most {top.value:g} {top.unit} ({top.product or top.arch})",
        key=(KIND, "above peak", quantity.low, types[0], scope.pairs),
    )


def _ridge(sentence: Sentence, quantity: Quantity, world: World, scopes: Scopes) -> Iterator[Finding]:
    if "ridge" not in sentence.words or quantity.bound:
        return
    start = max(0, quantity.start - 14)
    words = _ridge_words(sentence.words[start : quantity.start], sentence.words[quantity.end : quantity.end + 4])
    if words is None:
        return
    scope = scopes.of(sentence, quantity.start, quantity.end)
    types = {_TYPES[word] for word in words if word in _TYPES}
    vector = bool(_VECTOR.intersection(words)) or types == {"fp32"}
    if types == {"bf16"} or types == {"fp16"}:
        peak = f"peak.matrix_{next(iter(types))}"
    elif vector and types <= {"fp32"}:
        peak = "peak.vector_fp32"
    else:
        return
    if scope.foreign or not scope.pairs or stance(sentence, quantity.start, quantity.end) != ASSERTED:
        return
    yield from _ridge_verdict(quantity, peak, scope, world)


def _ridge_words(before: list[str], after: list[str]) -> list[str] | None:
    """Return the words that say which ridge a number is; None when prose stands between."""
    if "ridge" in before:
        place = len(before) - 1 - before[::-1].index("ridge")
        between = before[place + 1 :]
        if all(word in GLUE or word in _KIND_WORDS or _NAMED.match(word) for word in between):
            return before[max(0, place - 4) :]
    return before[-3:] + after if "ridge" in after[:2] else None


def _ridge_verdict(quantity: Quantity, peak_key: str, scope: Scope, world: World) -> Iterator[Finding]:
    pairs: list[tuple[Fact, Fact]] = []
    for arch, product in scope.pairs:
        for peak in world.facts_of_arch(peak_key, arch):
            if product and peak.product != product:
                continue
            bandwidth = world.fact_of("memory.hbm_bandwidth", arch, peak.product)
            if bandwidth is not None:
                pairs.append((peak, bandwidth))
    ridges = [(in_base(peak) / in_base(band), peak, band) for peak, band in pairs]
    if not ridges:
        return
    right = [one for one in ridges if quantity.is_value(one[0])]
    value, peak, band = (right or ridges)[0]
    sums = f"{peak.value:g} {peak.unit} / {band.value:g} {band.unit} = {value:.1f} FLOP/B"
    yield Finding(
        kind=KIND,
        verdict=SUPPORTED if right else CONTRADICTED,
        finding="the ridge follows from peak and bandwidth" if right else f"the ridge is not {quantity.text}",
        evidence=(Evidence(ref="arithmetic", text=sums), fact_evidence(peak), fact_evidence(band)),
        scope=scope.shown,
        start=quantity.start,
        correction=None if right else f"{value:.1f} FLOP/B ({peak.product or peak.arch})",
        key=(KIND, "ridge", quantity.low, scope.pairs),
    )
