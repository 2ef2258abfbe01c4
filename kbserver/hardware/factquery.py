"""Questions to facts: an id, a key, what people type ("smem", "bf16 peak"), or words; with or without a target.

Matching finds keys (`lds.banks`: what is asked), then `select` picks the facts of those keys for the target or product
(whose figure). A product never gets a sibling's figure: it gets its own, one of the whole target, or unknown.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from kbserver.core.errors import UnknownName, UsageError
from kbserver.core.targets import Product, Targets
from kbserver.hardware.fact_model import Fact, FactTable

MAX_QUERY = 400
ACCEPT = 0.6
"""Share of the query's weight (rare words weigh more) that a key must match."""
NEAR_BEST = 0.85
"""Keys that match nearly as well as the best one are answers too."""
STOP_WORDS = frozenset((
    "a", "an", "and", "amd", "any", "are", "at", "be", "can", "card", "chip", "do", "does", "doe", "each",
    "figure", "for", "from", "get", "gpu", "gpus", "hardware", "has", "have", "how", "i", "in", "instinct", "is", "it",
    "its", "kernel", "large", "many", "maximum", "max", "me", "most", "much", "my", "number", "of", "on", "one",
    "or", "per", "please", "show", "tell", "than", "that", "the", "there", "to", "use", "value", "what",
    "which", "with", "you",
))  # fmt: skip


@dataclass(frozen=True)
class Scope:
    """Whose figure is asked for, and how that was decided."""

    arch: str | None
    product: Product | None
    decided_by: str


def read_scope(targets: Targets, arch: str | None, product: str | None) -> Scope:
    """Return the scope that the arguments give. Raises UnknownName, and UsageError when they contradict each other."""
    chosen = targets.product(product) if product else None
    how = "all targets: none was given"
    gfx = None
    if arch:
        gfx, how = targets.resolve(arch)
        named = _product_named(targets, arch)
        if chosen and chosen.arch != gfx:
            raise UsageError(
                f"{chosen.name} is a product of {chosen.arch}, not of {gfx}",
                where="product",
                hint=f"leave arch out, or ask for --arch {chosen.arch}",
            )
        if chosen and named and named.name != chosen.name:
            raise UsageError(f"arch names {named.name} and product names {chosen.name}", where="product")
        chosen = chosen or named
    elif chosen:
        gfx, how = chosen.arch, f"{chosen.name} is {chosen.arch}"
    return Scope(gfx, chosen, how)


def _product_named(targets: Targets, name: str) -> Product | None:
    try:
        return targets.product(name)
    except UnknownName:
        return None


def find(table: FactTable, targets: Targets, query: str, scope: Scope) -> tuple[list[Fact], Scope]:
    """Return the facts that answer `query`, best first, and the scope (the query itself may name a target).

    Raises UsageError for an empty or contradictory query and UnknownName, with near names, when nothing matches.
    """
    text = query.strip().lower().removeprefix("fact:")
    if not text or len(query) > MAX_QUERY:
        raise UsageError(
            "the query is empty" if not text else f"the query is longer than {MAX_QUERY} characters",
            where="query",
            hint="ask for a fact id, or in a few words: lds, l2 size, bf16 peak",
        )
    if text in table:
        fact = table.get(text)
        _refuse_other_scope(fact, scope)
        return [fact], _scope_of(fact, scope, targets)
    if table.with_key(text):
        return select(table, [text], scope, query), scope
    below = [fact for fact in table if fact.id.startswith(f"{text}.")]
    if below and "." in text:
        _refuse_other_scope(below[0], scope)
        return below, _scope_of(below[0], scope, targets)
    words, scope = _take_names(targets, query, scope)
    if not words:
        raise UsageError(
            f"{query.strip()[:60]!r} does not say what is asked", where="query", hint="for example: lds, bf16 peak"
        )
    keys = match_keys(table, words)
    if not keys:
        raise UnknownName("fact", query, [alias for fact in table for alias in (*fact.aliases, fact.key)])
    return select(table, keys, scope, query), scope


def _refuse_other_scope(fact: Fact, scope: Scope) -> None:
    other_arch = scope.arch and fact.arch not in (scope.arch, "any")
    other_product = scope.product and fact.product and fact.product != scope.product.name
    if other_arch or other_product:
        asked = scope.product.name if scope.product else scope.arch
        raise UsageError(
            f"{fact.id} is a fact of {fact.product or fact.arch}, not of {asked}",
            where="query",
            hint=f"ask for {fact.key} to get the figure of {asked}",
        )


def _scope_of(fact: Fact, scope: Scope, targets: Targets) -> Scope:
    if scope.arch or fact.arch == "any":
        return scope
    return Scope(fact.arch, targets.products.get(fact.product or ""), "the fact id names it")


def _take_names(targets: Targets, query: str, scope: Scope) -> tuple[list[str], Scope]:
    """Return the query's words without target and product names, and the scope that these names give."""
    rest = query.replace("?", " ").split()
    for width in (3, 2, 1):
        for start in range(len(rest) - width + 1):
            name = " ".join(rest[start : start + width]).strip(",.:;()")
            try:
                gfx, how = targets.resolve(name)
            except UnknownName:
                continue
            named = _product_named(targets, name)
            _refuse_other_name(scope, gfx, named)
            if scope.arch is None or (named and scope.product is None):
                scope = Scope(gfx, named or scope.product, how if how != "given" else "the query names it")
            del rest[start : start + width]
            return _take_names(targets, " ".join(rest), scope)
    return _words(" ".join(rest)), scope


def _refuse_other_name(scope: Scope, gfx: str, named: Product | None) -> None:
    if (scope.arch and scope.arch != gfx) or (named and scope.product and named.name != scope.product.name):
        asked = scope.product.name if scope.product else scope.arch
        raise UsageError(
            f"the query names {named.name if named else gfx}, and {asked} was asked for as well",
            where="query",
            hint="ask for one target at a time, or for none to see all side by side",
        )


def _words(text: str) -> list[str]:
    """Return lower-case words; plurals lose their s, so that "banks" finds "bank"."""
    found = re.findall(r"[a-z0-9]+(?:[_x][a-z0-9]+)*", text.lower().replace("-", " ").replace(".", " "))
    words: list[str] = []
    for word in found:
        words.append(word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word)
    return words


@dataclass(frozen=True)
class _Key:
    """What a key is found by: the words of its aliases, and all its words."""

    key: str
    aliases: tuple[frozenset[str], ...]
    words: frozenset[str]


@lru_cache(maxsize=4)
def _vocabulary(table: FactTable) -> tuple[_Key, ...]:
    entries = []
    for key in table.keys:
        facts = table.with_key(key)
        phrases = [_words(alias) for alias in facts[0].aliases]
        words = {word for fact in facts for word in _words(fact.name)} | set(_words(key.replace("_", " ")))
        words |= {key.rpartition(".")[2], *(word for phrase in phrases for word in phrase)}
        if isinstance(facts[0].value, dict):
            words.update(*(_words(str(part)) for part in facts[0].value))
        entries.append(_Key(key, tuple(_content(phrase) for phrase in phrases), frozenset(words)))
    return tuple(entries)


def _content(words: Iterable[str]) -> frozenset[str]:
    """Return the words that say something."""
    return frozenset(words) - STOP_WORDS


def match_keys(table: FactTable, words: Sequence[str]) -> list[str]:
    """Return the keys that the words ask for, best first.

    An alias that has the same words wins, the key that lists it earliest first; else the best matching words.
    """
    asked = _content(words)
    if not asked:
        return []
    entries = _vocabulary(table)
    exact = [(entry.aliases.index(asked), entry.key) for entry in entries if asked in entry.aliases]
    if exact:
        return [key for _, key in sorted(exact, key=lambda found: found[0])]
    return _by_words(entries, asked)


def _by_words(entries: Sequence[_Key], asked: frozenset[str]) -> list[str]:
    def weight(word: str) -> float:
        # A word that no key has counts like a rare one, not more: it may be a filler that STOP_WORDS lacks.
        return math.log((len(entries) + 1) / max(4, sum(word in entry.words for entry in entries)))

    weights = {word: weight(word) for word in asked}
    total = sum(weights.values())

    def score(words: Iterable[str]) -> float:
        return sum(weights[word] for word in asked.intersection(words)) / total

    scores = {entry: score(entry.words) for entry in entries}
    best = max(scores.values(), default=0.0)
    if best < ACCEPT:
        return []
    kept = [entry for entry, value in scores.items() if value >= best * NEAR_BEST]

    def order(entry: _Key) -> tuple[float, float, int]:
        # Then the key of which a whole alias was said, then the one that says least besides.
        said = max((score(alias) for alias in entry.aliases if alias <= asked), default=0.0)
        return -scores[entry], -said, len(entry.words)

    return [entry.key for entry in sorted(kept, key=order)]


def select(table: FactTable, keys: Iterable[str], scope: Scope, query: str) -> list[Fact]:
    """Return the facts of `keys` in the scope, in the order of `keys`. Raises UnknownName when the target has none."""
    keys = list(keys)
    facts = [fact for key in keys for fact in _of_key(table.with_key(key), scope)]
    if not facts:
        elsewhere = [fact.id for key in keys for fact in table.with_key(key)]
        error = UnknownName("fact", f"{query.strip()} ({scope.arch})", elsewhere)
        error.hint = f"{scope.arch} has no such fact; others have: {', '.join(elsewhere[:6])}"
        raise error
    return facts


def _of_key(facts: list[Fact], scope: Scope) -> list[Fact]:
    if scope.arch is None:
        return facts
    here = [fact for fact in facts if fact.arch in (scope.arch, "any")]
    if scope.product is None or not here:
        return here
    own = [fact for fact in here if fact.product == scope.product.name]
    shared = [fact for fact in here if fact.product is None]
    whole = [fact for fact in shared if not fact.products or scope.product.name in fact.products]
    return own or whole or [_unknown(here, scope.product)]


def _unknown(siblings: list[Fact], product: Product) -> Fact:
    """Return the fact that says that nobody gives this figure for the product."""
    first = siblings[0]
    holders = list(dict.fromkeys(name for fact in siblings for name in (fact.product, *fact.products) if name))
    return Fact(
        id=f"{product.arch}.{product.name.lower().replace(' ', '')}.{first.key}",
        arch=product.arch,
        product=product.name,
        key=first.key,
        name=first.name.partition(" for ")[0],
        value=None,
        unit=first.unit,
        evidence="none",
        note=f"No figure of {product.name} is recorded. {', '.join(holders)} have one; it is not carried over.",
    )
