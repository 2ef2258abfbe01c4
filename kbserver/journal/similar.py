"""Which lessons say something close to a new one: overlap of rare words, so that a repeat is seen before it is kept."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from kbserver.journal.lesson import Lesson

# Words of letters, digits and `_` keep mnemonics whole; scripts without blanks are compared by pairs of characters.
_WORD = re.compile(r"[^\W_]\w*")
_CJK = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_COMMON = frozenset(
    re.findall(
        r"\w+",
        "a an and are as at be by can for from has in is it its no not of on one or so than that the this to two was "
        "were when which with",
    )
)
TITLE_WEIGHT = 3.0
THRESHOLD = 0.2


def similar_lessons(
    title: str, body: str, lessons: Iterable[Lesson], *, limit: int = 3, threshold: float = THRESHOLD
) -> list[tuple[Lesson, float]]:
    """Return up to `limit` (lesson, score 0..1), best first, whose words overlap by at least `threshold`."""
    kept = list(lessons)
    vectors = [_weights(lesson.title, lesson.body) for lesson in kept]
    asked = _weights(title, body)
    spread: dict[str, int] = {}
    for vector in vectors:
        for word in vector:
            spread[word] = spread.get(word, 0) + 1
    rarity = {word: math.log(1 + (1 + len(kept)) / (1 + spread.get(word, 0))) for word in {*asked, *spread}}
    scored = [(lesson, round(_cosine(asked, vector, rarity), 3)) for lesson, vector in zip(kept, vectors, strict=True)]
    near = [pair for pair in scored if pair[1] >= threshold]
    return sorted(near, key=lambda pair: (-pair[1], pair[0].id))[:limit]


def words(text: str) -> list[str]:
    """Return the comparable words of a text, lower case; a run of CJK text gives its pairs of characters."""
    text = text.lower()
    pairs = [run[i : i + 2] for run in _CJK.findall(text) for i in range(max(1, len(run) - 1))]
    return [word for word in _WORD.findall(_CJK.sub(" ", text)) if word not in _COMMON] + pairs


def _weights(title: str, body: str) -> dict[str, float]:
    counts: dict[str, float] = {}
    for text, weight in ((title, TITLE_WEIGHT), (body, 1.0)):
        for word in words(text):
            counts[word] = counts.get(word, 0.0) + weight
    # A word said ten times is not ten times the subject.
    return {word: 1 + math.log(count) if count > 1 else count for word, count in counts.items()}


def _cosine(a: dict[str, float], b: dict[str, float], rarity: dict[str, float]) -> float:
    def length(vector: dict[str, float]) -> float:
        return math.sqrt(sum((value * rarity[word]) ** 2 for word, value in vector.items()))

    both = sum(value * b[word] * rarity[word] ** 2 for word, value in a.items() if word in b)
    norm = length(a) * length(b)
    return both / norm if norm else 0.0
