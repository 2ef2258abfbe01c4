"""Markdown to sections: front matter, title and headings with stable ids, the text of each exactly as written.

Headings are found by a CommonMark parser, so `# comment` in a code fence, in an HTML comment or in a quotation is text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from kbserver.core.errors import ContentError
from kbserver.core.yamlio import parse_yaml

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

MAX_DOCUMENT_BYTES = 1 << 20
MAX_SECTIONS = 1000
MAX_NESTING = 20
"""Nested quotations and lists beyond this depth stay plain text: the parser recurses once a level."""


@dataclass(frozen=True)
class Section:
    """One heading and its own text, up to the next heading of any level.

    `path` holds the titles from the document's top heading down to this one. Lines are numbered from 1 in the file;
    `line` is the heading's, `body` the first line after the heading, `end` the first line after the section.
    """

    id: str
    title: str
    level: int
    path: tuple[str, ...]
    text: str
    line: int
    body: int
    end: int


@dataclass(frozen=True)
class Link:
    """A link of the prose: its target as written and the line of the paragraph that holds it."""

    target: str
    line: int


@dataclass(frozen=True)
class Parsed:
    """A Markdown file taken apart.

    `code` lists the line ranges [start, end) that hold code blocks or HTML, in which no reference is looked for;
    `comments` those of HTML comments, which readers do not see. `body_line` is the first line after the front matter.
    """

    title: str
    front: dict[str, Any]
    sections: tuple[Section, ...]
    links: tuple[Link, ...]
    code: tuple[tuple[int, int], ...]
    comments: tuple[tuple[int, int], ...]
    body_line: int
    lines: tuple[str, ...] = field(repr=False)


def decode(data: bytes, where: str) -> str:
    """Return the text of a document: BOM dropped, line ends made `\\n`. Raises ContentError."""
    if len(data) > MAX_DOCUMENT_BYTES:
        raise ContentError(f"document is larger than {MAX_DOCUMENT_BYTES} bytes", where=where)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ContentError(f"not UTF-8 at byte {error.start}", where=where) from None
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "\ufffd")


def parse_markdown(text: str, where: str) -> Parsed:
    """Take a document apart. `where` names it in errors. Raises ContentError with file and line."""
    lines = text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n").split("\n")
    front, body_line = _front_matter(lines, where)
    tokens = _parser().parse("\n".join(lines[body_line - 1 :]))
    offset = body_line  # token lines count from 0 at the body's first line
    headings = list(_headings(tokens, offset))
    if len(headings) > MAX_SECTIONS:
        raise ContentError(f"more than {MAX_SECTIONS} headings", where=where)
    sections = tuple(_sections(headings, lines))
    title = front.get("title") or (sections[0].title if sections else "") or _stem(where)
    return Parsed(
        title=str(title),
        front=front,
        sections=sections,
        links=tuple(_links(tokens, offset)),
        code=tuple(_ranges(tokens, offset, lambda token: token.type in ("fence", "code_block", "html_block"))),
        comments=tuple(_ranges(tokens, offset, _is_comment)),
        body_line=body_line,
        lines=tuple(lines),
    )


def slug(title: str) -> str:
    """Return the id of a heading as GitHub makes it: lower case, punctuation dropped, blanks to hyphens."""
    kept = "".join(ch for ch in title.strip().lower() if ch.isalnum() or ch in " -_")
    return kept.replace(" ", "-") or "section"


@dataclass(frozen=True)
class _Heading:
    title: str
    level: int
    line: int
    body: int


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # imported here: a cached search never parses

    return MarkdownIt("commonmark", {"maxNesting": MAX_NESTING}).enable("table")


def _front_matter(lines: list[str], where: str) -> tuple[dict[str, Any], int]:
    """Return the front matter and the number of the first line after it (1 without one)."""
    if lines[0].rstrip() != "---":
        return {}, 1
    for number in range(1, len(lines)):
        if lines[number].rstrip() in ("---", "..."):
            break
    else:
        raise ContentError("front matter has no closing `---`", where=f"{where}:1")
    # One empty line stands for the opening `---`, so that errors name lines of the file.
    data = parse_yaml("\n" + "\n".join(lines[1:number]), where)
    if data is None:
        data = {}
    if not isinstance(data, dict) or not all(isinstance(key, str) for key in data):
        raise ContentError("front matter must be a mapping of names to values", where=f"{where}:2")
    return data, number + 2


def _headings(tokens: list[Token], offset: int) -> Iterator[_Heading]:
    for token, inline in pairwise(tokens):
        # Level 0: a heading inside a quotation or a list item belongs to that block.
        if token.type == "heading_open" and token.level == 0 and token.map:
            start, end = token.map
            yield _Heading(_plain(inline), int(token.tag[1]), start + offset, end + offset)


def _plain(inline: Token) -> str:
    parts = []
    for child in inline.children or ():
        if child.type in ("text", "code_inline", "text_special"):
            parts.append(child.content)
        elif child.type in ("softbreak", "hardbreak"):
            parts.append(" ")
    return " ".join("".join(parts).split())


def _sections(headings: list[_Heading], lines: list[str]) -> Iterator[Section]:
    used: set[str] = set()
    open_path: list[tuple[int, str]] = []
    ends = [heading.line for heading in headings[1:]] + [len(lines) + 1]
    for heading, end in zip(headings, ends, strict=False):
        open_path = [(level, title) for level, title in open_path if level < heading.level]
        open_path.append((heading.level, heading.title))
        yield Section(
            id=_unique(slug(heading.title), used),
            title=heading.title,
            level=heading.level,
            path=tuple(title for _, title in open_path),
            text=_joined(lines[heading.body - 1 : end - 1]),
            line=heading.line,
            body=heading.body,
            end=end,
        )


def _unique(base: str, used: set[str]) -> str:
    """Return `base`, or `base-1`, `base-2`, ... when taken: GitHub's rule, stable while earlier headings stay."""
    name, count = base, 0
    while name in used:
        count += 1
        name = f"{base}-{count}"
    used.add(name)
    return name


def _links(tokens: list[Token], offset: int) -> Iterator[Link]:
    for token in tokens:
        for child in (token.children or ()) if token.type == "inline" and token.map else ():
            if child.type == "link_open":
                yield Link(str(child.attrGet("href") or ""), token.map[0] + offset)


def _ranges(tokens: list[Token], offset: int, wanted: Callable[[Token], bool]) -> Iterator[tuple[int, int]]:
    for token in tokens:
        if token.map and wanted(token):
            yield token.map[0] + offset, token.map[1] + offset


def _is_comment(token: Token) -> bool:
    # A block that begins as a comment may end in text that readers see: only a whole comment is hidden.
    text = token.content.strip()
    return token.type == "html_block" and text.startswith("<!--") and text.find("-->") in (-1, len(text) - 3)


def _joined(lines: list[str]) -> str:
    return "\n".join(line.rstrip() for line in lines).strip("\n")


def _stem(where: str) -> str:
    return where.rsplit("/", 1)[-1].removesuffix(".md")
