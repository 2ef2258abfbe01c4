"""Text -> sentences -> findings of every checker -> claims in the order of the text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from kbserver.claims import markdown
from kbserver.claims.context import Context
from kbserver.claims.model import CONTRADICTED, UNSOURCED, Claim, Finding
from kbserver.claims.scope import NOWHERE, Scope, front_scope, scope_of_names
from kbserver.claims.sentences import Sentence, sentences
from kbserver.claims.world import World
from kbserver.core.errors import KbError

MAX_CLAIMS = 500
MAX_SHOWN = 300
"""Characters of a sentence that a claim repeats."""

Checker = Callable[[Sentence, World, Context], Iterator[Finding]]


@dataclass(frozen=True)
class Checked:
    """Every claim of a text; `total` and `counts` (by verdict) include those beyond the cap, `scope` is the text's own
    target.
    """

    claims: tuple[Claim, ...]
    total: int
    counts: Mapping[str, int]
    scope: Scope
    sentences: int


def check_text(
    text: str,
    world: World,
    checkers: tuple[Checker, ...],
    in_code: tuple[Checker, ...] = (),
    given: tuple[str, str | None, str] | None = None,
    name: str = "",
) -> Checked:
    """Return the claims of a text. `checkers` read prose, `in_code` code blocks.

    `given` is (arch, product, how decided) when the caller names a target; `name` is the file's, whose folders may name
    one (gpu_arch/cdna4/...).
    """
    text = clean(text)
    front, _ = markdown.front_matter(text)
    given_scope = Scope(((given[0], given[1]),), given[2]) if given else None
    own = front_scope(front, world.targets) or _path_scope(name, world)
    units = list(sentences(text, lambda ref: _rendered(ref, world)))
    scopes = Context(text, units, world, given_scope, own)
    kept = _Kept()
    seen: set[tuple[object, ...]] = set()
    for sentence in units:
        for finding in _findings(sentence, world, scopes, in_code if _is_code(sentence) else checkers):
            key = finding.key or (finding.kind, finding.finding)
            if key not in seen:
                seen.add(key)
                kept.add(finding, sentence)
        scopes.note(sentence)
    own_scope = given_scope or own or scopes.document or NOWHERE
    return Checked(kept.claims(), sum(kept.counts.values()), dict(kept.counts), own_scope, len(units))


class _Kept:
    """The claims that fit the cap: contradicted ones before others, each in the order of the text."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self._wrong: list[tuple[int, Claim]] = []
        self._rest: list[tuple[int, Claim]] = []

    def add(self, finding: Finding, sentence: Sentence) -> None:
        self.counts[finding.verdict] += 1
        kept = self._wrong if finding.verdict == CONTRADICTED else self._rest
        if len(kept) < MAX_CLAIMS:
            kept.append((sum(self.counts.values()), _claim(finding, sentence)))

    def claims(self) -> tuple[Claim, ...]:
        rest = self._rest[: MAX_CLAIMS - len(self._wrong)]
        return tuple(claim for _, claim in sorted((*self._wrong, *rest), key=lambda pair: pair[0]))


def _is_code(sentence: Sentence) -> bool:
    return sentence.block.kind == markdown.CODE


def _findings(sentence: Sentence, world: World, scopes: Context, checkers: tuple[Checker, ...]) -> list[Finding]:
    found = [finding for checker in checkers for finding in checker(sentence, world, scopes)]
    # What is wrong need not be sourced as well.
    wrong = {finding.start for finding in found if finding.verdict == CONTRADICTED}
    found = [finding for finding in found if finding.verdict != UNSOURCED or finding.start not in wrong]
    return sorted(found, key=lambda finding: finding.start)


def _claim(finding: Finding, sentence: Sentence) -> Claim:
    shown = sentence.text if len(sentence.text) <= MAX_SHOWN else _excerpt(sentence, finding.start)
    return Claim(
        text=shown,
        line=sentence.line,
        kind=finding.kind,
        verdict=finding.verdict,
        finding=finding.finding,
        evidence=finding.evidence,
        correction=finding.correction,
        scope=finding.scope,
    )


def _excerpt(sentence: Sentence, start: int) -> str:
    """Return the part of a long sentence around the token at which a claim begins."""
    tokens = sentence.tokens
    place = tokens[min(start, len(tokens) - 1)].start if tokens else 0
    low = max(0, place - MAX_SHOWN // 2)
    high = min(len(sentence.text), low + MAX_SHOWN)
    return ("..." if low else "") + sentence.text[low:high].strip() + ("..." if high < len(sentence.text) else "")


_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufeff]")


def clean(text: str) -> str:
    """Return the text with Unix line ends and without characters that cannot be shown."""
    return _CONTROL.sub(" ", text.replace("\r\n", "\n").replace("\r", "\n"))


def _rendered(ref: str, world: World) -> str | None:
    try:
        return world.facts.rendered(ref)
    except KbError:
        return None


def _path_scope(name: str, world: World) -> Scope | None:
    folders = name.replace("\\", "/").split("/")[:-1]
    return scope_of_names(folders[-3:], world.targets, "the file's folder names it") if folders else None
