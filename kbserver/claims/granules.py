"""Blocks in which registers and LDS are given out: "VGPRs are allocated in blocks of 8"."""

from __future__ import annotations

import re
from collections.abc import Iterator

from kbserver.claims.hardware import judge_number
from kbserver.claims.model import Finding
from kbserver.claims.scope import Scopes
from kbserver.claims.sentences import Sentence
from kbserver.claims.world import World

_BLOCKS = re.compile(
    r"\b(?:in|into|to|with|by)(?: (?:a|an|the))? (?:blocks?|granules?|groups?|chunks?|units?|multiples?|steps?|"
    r"granularity|increments?)(?: size)?(?: of| is| =)? $"
)
_GIVEN_OUT = re.compile(
    r"\b(?:allocat\w*|handed|given out|come|comes|round\w*|reserved|assigned|granted|distributed|granularity)\b"
)
# Word -> what is given out, its fact, and the units in which its blocks are counted.
_WHAT = {
    "vgprs": ("VGPR granule", "registers.vgpr_granule", ("", "VGPR", "register")),
    "vgpr": ("VGPR granule", "registers.vgpr_granule", ("", "VGPR", "register")),
    "sgprs": ("SGPR granule", "registers.sgpr_granule", ("", "SGPR", "register")),
    "sgpr": ("SGPR granule", "registers.sgpr_granule", ("", "SGPR", "register")),
    "registers": ("VGPR granule", "registers.vgpr_granule", ("VGPR",)),
    "lds": ("LDS granule", "lds.allocation_granule_bytes", ("B",)),
}
REACH = 16


def check(sentence: Sentence, world: World, scopes: Scopes) -> Iterator[Finding]:
    """Yield a finding for every size of a block in which the sentence says that something is given out."""
    if sentence.cells:
        return
    words = sentence.words
    for quantity in sentence.quantities:
        before = words[max(0, quantity.start - REACH) : quantity.start]
        text = " ".join(before) + " "
        if not _BLOCKS.search(text) or not _GIVEN_OUT.search(text):
            continue
        # The nearest word that names something: AGPRs start at other multiples.
        what = next((word for word in reversed(before) if word in _WHAT or word.startswith(("agpr", "acc"))), "")
        if what not in _WHAT:
            continue
        name, key, dims = _WHAT[what]
        if quantity.dim not in dims or quantity.low != quantity.high or quantity.bound:
            continue
        scope = scopes.of(sentence, quantity.start, quantity.end)
        finding = judge_number(sentence, quantity, name, (key,), scope, world, quantity.start)
        if finding is not None:
            yield finding
