"""Whether a query is about what is indexed at all: otherwise the best match of a stray word would pass for an answer.

A word is a topic when entries are about it: their titles, tags or synonyms hold it, or it is an identifier. Two shares
of the query's idf decide. Of its words that are topics or are held by no entry, how much are topics? And of all its
words, how much does a leading hit hold as topics? Only when their product is small is there no answer: a long question
may have many words of no use, and a short one a single word that is not in the index. Three topics in one hit are no
chance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from kbserver.knowledge.query import Query, Word
from kbserver.knowledge.storage import Units
from kbserver.knowledge.terms import Terms
from kbserver.knowledge.tokens import stem

MIN_SHARE = 0.15
"""Of the questions in tests/retrieval the lowest has 0.22; of queries about something else most have less than 0.1."""
ENOUGH_TOPICS = 3
LEADING = 3
MIN_REPAIRED = 6
"""A shorter word that was repaired may as well be a word of its own: bread is no misspelt read. So may one that lost
or gained two letters."""
_FIELD = """
cdna rocm hip hipcc hipblaslt hipify miopen rocblas rocgdb rocm-smi rocminfo rocprof rocprofv3 rocprof-compute omniperf
agpr lds mfma salu sgpr smfmac valu vgpr wavefront workgroup xcc xcd
"""
FIELD_WORDS = frozenset(map(stem, _FIELD.split()))
"""Words of our field alone. Who uses one asks about it, whatever else the query says."""
_OWN = "amd instinct cdna rocm hip hipcc miopen rocprof hipblaslt rocblas lds mfma"
OWN_WORDS = frozenset(_OWN.split())
_COUNTERPART = """
port equivalent counterpart replace replacement instead migrate convert translate hipify analogue compared versus vs
slower faster
"""
ASKS_FOR_COUNTERPART = frozenset(map(stem, _COUNTERPART.split()))


@dataclass(frozen=True)
class Weighed:
    """A word with the idf it counts; known: an entry has it; topics: numbers and idf of those of its terms."""

    idf: float
    known: bool
    topics: tuple[tuple[int, float], ...]

    @property
    def topic_idf(self) -> float:
        return max((idf for _, idf in self.topics), default=0.0)


class Answer(StrEnum):
    """Why a query has hits, or none."""

    FOUND = "found"
    NO_MATCH = "no match"
    UNRELATED = "unrelated"
    OTHER_VENDOR = "other vendor"
    OTHER_TARGET = "other target"


def names_other_vendor(query: Query) -> bool:
    """True when a query is about another vendor's product only: it names none of ours and asks for no counterpart."""
    if not query.elsewhere or query.archs:
        return False
    return not any(word.text in OWN_WORDS or word.text in ASKS_FOR_COUNTERPART for word in query.words)


def is_answerable(query: Query, terms: Terms, leading: Iterable[int], units: Callable[[int], Units]) -> bool:
    """True when the query is about what is indexed. `leading`: the first hits."""
    if any(term in FIELD_WORDS for word in query.words for term in word.terms):
        return True
    words = [_weighed(word, terms) for word in query.words]
    topics = sum(word.topic_idf for word in words)
    unknown = sum(word.idf for word in words if not word.known)
    if not unknown or (query.archs and topics):
        return True
    found = [_held(words, units(entry)) for entry in leading]
    if any(len(idf) >= ENOUGH_TOPICS for idf in found):
        return True
    held = max(map(sum, found), default=0.0)
    return topics * held >= MIN_SHARE * (topics + unknown) * sum(word.idf for word in words)


def _weighed(word: Word, terms: Terms) -> Weighed:
    if word.target:  # says for what, not about what
        return Weighed(0.0, True, ())
    if word.repaired and (len(word.text) < MIN_REPAIRED or abs(len(word.text) - len(word.repaired)) > 1):
        return Weighed(terms.idf_of_unknown, False, ())
    found = [term for term in map(terms.get, word.terms) if term is not None]
    if not found:
        # A number that no entry has (a size in an error message) says nothing about the topic.
        return Weighed(0.0, True, ()) if word.text.isdigit() else Weighed(terms.idf_of_unknown, False, ())
    topics = tuple((term.number, term.idf) for term in found if term.topic)
    return Weighed(max(term.idf for term in found), True, topics)


def _held(words: Iterable[Weighed], units: Units) -> list[float]:
    """Return the idf of each word that an entry holds as a topic."""
    held = frozenset().union(*units)
    idf = (max((idf for number, idf in word.topics if number in held), default=0.0) for word in words)
    return [one for one in idf if one]
