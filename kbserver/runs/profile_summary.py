"""A measurement to what a profile says: per wavefront, per class, per memory instruction, per source line."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from kbserver.core.sources import cite
from kbserver.emulator.hardware_counters import count
from kbserver.emulator.lds_rules import MODEL, READ, WRITE, find_rule
from kbserver.emulator.measurement import LINE_BYTES, Measurement, SiteCounts
from kbserver.runs.profile_report import (
    GlobalSummary,
    HotLoop,
    LdsRule,
    LdsSummary,
    MemorySite,
    ScratchSummary,
    SourceLine,
)
from kbserver.toolchain.assembly import Function
from kbserver.toolchain.mix import Loop, classify, count_classes, count_mnemonics, find_loops

LOADS, STORES = ("LDS read", "global read"), ("LDS write", "global write")
TOP_MNEMONICS = 12


class Summary:
    """Figures of one measurement. Everything is a sum over the grid divided by its wavefronts."""

    def __init__(self, measured: Measurement, function: Function, arch: str) -> None:
        self.measured, self.arch = measured, arch
        self.function = function
        self.instructions = function.instructions
        self.classes = [classify(item.mnemonic) for item in self.instructions]

    def per_wave(self, total: float) -> float:
        """Return a sum over the grid as a figure per wavefront, to six digits after the point."""
        return round(total / self.measured.waves, 6)

    @cached_property
    def counters(self) -> dict[str, float]:
        """Hardware counter -> per wavefront."""
        names = [item.mnemonic for item in self.instructions]
        totals = count(names, self.measured.executions, self.arch)
        return {name: self.per_wave(total) for name, total in totals.items()}

    @property
    def total(self) -> int:
        """Wave instructions of the whole grid."""
        return sum(self.measured.executions)

    def mix(self) -> dict[str, float]:
        """Return class of toolchain.mix -> executed instructions, most frequent first."""
        return self._mix(range(len(self.instructions)))

    def _mix(self, places: Iterable[int]) -> dict[str, float]:
        totals: Counter[str] = Counter()
        for place in places:
            totals[self.classes[place]] += self.measured.executions[place]
        return {name: self.per_wave(total) for name, total in totals.most_common() if total}

    def active_lanes(self, place: int | None = None) -> float | None:
        """Return the mean of active lanes over all vector ALU instructions, or over those of one place."""
        places = [place] if place is not None else [i for i, kind in enumerate(self.classes) if kind == "VALU"]
        issued = sum(self.measured.executions[i] for i in places)
        return round(sum(self.measured.lanes[i] for i in places) / issued, 3) if issued else None

    # What depends on addresses: sums over the sample, scaled by the exact executions of each instruction

    def scaled(self, site: SiteCounts, value: float) -> float:
        """Return a sum over the sample as one over the grid."""
        sampled = self.measured.sampled_executions[site.site]
        return value * self.measured.executions[site.site] / sampled if sampled else 0.0

    def _sum(self, sites: Sequence[SiteCounts], value: Callable[[SiteCounts], float]) -> float:
        return self.per_wave(sum(self.scaled(site, value(site)) for site in sites))

    def unsampled(self) -> int:
        """Return how many memory instructions ran, but in no sampled workgroup."""
        memory = ("LDS", "global", "buffer", "flat", "scratch")
        executed, sampled = self.measured.executions, self.measured.sampled_executions
        return sum(kind in memory and executed[i] > 0 and not sampled[i] for i, kind in enumerate(self.classes))

    def lds(self) -> LdsSummary | None:
        """Return the LDS figures, None when the kernel has no LDS instruction that ran."""
        sites = [site for site in self.measured.sites if site.is_lds]
        if not sites:
            return None
        ideal = self._sum(sites, lambda site: site.ideal_passes)
        conflicts = self._sum(sites, lambda site: site.conflict_passes)
        return LdsSummary(
            accesses=self.counters["SQ_INSTS_LDS"],
            reads=self._executed(sites, LOADS),
            writes=self._executed(sites, STORES),
            bytes=self._sum(sites, lambda site: site.lanes * site.width),
            ideal_passes=ideal,
            conflict_passes=conflicts,
            active_passes=round(ideal + conflicts, 6),
            misaligned=self._sum(sites, lambda site: site.misaligned),
            model=self._rules(sites),
        )

    def _executed(self, sites: Sequence[SiteCounts], kinds: tuple[str, ...]) -> float:
        places = {site.site for site in sites if site.kind in kinds}
        return self.per_wave(sum(self.measured.executions[place] for place in places))

    def _rules(self, sites: Sequence[SiteCounts]) -> list[LdsRule]:
        rules = {}
        for site in sorted(sites, key=lambda one: (one.kind, one.width)):
            direction = READ if site.kind == "LDS read" else WRITE
            rule = find_rule(self.arch, direction, site.width)
            rules[site.kind, site.width, self._basis(site)] = LdsRule(
                access=site.kind,
                bytes=site.width,
                banks=rule.banks,
                phases=len(rule.groups),
                basis=self._basis(site),
                source=cite(*rule.source),
            )
        return list(rules.values())

    def _basis(self, site: SiteCounts) -> str:
        """Return how firm a rule is for this instruction: no source is about pairs and transposed reads."""
        name = self.instructions[site.site].mnemonic
        return MODEL if name.startswith(("ds_read2", "ds_write2")) or "_tr_" in name else site.basis

    def global_memory(self) -> GlobalSummary | None:
        """Return the figures of global memory, None when no such instruction ran."""
        sites = [site for site in self.measured.sites if site.kind.startswith("global")]
        if not sites:
            return None
        lines = self._sum(sites, lambda site: site.lines)
        requests = self._sum(sites, lambda site: site.records)
        loads = [site for site in sites if site.kind == "global read"]
        total = self._sum(sites, lambda site: site.lanes * site.width)
        return GlobalSummary(
            requests=requests,
            reads=self._executed(sites, LOADS),
            writes=self._executed(sites, STORES),
            lines=lines,
            lines_read=self._sum(loads, lambda site: site.lines),
            lines_per_request=round(lines / requests, 4) if requests else None,
            line_bytes=LINE_BYTES[self.arch],
            bytes=total,
            bytes_read=self._sum(loads, lambda site: site.lanes * site.width),
            bytes_written=self._sum(
                [s for s in sites if s.kind == "global write"], lambda site: site.lanes * site.width
            ),
        )

    def scratch(self) -> ScratchSummary | None:
        """Return the figures of scratch, None when no such instruction ran."""
        sites = [site for site in self.measured.sites if site.kind.startswith("scratch")]
        if not sites:
            return None
        return ScratchSummary(
            requests=self._sum(sites, lambda site: site.records),
            bytes=self._sum(sites, lambda site: site.lanes * site.width),
        )

    def sites(self, limit: int) -> list[MemorySite]:
        """Return the memory instructions that cost most: LDS passes and cache lines, over the grid."""
        weights: dict[int, float] = defaultdict(float)
        for site in self.measured.sites:
            weights[site.site] += self.scaled(site, site.ideal_passes + site.conflict_passes + site.lines)
        return [self._site(place) for place in sorted(weights, key=lambda p: (-weights[p], p))[:limit]]

    def _site(self, place: int) -> MemorySite:
        parts = [site for site in self.measured.sites if site.site == place]
        item = self.instructions[place]
        sampled = self.measured.sampled_executions[place]
        lds = parts[0].is_lds

        def mean(value: Callable[[SiteCounts], float]) -> float:
            return round(sum(value(part) for part in parts) / sampled, 4)

        return MemorySite(
            instruction=" ".join(item.text.split()),
            line=item.line,
            source=str(item.source) if item.source else None,
            access=parts[0].kind,
            executions=self.per_wave(self.measured.executions[place]),
            active_lanes=self.active_lanes(place) or 0.0,
            passes_per_access=mean(lambda part: part.ideal_passes + part.conflict_passes) if lds else None,
            conflicts_per_access=mean(lambda part: part.conflict_passes) if lds else None,
            lines_per_request=None if lds else mean(lambda part: part.lines),
        )

    # Where the instructions are

    def hot_lines(self, limit: int) -> list[SourceLine]:
        """Return the source lines that execute most instructions; without line tables, none."""
        places: dict[str, list[int]] = defaultdict(list)
        for place, item in enumerate(self.instructions):
            if item.source is not None:
                places[str(item.source)].append(place)
        totals = {source: sum(self.measured.executions[i] for i in where) for source, where in places.items()}
        hottest = sorted(totals, key=lambda source: (-totals[source], source))[:limit]
        return [
            SourceLine(
                source=source,
                instructions=self.per_wave(totals[source]),
                share_percent=self._share(totals[source]),
                mix=self._mix(places[source]),
            )
            for source in hottest
            if totals[source]
        ]

    def hot_loop(self) -> HotLoop | None:
        """Return the innermost loop that executes most instructions."""
        loops = [loop for loop in find_loops(self.function) if loop.innermost]
        loop = max(loops, key=self._loop_total, default=None)
        if loop is None or not self._loop_total(loop):
            return None
        body = loop.body(self.instructions)
        source = next((str(item.source) for item in body if item.source), None)
        return HotLoop(
            label=loop.label,
            source=source,
            iterations=self.per_wave(self.measured.executions[loop.start]),
            instructions=len(body),
            share_percent=self._share(self._loop_total(loop)),
            mix=count_classes(body),
            mnemonics=count_mnemonics(body, TOP_MNEMONICS),
        )

    def _loop_total(self, loop: Loop) -> int:
        return sum(self.measured.executions[loop.start : loop.end + 1])

    def _share(self, total: int) -> float:
        return round(100 * total / self.total, 2) if self.total else 0.0
