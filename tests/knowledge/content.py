"""A small content root for tests: documents, sources, facts and targets written by the test itself."""

from __future__ import annotations

from pathlib import Path

from kbserver.core.errors import UnknownName
from kbserver.core.model import SourceRef
from kbserver.core.paths import Roots
from kbserver.knowledge.library import Library
from kbserver.knowledge.prose import Rendered

SOURCES = """\
sources:
  vendor-isa: {title: A vendor manual, url: https://example.org/isa, kind: vendor}
  lab-2024: {title: A measurement, kind: measured}
"""
PRODUCTS = """\
targets:
  gfx942: {generation: CDNA3, aliases: [MI300]}
  gfx950: {generation: CDNA4, aliases: [MI350]}
products:
  MI300X: {arch: gfx942, marketing: AMD Instinct MI300X}
  MI355X: {arch: gfx950, marketing: AMD Instinct MI355X}
"""


class OneFact:
    """Knows a single fact: 160 KiB of LDS, with its source."""

    def render(self, ref: str) -> Rendered:
        if ref != "fact:gfx950.lds.bytes_per_workgroup":
            raise UnknownName("fact", ref.removeprefix("fact:"), ["gfx950.lds.bytes_per_workgroup"])
        return Rendered("160 KiB", (SourceRef(id="vendor-isa", title="A vendor manual", locator="table 3"),))


def make_content(folder: Path, documents: dict[str, str | bytes], index: str | None = None) -> Roots:
    """Write a content root. `documents` maps names under gpu_arch/ to text; by default one topic names them all."""
    facts = folder / "gpu_arch" / "facts"
    facts.mkdir(parents=True, exist_ok=True)
    (facts / "sources.yaml").write_text(SOURCES, "utf-8")
    (facts / "products.yaml").write_text(PRODUCTS, "utf-8")
    for name, text in documents.items():
        path = folder / "gpu_arch" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    (folder / "index.yaml").write_text(index or default_index(documents), "utf-8")
    return Roots(folder, folder / ".kb", "made by a test")


def default_index(documents: dict[str, str | bytes]) -> str:
    listed = "".join(f"\n  - gpu_arch/{name}" for name in documents) or " []"
    return (
        "version: 3\ntopics:\n- id: all\n  title: All\n  summary: Everything.\n"
        f"  documents:{listed}\nsynonyms:\n- [LDS, shared memory]\n- [wavefront, warp]\n"
    )


def make_library(roots: Roots) -> Library:
    return Library(roots.content, OneFact)
