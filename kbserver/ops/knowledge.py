"""Knowledge operations: the map, search over everything, and reading what a ref names."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from kbserver.core.errors import UnknownName, UsageError
from kbserver.core.model import Record, Result, SourceRef
from kbserver.core.targets import targets
from kbserver.knowledge.documents import Document
from kbserver.knowledge.entries import KINDS
from kbserver.knowledge.index import Found, SearchIndex
from kbserver.knowledge.library import Topic
from kbserver.knowledge.relevance import Answer
from kbserver.knowledge.snippets import without_targets
from kbserver.ops.corpus import search_index
from kbserver.ops.cut import CHARS_PER_TOKEN, cut
from kbserver.ops.documents import library
from kbserver.ops.passages import open_ref
from kbserver.ops.registry import Arg, operation

MAX_HITS = 50
MAX_ECHO = 200


class MapDocument(Record):
    """A document of a topic and what it is about."""

    ref: str
    title: str
    summary: str


class MapTopic(Record):
    """A topic of the map with the refs of its documents in reading order, or of the sections of one document.

    `documents` describes them; it is filled when one topic was asked for.
    """

    id: str
    title: str
    summary: str
    refs: list[str]
    documents: list[MapDocument] = Field(default_factory=list)


class MapPath(Record):
    """Refs to read in order for one purpose."""

    id: str
    title: str
    steps: list[str]


class KnowledgeMap(Result):
    """The map: what there is to read."""

    version: int
    topics: list[MapTopic]
    reading_paths: list[MapPath]


class SearchHit(Record):
    """One answer: its ref, the lines that answer, and who says so. `arch` is empty when it holds for every target."""

    ref: str
    title: str
    kind: str
    arch: list[str]
    score: float
    snippet: str
    sources: list[SourceRef]


class SearchResult(Result):
    """The best hits of a query; `total` counts all that matched. `arch` lists the targets in question, if any."""

    query: str
    hits: list[SearchHit]
    total: int
    index_version: str
    hint: str | None = None
    arch: list[str] = Field(default_factory=list)
    arch_decided: str | None = None


class Reading(Result):
    """The text of a ref, cut to the tokens asked for. One token is taken as four characters."""

    ref: str
    title: str
    text: str
    sources: list[SourceRef]
    next_ref: str | None
    truncated: bool
    total_chars: int


@operation(name="knowledge_map", command="map", title="Map of the knowledge base", toolset="knowledge")
def knowledge_map(
    topic: Annotated[
        str | None, Arg("id of a topic or reading path, or a document, to open it", positional=True)
    ] = None,
) -> KnowledgeMap:
    """Start here: one page (under 1,500 tokens) that names every topic of the AMD Instinct knowledge base with a
    summary, its documents, and reading paths. With a topic id it describes that topic's documents, with a document it
    lists its sections, with the id of a reading path its steps. Refs open with `read`.
    """
    index = library().index()
    if topic is None:
        topics = [MapTopic(id=t.id, title=t.title, summary=t.summary, refs=t.documents) for t in index.topics]
        paths = [MapPath(id=p.id, title=p.title, steps=p.steps) for p in index.reading_paths]
        return KnowledgeMap(version=index.version, topics=topics, reading_paths=paths)
    wanted = topic.strip()
    for one in index.topics:
        if one.id == wanted.lower():
            return KnowledgeMap(version=index.version, topics=[_described(one)], reading_paths=[])
    for path in index.reading_paths:
        if path.id == wanted.lower():
            opened = MapPath(id=path.id, title=path.title, steps=path.steps)
            return KnowledgeMap(version=index.version, topics=[], reading_paths=[opened])
    if wanted in index.documents:
        return KnowledgeMap(version=index.version, topics=[_opened(wanted)], reading_paths=[])
    known = [*(one.id for one in index.topics), *(path.id for path in index.reading_paths)]
    raise UnknownName("topic", topic, known, where="topic")


def _described(topic: Topic) -> MapTopic:
    """Return a topic whose documents are described."""
    loaded = [library().document(path) for path in topic.documents]
    described = [MapDocument(ref=one.path, title=one.title, summary=_summary(one)) for one in loaded]
    return MapTopic(id=topic.id, title=topic.title, summary=topic.summary, refs=topic.documents, documents=described)


def _opened(path: str) -> MapTopic:
    """Return a document as a topic of its own: the refs are its sections."""
    document = library().document(path)
    sections = [one.ref for one in document.passages if "#" in one.ref and one.level > 1]
    return MapTopic(id=path, title=document.title, summary=_summary(document), refs=sections)


def _summary(document: Document) -> str:
    """Return the summary of the front matter, else the paragraph under the title, on one line."""
    if document.summary:
        return document.summary
    opening = next((one.text for one in document.passages if one.level == 1), "")
    paragraphs = [part for part in opening.split("\n\n") if part.strip() and not part.startswith("#")]
    return " ".join(without_targets(paragraphs[0]).split()) if paragraphs else ""


@operation(name="search", command="search", title="Search the knowledge base", toolset="knowledge")
def search(
    query: Annotated[str, Arg("question or keywords, as an engineer would type them", positional=True, words=True)],
    arch: Annotated[str | None, Arg("only what holds for this target or product, such as gfx950 or MI300X")] = None,
    kind: Annotated[str | None, Arg("only entries of this kind", choices=KINDS)] = None,
    limit: Annotated[int, Arg("how many hits, 1 to 50", flags=("-n",))] = 5,
) -> SearchResult:
    """Find the passage that answers a question about AMD Instinct GPUs (gfx90a, gfx942, gfx950): hardware limits, LDS,
    registers, waits, MFMA, compiler flags, profiling counters, kernel techniques, recorded lessons. Each hit quotes the
    answering lines with their sources and a ref for `read`. Understands instruction, counter and flag names, CUDA terms
    and product names; a product in the query puts entries of other targets last.
    """
    if limit <= 0:
        raise UsageError(f"limit must be at least 1, not {limit}", where="limit", hint="ask for 1 to 50 hits")
    decided: str | None = None
    target: str | None = None
    if arch is not None:
        target, decided = targets().resolve(arch)
    index = search_index()
    found = index.search(query, arch=target, kind=kind, limit=min(limit, MAX_HITS))
    named = [target] if target else list(found.query.archs)
    if named and decided is None:
        decided = "named in the query: other targets rank lower"
    return SearchResult(
        query=query if len(query) <= MAX_ECHO else query[: MAX_ECHO - 3] + "...",
        hits=[
            SearchHit(
                ref=hit.row.ref,
                title=hit.row.title,
                kind=hit.row.kind,
                arch=list(hit.row.arch),
                score=round(hit.score, 3),
                snippet=hit.snippet,
                sources=list(hit.sources),
            )
            for hit in found.hits
        ],
        total=found.total,
        index_version=index.version,
        hint=" ".join(_hints(found, index, target, kind)) or None,
        arch=named,
        arch_decided=decided,
    )


def _hints(found: Found, index: SearchIndex, target: str | None, kind: str | None) -> list[str]:
    """Return what a caller should know about an answer that is empty, repaired or incomplete."""
    hints = []
    query = found.query
    if not len(index):
        hints.append("Nothing is indexed: the content root has no documents, facts or lessons.")
    elif not query.terms:
        hints.append("The query has no word to search for: name a term, instruction, counter, flag or product.")
    elif not found.hits:
        hints.append(_why_nothing(found, target, kind))
    hints += [f"Read {word!r} as {near!r}." for word, near in found.repaired.items()]
    if query.foreign:
        hints.append(f"{', '.join(query.foreign)}: no target of this knowledge base ({', '.join(targets().archs)}).")
    if query.truncated:
        hints.append("The query is long: only its first words were used.")
    if index.problems:
        hints.append(f"{len(index.problems)} files could not be loaded and are not searched: `kb doctor` lists them.")
    return hints


def _why_nothing(found: Found, target: str | None, kind: str | None) -> str:
    covered = f"AMD Instinct GPUs ({', '.join(targets().archs)})"
    if found.answer is Answer.OTHER_VENDOR:
        names = ", ".join(found.query.elsewhere)
        vendors = ", ".join(dict.fromkeys(found.query.elsewhere.values()))
        return (
            f"Nothing found: {names} is of another vendor ({vendors}), and this knowledge base is about {covered}. Name"
            " one of those, or ask for the counterpart."
        )
    if found.answer is Answer.UNRELATED:
        return (
            "Nothing found: the query has no topic of this knowledge base, which is about"
            f" {covered}. Try other terms, or `knowledge_map`."
        )
    if found.answer is Answer.OTHER_TARGET:
        return "Nothing found."
    limits = [f"for {target}" if target else "", f"of kind {kind}" if kind else ""]
    where = " ".join(part for part in limits if part)
    return f"No entry {where + ' ' if where else ''}holds these words: try other terms, or `knowledge_map`."


@operation(name="read", command="read", title="Read what a ref names", toolset="knowledge")
def read(
    ref: Annotated[
        str,
        Arg(
            "document path, document.md#section, fact:..., isa:gfx950/NAME, kernel:..., lesson:..., build:...",
            positional=True,
        ),
    ],
    max_tokens: Annotated[int, Arg("most tokens of text to return (a token counts as 4 characters)")] = 1500,
) -> Reading:
    """Read what a ref names: a document, a section (`document.md#section`), a fact, kernel, lesson or build. Refs come
    from `search`, `knowledge_map` and other answers. Long texts are cut at `max_tokens` with `truncated` set;
    `next_ref` names what to read next. Numbers are filled in from the fact table and statements name their sources.
    """
    if max_tokens <= 0:
        raise UsageError(f"max_tokens must be at least 1, not {max_tokens}", where="max_tokens", hint="try 1500")
    opened = open_ref(ref)
    shown = cut(opened, max_tokens * CHARS_PER_TOKEN)
    return Reading(
        ref=opened.ref,
        title=opened.title,
        text=shown.text,
        sources=list(shown.sources),
        next_ref=shown.next_ref,
        truncated=shown.truncated,
        total_chars=shown.total_chars,
    )
