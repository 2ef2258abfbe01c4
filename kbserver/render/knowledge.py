"""Text of the knowledge operations: compact, because a model pays for every token of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from kbserver.core.model import SourceRef
from kbserver.ops.knowledge import KnowledgeMap, Reading, SearchResult
from kbserver.render.document import Document
from kbserver.render.registry import renders

MAX_SOURCES = 4
"""Sources shown below a hit; a section that answers from many facts would bury its answer under them."""


@renders(KnowledgeMap)
def knowledge_map(result: KnowledgeMap) -> Document:
    """The whole map names topics and reading paths only: one that named every document would cost what it saves."""
    out = Document().say(f"Knowledge map, version {result.version}. `read` opens a ref, `search` finds an answer.")
    whole = bool(result.topics and result.reading_paths)
    if whole:
        out.say("`map TOPIC` describes its documents, `map DOCUMENT` lists sections.")
    for topic in result.topics:
        count = f" ({len(topic.refs)})" if whole else ""
        out.say(f"\n{topic.id}{count}: {topic.title}. {topic.summary}")
        if topic.documents:
            out.say("\n".join(f"  {one.ref}\n    {one.summary}" for one in topic.documents))
        elif topic.refs and not whole:
            out.say("\n".join(f"  {ref}" for ref in topic.refs))
    if whole:
        out.say("\nReading paths (`map PATH` lists the steps):")
        out.say("\n".join(f"  {path.id}: {path.title}" for path in result.reading_paths))
    else:
        for path in result.reading_paths:
            out.say(f"\nPath {path.id}: {path.title}\n  " + "\n  ".join(path.steps))
    return out


@renders(SearchResult)
def search(result: SearchResult) -> Document:
    """Each hit as: ref, kind, targets and title; the answering lines; the sources."""
    out = Document()
    shown = f"{len(result.hits)} of {result.total}"
    scope = f"; {', '.join(result.arch)} ({result.arch_decided})" if result.arch else ""
    out.say(f"{shown} matches for {result.query!r}{scope}; index {result.index_version}")
    for number, hit in enumerate(result.hits, 1):
        arch = ", ".join(hit.arch) or "all targets"
        out.say(f"\n{number}. {hit.title}  [{hit.kind}; {arch}]  {hit.ref}")
        if hit.snippet:
            out.say(f"   {hit.snippet}")
        if hit.sources:
            out.say(f"   Sources: {source_list(hit.sources)}")
    if result.hint:
        out.say(("\n" if result.hits else "") + result.hint)
    return out


@renders(Reading)
def reading(result: Reading) -> Document:
    """The text as it is, then sources and where to read on."""
    out = Document().say(result.text)
    if result.sources:
        out.say("\nSources:")
        out.say("\n".join(_by_document(result.sources)))
    if result.truncated:
        out.say(f"\nCut: {len(result.text):,} of {result.total_chars:,} characters; raise max_tokens for more.")
    if result.next_ref:
        out.say(f"\nNext: {result.next_ref}")
    return out


def source_list(sources: Sequence[SourceRef]) -> str:
    """Return sources in one line: id and locator, as documents cite them; the full list is in the typed result."""
    shown = [source.id + (f", {source.locator}" if source.locator else "") for source in sources[:MAX_SOURCES]]
    more = len(sources) - MAX_SOURCES
    return "; ".join(shown) + (f"; and {more} more" if more > 0 else "")


def _by_document(sources: Iterable[SourceRef]) -> Iterator[str]:
    """Yield one line a document: id, title, address, and every place in it that is cited."""
    places: dict[str, list[str]] = {}
    documents = {}
    for source in sources:
        documents.setdefault(source.id, source)
        if source.locator:
            places.setdefault(source.id, []).append(source.locator)
    for source in documents.values():
        kind = f" ({source.kind})" if source.kind else ""
        cited = f": {'; '.join(dict.fromkeys(places[source.id]))}" if source.id in places else ""
        yield f"- {source.id}: {source.title}{kind}{cited}" + (f" <{source.url}>" if source.url else "")
