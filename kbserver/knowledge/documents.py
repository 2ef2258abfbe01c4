"""One document: sections with references rendered and sources attached; it does not load when one is unresolved."""

from __future__ import annotations

import posixpath
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from kbserver.core.errors import ContentError, KbError, UnresolvedRef
from kbserver.core.model import SourceRef
from kbserver.core.paths import inside
from kbserver.core.targets import targets
from kbserver.knowledge.prose import Citation, Problem, Resolver, expand
from kbserver.knowledge.sections import Parsed, decode, parse_markdown

FRONT_KEYS = {"title": str, "summary": str, "arch": list, "tags": list}


@dataclass(frozen=True)
class Passage:
    """A section as readers get it: text with values filled in, its heading path and what it cites."""

    ref: str
    title: str
    level: int
    path: tuple[str, ...]
    text: str
    sources: tuple[SourceRef, ...]


@dataclass(frozen=True)
class Document:
    """A loaded document. `arch` holds gfx targets; empty means that it concerns all of them."""

    path: str
    title: str
    summary: str
    arch: tuple[str, ...]
    tags: tuple[str, ...]
    passages: tuple[Passage, ...]

    def position(self, anchor: str) -> int | None:
        """Return the place of the section `anchor`, or None."""
        ref = f"{self.path}#{anchor}"
        return next((i for i, passage in enumerate(self.passages) if passage.ref == ref), None)


def load_document(root: Path, path: str, resolver: Resolver) -> Document:
    """Load `root/path`. Raises ContentError naming file and line of the first unresolved reference."""
    document, problems = examine(root, path, resolver)
    if document is None or problems:
        first = problems[0]
        raise ContentError(
            first.message,
            where=f"{path}:{first.line}",
            hint=first.hint,
            details={"problems": [f"{path}:{p.line}: {p.message}" for p in problems[:20]]},
        )
    return document


def examine(root: Path, path: str, resolver: Resolver) -> tuple[Document | None, list[Problem]]:
    """Load a document and return it with every problem found (links are checked by `check_links`)."""
    try:
        parsed = parse_markdown(read_source(root, path), path)
    except ContentError as error:
        line = (error.where or "").rpartition(":")[2]
        return None, [Problem(int(line) if line.isdigit() else 1, error.message, error.hint)]
    problems = list(_front_problems(parsed.front))
    expanded = expand(parsed.lines, parsed.code, resolver, parsed.body_line)
    problems += expanded.problems
    if not any(section.level == 1 for section in parsed.sections) and not parsed.front.get("title"):
        problems.append(Problem(parsed.body_line, "the document has no title", "start it with `# Title`"))
    if problems:
        return None, problems
    lines = list(expanded.lines)
    for start, end in parsed.comments:
        lines[start - 1 : end - 1] = [""] * (end - start)
    passages = tuple(_passages(path, parsed, lines, expanded.citations))
    front = parsed.front
    return (
        Document(
            path=path,
            title=parsed.title,
            summary=front.get("summary", ""),
            arch=tuple(front.get("arch", ())),
            tags=tuple(front.get("tags", ())),
            passages=passages,
        ),
        [],
    )


def read_source(root: Path, path: str) -> str:
    """Return the text of a document file. Raises ContentError, also for a link that leads out of the content."""
    try:
        file = inside(root, path)
        return decode(file.read_bytes(), path)
    except UnresolvedRef as error:
        raise ContentError(error.message, where=path) from None
    except OSError as error:
        raise ContentError(f"cannot read: {error.strerror}", where=path) from None


def check_links(
    root: Path, path: str, parsed: Parsed, anchors: Mapping[str, set[str] | None], resolver: Resolver
) -> Iterator[Problem]:
    """Yield a problem for each link that leads nowhere.

    `anchors` holds the section ids of every document, None for one that does not load (it has its own fault).
    """
    for link in parsed.links:
        target = unquote(link.target)
        scheme = target.partition(":")[0] if ":" in target else ""
        if scheme in ("http", "https", "mailto"):
            continue
        if scheme:
            yield from _foreign_problem(link.line, target, resolver)
            continue
        file, _, anchor = target.partition("#")
        where = posixpath.normpath(posixpath.join(posixpath.dirname(path), file)) if file else path
        if where not in anchors:
            # Other content (a kernel's source, a facts file) may be linked too: it must exist inside the root.
            if where.endswith(".md") or where.startswith("..") or anchor or not (root / where).exists():
                yield Problem(link.line, f"link to {target!r} leads nowhere", "name a document of index.yaml")
            continue
        known = anchors[where]
        if anchor and known is not None and anchor not in known:
            yield Problem(link.line, f"no section {anchor!r} in {where}", f"sections: {', '.join(sorted(known)[:8])}")


def _foreign_problem(line: int, target: str, resolver: Resolver) -> Iterator[Problem]:
    try:
        resolver.render(target)
    except KbError as error:
        yield Problem(line, f"link {target}: {error.message}", error.hint)


def _front_problems(front: dict[str, Any]) -> Iterator[Problem]:
    for key, value in front.items():
        kind = FRONT_KEYS.get(key)
        if kind is None:
            yield Problem(1, f"front matter key {key!r} is not known", f"keys: {', '.join(FRONT_KEYS)}")
        elif not isinstance(value, kind) or (kind is list and not all(isinstance(item, str) for item in value)):
            yield Problem(1, f"front matter {key!r} must be a {'list of strings' if kind is list else 'string'}")
        elif key == "arch":
            for name in value:
                if name not in targets().generations:
                    yield Problem(1, f"front matter names an unknown target {name!r}", "gfx names, as in products.yaml")


def _passages(path: str, parsed: Parsed, lines: list[str], citations: tuple[Citation, ...]) -> Iterator[Passage]:
    first = parsed.sections[0].line if parsed.sections else len(lines) + 1
    lead = "\n".join(lines[parsed.body_line - 1 : first - 1]).strip("\n")
    if lead.strip():
        yield Passage(path, parsed.title, 1, (parsed.title,), lead, _cited(citations, parsed.body_line, first))
    for section in parsed.sections:
        text = "\n".join(line.rstrip() for line in lines[section.body - 1 : section.end - 1]).strip("\n")
        head = () if section.level == 1 or section.path[0] == parsed.title else (parsed.title,)
        yield Passage(
            ref=f"{path}#{section.id}",
            title=section.title,
            level=section.level,
            path=(*head, *section.path),
            text=text,
            sources=_cited(citations, section.line, section.end),
        )


def _cited(citations: tuple[Citation, ...], start: int, end: int) -> tuple[SourceRef, ...]:
    seen: dict[tuple[str, str | None], SourceRef] = {}
    for citation in citations:
        if start <= citation.line < end:
            seen.setdefault((citation.source.id, citation.source.locator), citation.source)
    return tuple(seen.values())
