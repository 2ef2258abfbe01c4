"""Whether a query is about what is indexed at all: otherwise the best match of a stray word would pass for an answer.

A word is a topic when entries are about it: their titles, tags or synonyms hold it, or it is an identifier. A query
that uses a word of our field alone, or an identifier that is a topic here, is about us. Any other must be held by one
leading hit, by words and by topics, each as a share of the query's idf: the shorter the query, the more of it. In three
words nearly all must be there; of eleven some are, and that is no chance.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import StrEnum

from kbserver.knowledge.query import Query, Word
from kbserver.knowledge.storage import Units
from kbserver.knowledge.terms import Terms
from kbserver.knowledge.tokens import stem

ENOUGH = 1.75
PER_WORD = 0.2
"""Share as topics plus share as words plus PER_WORD for each word must be at least ENOUGH. Fitted to the opened
questions of tests/retrieval, against queries on other subjects."""
LEADING = 3
MIN_REPAIRED = 6
"""A shorter word that was repaired may as well be a word of its own: bread is no misspelt read. So may one that lost
or gained two letters."""
_FIELD = """
cdna rocm hip hipcc hipblas hipblaslt hipcub hipfft hipify hiprand hiprtc hipsolver hipsparse hipsparselt miopen rccl
rocblas rocfft rocgdb rocm-smi rocminfo rocprim rocprof rocprofv3 rocprof-compute rocrand rocshmem rocsolver rocsparse
rocthrust rocwmma omniperf omnitrace kokkos aiter ck composable tensile tilelang triton gluon hsa cuda cublas cudnn
cuobjdump cutlass nccl nsight nvcc nvlink nvprof ptx ptxas thrust ace agpr dpp execz expcnt gemm gemv isa lds lgkmcnt
mfma salu sgpr smfmac tcc tcp valu vgpr vmcnt xcc xcd xgmi xnack cta lane simd warp wave wavefront workgroup threadidx
blockdim accumulator asm atomic ballot barrier coalesce coalescing conv convolution denormal divergence fence fft fma
halo hbm histogram im2col intrinsic kernel layernorm matmul moe occupancy opcode permute popcount predication
preemption prefetch register roofline scan shuffle softmax spill stencil swizzle texture tile tiling transpose ulp
unroll unrolling winograd attention reduction uncoalesced gcd cu cus cpx dpx qpx spx nps p2p profiler profiling
ckprofiler tunableop chiplet writeback numa
=fp4 =fp8 =bf16 =fp16
"""
FIELD_WORDS = frozenset(map(stem, _FIELD.split()))
"""Words of our field. Who uses one asks about it, whatever else the query says."""
_OWN = "amd amdgcn amdgpu instinct cdna rocm hip hipcc miopen rocprof hipblaslt rocblas lds mfma"
OWN_WORDS = frozenset(_OWN.split())
_COUNTERPART = """
port equivalent counterpart replace replacement instead migrate convert translate hipify analogue compared versus vs
become slower faster works worked hangs fails breaks behaves differs different same
"""
ASKS_FOR_COUNTERPART = frozenset(map(stem, _COUNTERPART.split()))
_COUNTER = re.compile(r"(?:cpc|cpf|grbm|spi|sq|sqc|ta|tcc|tcp|td)_[a-z0-9_]+")
"""A counter of one of the blocks, whether or not it exists: `TA_BUSY` stands for `TA_TA_BUSY`."""
_MNEMONIC = re.compile(r"(?:s|v|ds)_[a-z]\w*")
"""How instructions begin: of one without its type (`s_quadmask`) the rest says what it is."""
_LONG = re.compile(r"\w{3,}")
_MIXED = re.compile(r"(?=.*\d)[a-z][a-z0-9]{4,}")
"""A part of a name that says of what field it is: `scalef32`, not `v2` or `args`."""


@dataclass(frozen=True)
class Weighed:
    """A word with the idf it counts, the numbers of its terms, and number and idf of those that are topics."""

    idf: float
    numbers: tuple[int, ...]
    topics: tuple[tuple[int, float], ...]


class Answer(StrEnum):
    """Why a query has hits, or none."""

    FOUND = "found"
    NO_MATCH = "no match"
    UNRELATED = "unrelated"
    OTHER_VENDOR = "other vendor"
    OTHER_TARGET = "other target"


def names_other_vendor(query: Query) -> bool:
    """True when a query is about another vendor's product only: it names none of ours, asks for no counterpart, and
    does not merely compare.
    """
    if not query.elsewhere or query.archs or query.compared:
        return False
    return not any(
        word.text in ASKS_FOR_COUNTERPART or not OWN_WORDS.isdisjoint((word.text, *word.terms)) for word in query.words
    )


def is_answerable(query: Query, terms: Terms, leading: Iterable[int], units: Callable[[int], Units]) -> bool:
    """True when the query is about what is indexed. `leading`: the first hits."""
    if any(_is_ours(word, terms) for word in query.words):
        return True
    texts = {word.text for word in query.words}
    if OWN_WORDS & texts and (query.elsewhere or ASKS_FOR_COUNTERPART & texts):
        return True
    words = [word for word in (_weighed(word, terms) for word in query.words) if word.idf]
    if len(words) < 2:
        return all(word.numbers for word in words)  # nothing else could say more of what is meant
    if (query.archs or OWN_WORDS & texts) and any(word.topics for word in words):
        return True
    whole = sum(word.idf for word in words)
    for entry in leading:
        as_words, as_topics = _held(words, units(entry))
        if as_words == whole or (as_words + as_topics) / whole + PER_WORD * len(words) >= ENOUGH:
            return True
    return False


def _is_ours(word: Word, terms: Terms) -> bool:
    """True for a word of the field, or one written as code (`num_warps`) that entries are about."""
    if not FIELD_WORDS.isdisjoint(word.terms):
        return True
    if "_" not in word.text:
        return False
    if _COUNTER.fullmatch(word.text):
        return True
    whole = terms.get(word.text)
    # A name that nothing holds may be cut or new; a part such as scalef32 still says of what it is one.
    shape = _LONG if _MNEMONIC.fullmatch(word.text) else _MIXED
    parts = [word.text] if whole else [part for part in word.terms if shape.fullmatch(part)]
    return any(term.topic for term in map(terms.get, parts) if term is not None)


def _weighed(word: Word, terms: Terms) -> Weighed:
    if word.target:  # says for what, not about what
        return Weighed(0.0, (), ())
    if word.repaired and (len(word.text) < MIN_REPAIRED or abs(len(word.text) - len(word.repaired)) > 1):
        return Weighed(terms.idf_of_unknown, (), ())
    found = [term for term in map(terms.get, word.terms) if term is not None]
    if not found:
        # A number that no entry has (a size in an error message) says nothing about the topic.
        return Weighed(0.0 if word.text.isdigit() else terms.idf_of_unknown, (), ())
    topics = tuple((term.number, term.idf) for term in found if term.topic)
    return Weighed(max(term.idf for term in found), tuple(term.number for term in found), topics)


def _held(words: Iterable[Weighed], units: Units) -> tuple[float, float]:
    """Return the idf of the words that an entry holds, and of those that it holds as topics."""
    held = frozenset().union(*units)
    as_words = sum(word.idf for word in words if not held.isdisjoint(word.numbers))
    as_topics = sum(max((idf for number, idf in word.topics if number in held), default=0.0) for word in words)
    return as_words, as_topics
