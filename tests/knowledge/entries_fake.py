"""Entries and indexes for tests of search."""

from __future__ import annotations

from collections.abc import Sequence

from kbserver.core.model import SourceRef
from kbserver.knowledge.entries import Corpus, Entry
from kbserver.knowledge.index import SearchIndex, build_index
from kbserver.knowledge.query import Names
from kbserver.knowledge.storage import Stored

GROUPS = [
    ["LDS", "shared memory", "smem"],
    ["wavefront", "warp"],
    ["gfx942", "CDNA3", "MI300X"],
    ["gfx950", "CDNA4", "MI355X"],
    ["NVIDIA", "H100", "sm_90"],
]
NAMES = Names({"=gfx942": "gfx942", "=gfx950": "gfx950"}, {"=nvidia": "NVIDIA"})
SOURCE = SourceRef(id="vendor-isa", title="A vendor manual", locator="table 3")


def entry(ref: str, title: str, text: str, **more: object) -> Entry:
    return Entry(ref=ref, title=title, kind=str(more.pop("kind", "doc")), text=text, **more)  # type: ignore[arg-type]


def make_index(entries: Sequence[Entry], problems: Sequence[str] = ()) -> SearchIndex:
    return SearchIndex(Stored(build_index(Corpus(entries, problems), GROUPS, NAMES, "key"), "key"))


SMALL = (
    entry("a.md#size", "LDS size", "A workgroup may use 160 KiB.", arch=("gfx950",), group="a.md", sources=(SOURCE,)),
    entry("b.md#size", "LDS size", "A workgroup may use 64 KiB.", arch=("gfx942",), group="b.md"),
    entry("c.md#waves", "Wavefronts", "A wavefront has 64 lanes.", group="c.md"),
    entry("fact:x", "Banks", "SQ_LDS_BANK_CONFLICT counts cycles of conflicts.", kind="fact"),
    entry(
        "lesson:0001",
        "Padding helped",
        "Padding removed bank conflicts in v_mfma_f32_16x16x32_bf16 code.",
        kind="lesson",
    ),
)
