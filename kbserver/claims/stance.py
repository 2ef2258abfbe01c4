"""Does a sentence assert what it says, deny it, report it, or ask? Only what is asserted can be contradicted.

Cues are words, looked up in tables; the more general a cue, the nearer it must stand. In doubt a statement counts as
reported: an unreported wrong claim costs less than a true sentence called false.
"""

from __future__ import annotations

import re

from kbserver.claims.clauses import CONSEQUENCE, CONTRAST, REASON, clause, opens_with
from kbserver.claims.sentences import Sentence

ASSERTED, DENIED, REPORTED = "asserted", "denied", "reported"

# Anywhere in the sentence: somebody's opinion, or one that was given up.
_REPORTING = re.compile(
    r"\b(?:wrong(?:ly)?|false|falsely|incorrect(?:ly)?|untrue|myth|mistak\w+|misread\w*|misconception|refut\w+|"
    r"retract\w+|debunk\w*|contradict\w*|contested|disput\w+|doubtful|unverified|unsupported|outdated|stale|obsolete|"
    r"claim(?:s|ed)?|believ\w+|assum(?:e|es|ed|ing|ption|ptions)|suppos(?:e|es|ed)|guess\w*|thought|pretend\w*|"
    r"hypothetic\w*|imagine|confus\w+|trap|pitfall|copied|correct(?:ed|s)|correction|revised|"
    r"expected|predict\w*|estimate[sd]?|project(?:ed|ion)|if|unless|whether|"
    r"no longer|used to|formerly|previously said|mis-?label\w*|mislead\w*|"
    r"understat\w+|overstat\w+|under-?report\w*|disagree\w*|so-called|allegedly|supposedly|"
    r"although (?:the |its )?(?:spec\w*|data sheet|datasheet|manual) (?:says?|states?|gives?|lists?))\b"
)
_ALTERNATIVE = re.compile(r"\b(?:instead of|rather than)\b")
"""Right before the number: what was not taken."""
# In the same clause: a wish, a possibility. "LDS is 64 KB, so a larger tile could not fit" states one.
_MODAL = re.compile(r"\b(?:would|should|could|might|may\s+be|otherwise)\b")
# The clause after the number of which a modal says nothing about the number.
_AFTER = frozenset((*CONSEQUENCE, *REASON, *CONTRAST))
# Before the number, near it.
_DENIALS = frozenset(("not", "never", "n't", "isn", "aren", "doesn", "don", "wasn", "cannot", "neither", "nor", "no"))
_NEAR = 4
_LABELS = re.compile(
    r"^\W*(?:believed(?: first)?|claim(?:ed)?|myth|trap|wrong|false|popular belief|misconception|old|before|they say|"
    r"rumou?r|hearsay|quote|question|q|hypothesis|assumption|idea|plan|todo|expectation)\b\W{0,3}(?:[.:]|$)",
    re.I,
)
_HEADINGS = re.compile(
    r"\b(?:myths?|traps?|wrong|misconceptions?|refuted|retracted|contested|mistakes?|pitfalls?|errors of|confusions?|"
    r"hypothes[ei]s|what is not true|doubtful|open questions?|ideas?)\b",
    re.I,
)


def stance(sentence: Sentence, start: int, end: int, denial_counts: bool = True) -> str:
    """Return how the sentence stands to what it says at tokens [start, end). `denial_counts`: false where the denial
    is part of what is said ("cannot use more than 64 KB").
    """
    words = sentence.words
    near = words[max(0, start - _NEAR) : start]
    if sentence.block.quoted or reported_block(sentence) or _in_quotes(words, start):
        return REPORTED
    if denial_counts and any(word in _DENIALS for word in near):
        return DENIED
    if (words and words[-1] == "?") or _REPORTING.search(sentence.low):
        return REPORTED
    if _ALTERNATIVE.search(" ".join(words[max(0, start - 6) : start])):
        return REPORTED
    return REPORTED if _MODAL.search(sentence.low) and _MODAL.search(_governed(words, start, end)) else ASSERTED


def _governed(words: list[str], start: int, end: int) -> str:
    """Return the sentence without the consequences and reasons that follow the statement."""
    low, high = clause(words, start, end)
    if opens_with(words, high) in _AFTER:
        words = words[:high]
    apart = opens_with(words, low) in ("because", "since", "but") or words[low - 1 : low] == ["and"]
    return " ".join(words[low:] if apart else words)


def reported_block(sentence: Sentence) -> bool:
    """True when the paragraph or section says of itself that it reports: "Believed.", "## Myths"."""
    first = sentence.before[0] if sentence.before else sentence
    if _LABELS.match(first.text) or _LABELS.match(sentence.text):
        return True
    return any(_HEADINGS.search(title) for title in sentence.block.headings)


def _in_quotes(words: list[str], start: int) -> bool:
    return words[:start].count('"') % 2 == 1
