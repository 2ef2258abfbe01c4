"""Texts that are made to hurt: they end, and they make no claims that they do not state."""

from __future__ import annotations

import random

import pytest

from kbserver.claims.context import MAX_LOOKUPS
from kbserver.claims.pipeline import MAX_CLAIMS
from kbserver.ops.claims import check

SIZE = 120_000
LETTERS = "abc|`*_[](){}<>~#-=.:;,0123456789 \nLDSKBx/"


def repeated(piece: str) -> str:
    return piece * (SIZE // len(piece))


CASES = {
    name: repeated(piece)
    for name, piece in {
        "dots": ".",
        "dashes": "-",
        "dashes and a letter": "-" * 999 + "x\n",
        "pipes": "|",
        "stars": "*",
        "backticks": "`",
        "open brackets": "[",
        "open citations": "[a-b, ",
        "quotations": ">",
        "open brackets of arithmetic": "(1+",
        "digits": "9",
        "grouped digits": "1,",
        "strikes": "~~",
        "comments": "<!--",
        "hashes": "###### a # # #\n",
        "paths": "gpu_arch/",
        "unicode": "тест 検索 ✓ 🚀 ",
        "bidirectional": "\u202eLDS 64 KB ",
        "nested quotations": "> " * 60 + "LDS\n",
        "tables": "| a | 64 KB LDS | 86 | 5 |\n|---|---|---|---|\n",
    }.items()
}
CASES["noise"] = "".join(random.Random(1).choices(LETTERS, k=SIZE))
CASES["binary"] = random.Random(2).randbytes(SIZE).decode("latin-1")
CASES["deep lists"] = "".join("  " * (n % 50) + "- item\n" for n in range(3000))


@pytest.mark.parametrize("name", CASES)
def test_a_hostile_text_ends_and_contradicts_nothing(name: str) -> None:
    assert [one.finding for one in check(CASES[name]).claims if one.verdict == "contradicted"] == []


def test_a_claim_that_is_repeated_is_reported_once() -> None:
    assert check(repeated("MI350X has 64 KB of LDS. ")).total == 1


def test_claims_are_capped_with_the_wrong_ones_kept_and_all_counted() -> None:
    right = " ".join(f"{n} x 2 = {2 * n}." for n in range(10, 900))
    checked = check(f"{right} MI350X has 64 KB of LDS per CU.")
    assert len(checked.claims) == MAX_CLAIMS
    assert (checked.total, checked.counts["contradicted"]) == (891, 1)
    assert checked.claims[-1].verdict == "contradicted"


def test_many_refs_and_many_unknown_instructions_end() -> None:
    refs = " ".join(f"lesson:{n:06d}" for n in range(2000))
    names = ". ".join(f"On gfx950 we use v_a{n}_f32" for n in range(1500))
    assert check(refs).total == MAX_LOOKUPS
    assert check(names).total == 1500  # only their replacements are looked up, 300 of them
