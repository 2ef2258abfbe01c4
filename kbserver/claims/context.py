"""What the rest of a document says about a sentence: kernels named before, sources beside it."""

from __future__ import annotations

from collections.abc import Mapping

from kbserver.claims import markdown
from kbserver.claims.kernels import Mention, is_about_case, mentions
from kbserver.claims.scope import Scope, Scopes, document_scope
from kbserver.claims.sentences import Sentence
from kbserver.claims.tables import Tables
from kbserver.claims.world import KernelFigures, World

NEAR_LINES = 15
MAX_LOOKUPS = 300
"""Slow look-ups (near names, refs) that one text may cause: a text of nothing else must not take minutes."""
_MEASURING_REFS = ("run:", "lesson:", "cite:")


class Context(Scopes):
    """Scopes of one document, with its kernels and its citations. `text` is the whole document."""

    def __init__(self, text: str, units: list[Sentence], world: World, given: Scope | None, own: Scope | None) -> None:
        super().__init__(world.targets, given, own)
        self.kernels: Mapping[str, KernelFigures] = world.kernels
        self.by_step = is_about_case(text, world.kernels)
        self.tables = Tables(units, self.names_in)
        self.document = document_scope((one for unit in units for one in self.names_in(unit)), world.targets)
        backed = [unit for unit in units if _backs_a_time(unit, world)]
        self._backed_blocks = {id(unit.block) for unit in backed}
        self._backed_sections = {unit.block.headings for unit in backed}
        self._cites = {cite.partition(",")[0].strip() for unit in units for cite in unit.cites}
        self._lookups = MAX_LOOKUPS
        self._seen: set[str] = set()
        self._last: list[tuple[int, KernelFigures]] = []

    def may_look_up(self) -> bool:
        """Return whether one more slow look-up is allowed, and count it."""
        self._lookups -= 1
        return self._lookups >= 0

    def is_new(self, ref: str) -> bool:
        """Return whether this ref is seen for the first time."""
        new = ref not in self._seen
        self._seen.add(ref)
        return new

    def kernels_in(self, sentence: Sentence) -> list[Mention]:
        """Return the kernels that a sentence names."""
        return mentions(sentence, self.kernels, self.by_step) if self.kernels else []

    def note(self, sentence: Sentence) -> None:
        """Remember the kernels of a sentence that has been read."""
        for mention in self.kernels_in(sentence):
            self._last = [*self._last[-7:], (sentence.line, mention.kernel)]

    def last_kernel(self, sentence: Sentence, besides: KernelFigures) -> KernelFigures | None:
        """Return the kernel named last before a sentence, close by; `besides` is the one it is compared with."""
        for line, kernel in reversed(self._last):
            if sentence.line - line > NEAR_LINES:
                return None
            if kernel.name != besides.name:
                return kernel
        return None

    def kernel_of_title(self, sentence: Sentence, column: int) -> KernelFigures | None:
        """Return the kernel that heads a column of the row's table."""
        if column >= len(sentence.block.header):
            return None
        title = sentence.block.header[column].lower()
        for kernel in self.kernels.values():
            if title == kernel.name or (self.by_step and title in (f"step {kernel.variant}", f"step{kernel.variant}")):
                return kernel
        return None

    def cites_sources(self, world: World) -> bool:
        """True when some bracket of the document is a citation of ours: then its others should be."""
        return any(one in world.sources for one in self._cites)

    def is_measured(self, sentence: Sentence) -> bool:
        """True when a run or a publication stands in the sentence's block, or in the section of a table row."""
        if id(sentence.block) in self._backed_blocks:
            return True
        in_list = sentence.block.kind in (markdown.ROW, markdown.ITEM)
        return in_list and sentence.block.headings in self._backed_sections


def _backs_a_time(sentence: Sentence, world: World) -> bool:
    """A run, a lesson or a publication may hold a time; a fact, an instruction or a build holds none."""
    return any(_may_measure(cite, world) for cite in sentence.cites) or any(
        token.low.startswith(_MEASURING_REFS) for token in sentence.tokens
    )


def _may_measure(cite: str, world: World) -> bool:
    source = world.sources.get(cite.partition(",")[0].strip())
    return source is None or source.kind != "compiler"
