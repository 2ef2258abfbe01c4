"""Times and speedups: measured by whom, as published or not, or faster than physics allows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from kbserver.claims.context import Context
from kbserver.claims.figures import TIME, row_figures
from kbserver.claims.kernels import Mention
from kbserver.claims.model import CONTRADICTED, SUPPORTED, UNSOURCED, Evidence, Finding
from kbserver.claims.quantities import Quantity
from kbserver.claims.scope import Scope
from kbserver.claims.sentences import Sentence
from kbserver.claims.stance import ASSERTED, stance
from kbserver.claims.world import KernelFigures, World, fact_evidence
from kbserver.core.errors import KbError
from kbserver.hardware.fact_model import Fact

KIND = "time"
_OTHERS = frozenset(("variant", "without", "against", "than", "from"))
"""Words after which a time may be that of another kernel."""
MOST_RATIO = 100_000
_TIMED = re.compile(
    r"\b(?:kernels?|tim(?:e|es|ed|ing)|runtime|took|takes?|taking|ran|runs?|latency|speed\w*|faster|slower|baseline|wall|"
    r"measured|down from|median|mean|iterations?|launch|step ?\d|pytorch|regress\w*|improv\w*|optimi[sz]\w*|gemm|"
    r"conv\w*|experiment|exp)\b"
)
_NOT_RUN = re.compile(
    r"\b(?:timeouts?|limits?|sleep|budget|compil\w+|builds?|install\w*|start-?up|search|server|floor|bound|needs?|would|"
    r"should|could|target|goal|at least|about to|clocks?|cycles|poll\w*|delay|deadline|warm-?up|"
    r"idle|resolution|overhead|emulat\w*|cpu|parse\w*|tests?|index\w*|throttl\w*|days?|hours?|per second|"
    r"predict\w*|estimat\w*|expect\w*)\b"
)
_AT_A_RATE = re.compile(r"\bat \d[\d.,]*\b")
"""A time "at 8 TB/s" is calculated."""
_SPEED = re.compile(r"\b(?:faster|slower|speed ?-? ?ups?|speedups?|quicker|improvement|gain|less time|wall time)\b")
_REACHED = re.compile(
    r"\b(?:reach|reaches|reached|hits?|achiev\w+|measured|sustain\w*|attain\w*|got|gets|runs at|ran at|now at|"
    r"delivered|saturat\w+|utili[sz]ation (?:is|of|at))\b(?! (?:limit|most))"
)
_OF_PEAK = re.compile(
    r"of (?:the |its |theoretical |hbm |memory |bf16 |fp16 |fp8 |dense |mi\w+ ){0,3}(?:peak|roofline|bandwidth)\b"
)
REACHED_WITHIN = 4
"""Tokens between the verb and the rate at most."""


def check(sentence: Sentence, world: World, scopes: Context) -> Iterator[Finding]:
    """Yield at most one finding for every time of a named kernel, and one for what nobody measured."""
    if sentence.block.quoted:
        return
    named = scopes.kernels_in(sentence)
    runs = [token.low for token in sentence.tokens if token.low.startswith("run:")]
    placed = list(_placed(sentence, named, scopes))
    done = False
    for quantity, kernel in placed:
        found = _of_kernel(sentence, quantity, kernel, runs, world, scopes)
        if found is not None:
            done = True
            yield found
    for finding in _kernel_ratio(sentence, named, world, scopes):
        done = True
        yield finding
    if not done and not runs:
        yield from _unsourced(sentence, scopes, world)


def _placed(sentence: Sentence, named: list[Mention], scopes: Context) -> Iterator[tuple[Quantity, KernelFigures]]:
    """Yield (time, kernel) where it is clear whose time it is."""
    if stance(sentence, 0, 1) != ASSERTED:
        return
    if sentence.cells:
        first = [one for one in named if sentence.tokens[one.start].start < sentence.cells[0][1]]
        for column, kind, _, quantity in row_figures(sentence):
            kernel = first[0].kernel if len(first) == 1 else scopes.kernel_of_title(sentence, column)
            if kernel is not None and kind == TIME and column > 0 and quantity.dim in ("s", ""):
                yield quantity, kernel
        return
    times = [q for q in sentence.quantities if q.dim == "s" and not q.bound]
    calculated = _NOT_RUN.search(sentence.low) or _AT_A_RATE.search(sentence.low)
    clear = len({one.kernel.name for one in named}) == 1 and len(times) == 1 and not calculated
    if clear and not _OTHERS.intersection(sentence.words):
        yield times[0], named[0].kernel


def _of_kernel(
    sentence: Sentence, quantity: Quantity, kernel: KernelFigures, runs: list[str], world: World, scopes: Context
) -> Finding | None:
    said = quantity.high * (quantity.factors[0] if quantity.dim == "s" else 1e-3)
    scope = scopes.of(sentence, quantity.start, quantity.end)
    if scope.foreign or (scope.pairs and len(scope.archs) != 1):
        return None
    arch = scope.archs[0] if scope.archs else kernel.arch
    product = scope.pairs[0][1] if len(scope.pairs) == 1 else None
    if _shape_is_other(sentence):
        return None
    floor = _floor(kernel, arch, product, world)
    if floor is not None and said < floor.cached:
        return _below_floor(quantity, kernel, floor, scope)
    if runs:
        return _of_run(quantity, said, runs, scope, world)
    true = kernel.figures.get("time_ms")
    key = (KIND, kernel.name, quantity.high)
    ref = f"kernel:{kernel.name}"
    if true is not None and arch == kernel.arch:
        evidence = Evidence(ref=ref, text=f"published: {true:g} ms on {kernel.arch}", source=kernel.source)
        if abs(said - true / 1e3) <= max(quantity.half * quantity.factors[0], 0.006 * said):
            told = f"{kernel.name}: {quantity.text}, as its authors published; not measured here"
            return Finding(KIND, SUPPORTED, told, (evidence,), scope.shown, quantity.start, None, key)
        if sentence.cites:
            return None
        told = f"no run stands with {quantity.text} of {kernel.name}; {true:g} ms was published"
        return Finding(KIND, UNSOURCED, told, (evidence,), scope.shown, quantity.start, None, key)
    return None


def _shape_is_other(sentence: Sentence) -> bool:
    return bool(re.search(r"\b(?:tiny|small) shape\b|\bshape (?:tiny|small)\b|--shape (?:tiny|small)", sentence.low))


@dataclass(frozen=True)
class _Floor:
    """Seconds below which a problem cannot be done: with cold caches, and with the Infinity Cache full of its data."""

    cold: float
    cached: float
    bandwidth: Fact
    cache: Fact | None
    bytes_moved: int


def _floor(kernel: KernelFigures, arch: str, product: str | None, world: World) -> _Floor | None:
    bands = world.facts_of_arch("memory.hbm_bandwidth", arch)
    bands = [fact for fact in bands if product is None or fact.product == product]
    if not bands or not kernel.bytes_moved:
        return None
    best = max(bands, key=lambda fact: float(fact.value))  # type: ignore[arg-type]
    rate = float(best.value) * 1e12  # type: ignore[arg-type]
    cache = next((fact for fact in world.facts_of_arch("caches.infinity_cache_bytes", arch) if fact.value), None)
    kept = float(cache.value) if cache else 0.0  # type: ignore[arg-type]
    return _Floor(
        kernel.bytes_moved / rate, max(0.0, kernel.bytes_moved - kept) / rate, best, cache, kernel.bytes_moved
    )


def _below_floor(quantity: Quantity, kernel: KernelFigures, floor: _Floor, scope: Scope) -> Finding:
    sums = f"{floor.bytes_moved / 1e6:,.1f} MB moved once / {floor.bandwidth.value:g} TB/s = {floor.cold * 1e6:.0f} us"
    sums += f"; {floor.cached * 1e6:.0f} us if the Infinity Cache held all it can" if floor.cache else ""
    evidence = [Evidence(ref="arithmetic", text=sums), fact_evidence(floor.bandwidth)]
    evidence += [fact_evidence(floor.cache)] if floor.cache else []
    return Finding(
        KIND, CONTRADICTED, f"{quantity.text} is below what the memory allows for {kernel.name} at the published shape",
        tuple(evidence), scope.shown, quantity.start, f"at least {floor.cold * 1e6:.0f} us from cold caches",
        (KIND, "floor", kernel.name, quantity.high),
    )  # fmt: skip


def _of_run(quantity: Quantity, said: float, runs: list[str], scope: Scope, world: World) -> Finding | None:
    """Hold a time against the times that the cited run recorded."""
    for ref in runs:
        try:
            recorded = world.run(ref.removeprefix("run:"))
        except (LookupError, KbError):
            return None  # the citation checker says that it does not resolve
        times = dict(_times_of(recorded))
        key = (KIND, ref, quantity.high)
        if not times:
            told = f"{ref} holds no time"
            evidence = Evidence(ref=ref, text=f"a run of kind {recorded.get('kind', 'unknown')}, without times")
            return Finding(KIND, UNSOURCED, told, (evidence,), scope.shown, quantity.start, None, key)
        listed = ", ".join(f"{name} {value:g} ms" for name, value in list(times.items())[:4])
        near = any(abs(said * 1e3 - value) <= max(quantity.half, 0.02 * value) for value in times.values())
        told = f"{ref} {'has' if near else 'has not'} {quantity.text}"
        evidence = Evidence(ref=ref, text=listed, source=str(recorded.get("device", "")) or None)
        right = None if near else listed
        verdict = SUPPORTED if near else CONTRADICTED
        return Finding(KIND, verdict, told, (evidence,), scope.shown, quantity.start, right, key)
    return None


def _times_of(recorded: object, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield every `..._ms` figure of a run's record."""
    if isinstance(recorded, dict):
        for name, value in recorded.items():
            if isinstance(value, int | float) and not isinstance(value, bool) and str(name).endswith("_ms"):
                yield f"{path}{name}", float(value)
            elif isinstance(value, dict) and len(path) < 40:
                yield from _times_of(value, f"{path}{name}.")


_RATIO = re.compile(r"(?:faster|slower) than$")


def _kernel_ratio(sentence: Sentence, named: list[Mention], world: World, scopes: Context) -> Iterator[Finding]:
    """ "6x slower than Step 3": the ratio of two published times; who is compared stands before."""
    for quantity in sentence.quantities:
        if quantity.dim != "x" or quantity.bound or stance(sentence, quantity.start, quantity.end) != ASSERTED:
            continue
        other = next((one for one in named if one.start > quantity.end and one.start - quantity.end <= 4), None)
        if other is None or not _RATIO.search(" ".join(sentence.words[quantity.end : other.start])):
            continue
        if sentence.words[other.end : other.end + 1] == ["'"]:
            continue  # "Step 3's 256 threads" is no whole kernel
        own = next((one.kernel for one in reversed(named) if one.end <= quantity.start), None)
        own = own or scopes.last_kernel(sentence, other.kernel)
        if own is None or "time_ms" not in own.figures or "time_ms" not in other.kernel.figures:
            continue
        a, b = float(own.figures["time_ms"]), float(other.kernel.figures["time_ms"])
        true = a / b if "slower" in sentence.words[quantity.end : other.start] else b / a
        if own.name == other.kernel.name or true <= 0:
            continue
        right = abs(true - quantity.high) <= quantity.half + 0.03 * true
        scope = Scope(((own.arch, None),), "the kernels' published target").shown
        sums = f"published: {own.name} {a:g} ms, {other.kernel.name} {b:g} ms; ratio {true:.3g}"
        than = f"{quantity.text} {sentence.words[quantity.end]} than {other.kernel.name}"
        told = f"{own.name} is {'' if right else 'not '}{than}"
        evidence = Evidence(ref=f"kernel:{own.name}", text=sums, source=own.source)
        key = (KIND, "ratio", own.name, other.kernel.name, quantity.high)
        verdict = SUPPORTED if right else CONTRADICTED
        yield Finding(KIND, verdict, told, (evidence,), scope, quantity.start, None if right else f"{true:.3g}x", key)


def _unsourced(sentence: Sentence, scopes: Context, world: World) -> Iterator[Finding]:
    """A measured time, speedup or rate beside which no run and no source stands."""
    if scopes.is_measured(sentence) or sentence.block.kind == "heading" or _NOT_RUN.search(sentence.low):
        return
    for quantity in sentence.quantities:
        what = _measured(sentence, quantity)
        if not what or quantity.bound or not quantity.high:
            continue
        if stance(sentence, quantity.start, quantity.end) != ASSERTED:
            continue
        evidence = Evidence(ref="text", text="no run: ref and no source stands in its sentence, paragraph or table")
        told = f"{what} {quantity.text}: nothing says who measured it"
        scope = scopes.of(sentence, quantity.start, quantity.end).shown
        key = (KIND, "unsourced", sentence.line, sentence.text[:80])
        yield Finding(KIND, UNSOURCED, told, (evidence,), scope, quantity.start, None, key)
        return


def _measured(sentence: Sentence, quantity: Quantity) -> str:
    """Return what a number is that somebody must have measured: "time", "speedup", "rate"; "" for any other number."""
    words = sentence.words
    if quantity.dim == "s":
        return "time" if _TIMED.search(sentence.low) and not _AT_A_RATE.search(sentence.low) else ""
    if quantity.dim == "x" and quantity.high <= MOST_RATIO and not _AT_A_RATE.search(sentence.low):
        near = words[max(0, quantity.start - 3) : quantity.start] if "speedup" in words else []
        return "speedup" if _SPEED.search(" ".join([*near, *words[quantity.start : quantity.end + 8]])) else ""
    if quantity.dim == "%" and words[quantity.end : quantity.end + 2] in (["faster", "than"], ["slower", "than"]):
        return "speedup"
    before = " ".join(words[max(0, quantity.start - REACHED_WITHIN) : quantity.start])
    if not _REACHED.search(before):
        return ""
    if quantity.dim == "%":
        return "rate" if _OF_PEAK.match(" ".join(words[quantity.end : quantity.end + 7])) else ""
    return "rate" if quantity.dim in ("FLOP/s", "B/s") else ""
