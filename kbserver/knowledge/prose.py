"""References in prose: `{fact:...}` becomes value and unit, `[source-id, locator]` is a citation, both must resolve.

Nothing is looked for in code: fences, HTML blocks and `inline code` stay as written. The number of lines never changes,
so a problem found later still names the right line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from kbserver.core.errors import KbError, UnknownName
from kbserver.core.model import SourceRef
from kbserver.core.sources import Source, sources


@dataclass(frozen=True)
class Rendered:
    """A reference as prose shows it, with the sources that stand behind it."""

    text: str
    sources: tuple[SourceRef, ...] = ()


class Resolver(Protocol):
    """Turns refs of other parts (`fact:`, `kernel:`, `lesson:`, ...) into text. Raises KbError for unknown ones."""

    def render(self, ref: str) -> Rendered: ...


@dataclass(frozen=True)
class Problem:
    """Something that a document says and that does not resolve: line of the file, message, what to try."""

    line: int
    message: str
    hint: str | None = None


@dataclass(frozen=True)
class Citation:
    """A citation or a fact's source, at a line of the file."""

    line: int
    source: SourceRef


@dataclass(frozen=True)
class Expanded:
    """The lines of a document with references rendered, what they cite, and what failed."""

    lines: tuple[str, ...]
    citations: tuple[Citation, ...]
    problems: tuple[Problem, ...]


_CODE_SPAN = re.compile(r"(?<!`)(`+)(?!`)(?:(?!\n\s*\n).)+?(?<!`)\1(?!`)", re.S)
_MARK = re.compile(
    r"\{(?P<ref>[a-z]+:[^{}\s]+)\}"
    # Not `[text](link)`, `[text][label]`, `![image]`, `a[index]` or a line that begins with `[label]:`.
    r"|(?<![\w!\]\\])\[(?P<cite>[a-z0-9][a-z0-9._-]*(?:[,;](?:(?!\n\s*\n)[^\[\]]){1,300})?)\](?![(\[])",
    re.S,
)
_DEFINITION = re.compile(r" {0,3}\[[^\[\],;]+\]:")
_LOOKS_LIKE_SOURCE = re.compile(r"[a-z][a-z0-9.]*(?:-[a-z0-9.]+)+")


def expand(lines: Sequence[str], code: Sequence[tuple[int, int]], resolver: Resolver, body_line: int = 1) -> Expanded:
    """Render the references of a document's lines (numbered from 1; those before `body_line` are front matter)."""
    out = list(lines)
    citations: list[Citation] = []
    problems: list[Problem] = []
    known = sources()
    for start, end in _prose_ranges(len(lines), code, body_line):
        block = "\n".join(lines[start - 1 : end - 1])
        state = _Block(start, resolver, known, citations, problems)
        out[start - 1 : end - 1] = state.rendered(block).split("\n")
    return Expanded(tuple(out), tuple(citations), tuple(problems))


def _prose_ranges(count: int, code: Sequence[tuple[int, int]], first: int) -> Iterator[tuple[int, int]]:
    position = first
    for start, end in sorted(code):
        if start > position:
            yield position, start
        position = max(position, end)
    if position <= count:
        yield position, count + 1


class _Block:
    """Renders one run of prose; collects citations and problems with line numbers of the file."""

    def __init__(
        self,
        line: int,
        resolver: Resolver,
        known: Mapping[str, Source],
        citations: list[Citation],
        problems: list[Problem],
    ) -> None:
        self.line = line
        self.resolver = resolver
        self.known = known
        self.citations = citations
        self.problems = problems

    def rendered(self, block: str) -> str:
        parts, position = [], 0
        for span in _CODE_SPAN.finditer(block):
            parts += [self._prose(block, position, span.start()), span.group()]
            position = span.end()
        return "".join([*parts, self._prose(block, position, len(block))])

    def _prose(self, block: str, start: int, end: int) -> str:
        def replace(match: re.Match[str]) -> str:
            line = self.line + block.count("\n", 0, match.start())
            if match["ref"]:
                return self._reference(match, line)
            definition = _DEFINITION.match(block, block.rfind("\n", 0, match.start()) + 1)
            if definition is None or definition.end() != match.end() + 1:
                self._cite(match["cite"], line)
            return match.group()

        # The match runs on the whole block, so that the character before a citation is seen.
        parts, position = [], start
        for match in _MARK.finditer(block, start, end):
            parts += [block[position : match.start()], replace(match)]
            position = match.end()
        return "".join([*parts, block[position:end]])

    def _reference(self, match: re.Match[str], line: int) -> str:
        try:
            shown = self.resolver.render(match["ref"])
        except KbError as error:
            self.problems.append(Problem(line, f"{match['ref']}: {error.message}", error.hint))
            return match.group()
        self.citations += [Citation(line, source) for source in shown.sources]
        return " ".join(shown.text.split())

    def _cite(self, inner: str, line: int) -> None:
        for source_id, locator in split_citations(inner, self.known):
            if source_id in self.known:
                self.citations.append(Citation(line, self.known[source_id].at(locator)))
            elif _LOOKS_LIKE_SOURCE.fullmatch(source_id):
                error = UnknownName("source", source_id, self.known)
                self.problems.append(Problem(line, error.message, error.hint))


def split_citations(inner: str, known: object) -> Iterator[tuple[str, str | None]]:
    """Return the (source id, locator) pairs of one bracket: `a, section 2; b` cites two documents.

    A `;` separates citations only where a known id follows: locators may hold one too.
    """
    pieces: list[str] = []
    for piece in inner.split(";"):
        name = piece.split(",", 1)[0].strip()
        if pieces and name not in known:  # type: ignore[operator]
            pieces[-1] += ";" + piece
        else:
            pieces.append(piece)
    for piece in pieces:
        source_id, _, locator = piece.partition(",")
        yield source_id.strip(), " ".join(locator.split()) or None
