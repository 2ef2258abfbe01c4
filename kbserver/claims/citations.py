"""Refs and citations that do not resolve: `fact:`, `lesson:`, `build:`, `run:`, documents, `[source-id, where]`."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator

from kbserver.claims.context import Context
from kbserver.claims.model import CONTRADICTED, SUPPORTED, Evidence, Finding
from kbserver.claims.scope import NOWHERE
from kbserver.claims.sentences import Sentence
from kbserver.claims.world import World
from kbserver.core.errors import KbError
from kbserver.core.sources import SOURCES_FILE

KIND = "citation"
# Placeholders of instructions: build:ID, fact:..., lesson:NUMBER, isa:gfx950/NAME.
_PLACEHOLDER = re.compile(
    r":(?:[A-Z][A-Z_]*$|\.|x+$|n+$|id$|name$|ref$)|/(?:NAME|NAMES|MNEMONIC|FILE)\b|FILE\.md|/NAME$"
)
_SOURCE_LIKE = re.compile(r"[a-z][a-z0-9.]*(?:-[a-z0-9.]+)+")
_DIGITS = re.compile(r"[0-9]{4,9}")
CLOSE = 0.75


def check(sentence: Sentence, world: World, scopes: Context) -> Iterator[Finding]:
    """Yield a finding for every ref and every bracketed citation of the sentence."""
    for place, token in enumerate(sentence.tokens):
        if token.kind == "ref" and not _PLACEHOLDER.search(token.text) and not token.low.startswith("cite:"):
            yield from _ref(token.text, place, world, scopes)
    for cite in sentence.cites:
        yield from _source(cite, world, scopes)


def _ref(ref: str, place: int, world: World, scopes: Context) -> Iterator[Finding]:
    scheme, _, rest = ref.partition(":")
    if scheme == "lesson" and not _DIGITS.fullmatch(rest):
        return
    if ref.startswith("gpu_arch/") and "#" not in ref and not world.is_document(ref):
        return  # another project has a folder of this name too
    if not scopes.is_new(ref) or not scopes.may_look_up():
        return
    try:
        title = world.resolve(ref)
    except (LookupError, KbError) as error:
        reason = error.message if isinstance(error, KbError) else "nothing has this ref"
        hint = error.hint if isinstance(error, KbError) else None
        evidence = (Evidence(ref=ref, text=reason),)
        yield _found(CONTRADICTED, f"{ref} does not resolve", evidence, place, hint)
        return
    yield _found(SUPPORTED, f"{ref} resolves", (Evidence(ref=ref, text=title),), place, None)


def _source(cite: str, world: World, scopes: Context) -> Iterator[Finding]:
    source_id = cite.partition(",")[0].strip()
    source = world.sources.get(source_id)
    if source is not None:
        evidence = (Evidence(ref=f"cite:{source_id}", text=source.title, source=source.url),)
        yield _found(SUPPORTED, f"[{source_id}] is a source of {SOURCES_FILE}", evidence, 0, None)
        return
    if not scopes.is_new(source_id) or not scopes.may_look_up():
        return
    near = difflib.get_close_matches(source_id, list(world.sources), n=2, cutoff=CLOSE)
    if _SOURCE_LIKE.fullmatch(source_id) and (near or scopes.cites_sources(world)):
        evidence = (Evidence(ref=SOURCES_FILE, text=f"no source has the id {source_id}"),)
        correction = f"near: {', '.join(near)}" if near else None
        yield _found(CONTRADICTED, f"[{source_id}] is no known source", evidence, 0, correction)


def _found(verdict: str, told: str, evidence: tuple[Evidence, ...], place: int, correction: str | None) -> Finding:
    return Finding(KIND, verdict, told, evidence, NOWHERE.shown, place, correction, (KIND, told))
