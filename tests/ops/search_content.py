"""A complete small content root for tests of the knowledge operations: documents, facts, sources, targets."""

from __future__ import annotations

from pathlib import Path

from kbserver.core.paths import Roots
from tests.knowledge.content import make_content

FACTS = """\
facts:
  gfx950.lds.bytes_per_workgroup:
    name: LDS that one workgroup may use
    value: 163840
    unit: B
    evidence: vendor
    sources: [{id: vendor-isa, locator: table 3}]
  gfx942.lds.bytes_per_workgroup:
    name: LDS that one workgroup may use
    value: 65536
    unit: B
    evidence: vendor
    sources: [{id: vendor-isa, locator: table 3}]
"""
LDS = """\
# LDS

Shared memory of a workgroup.

## Size

On gfx950 a workgroup may use {fact:gfx950.lds.bytes_per_workgroup} [vendor-isa, table 3].

### Granule

Allocations are rounded up [lab-2024].

## Conflicts

Lanes of one phase conflict in a bank; see [the barrier](barriers.md#drain).
"""
BARRIERS = "# Barriers\n\nA barrier joins wavefronts.\n\n## Drain\n\nThe drain waits for vmcnt.\n"
INDEX = """\
version: 3
topics:
- id: memory
  title: Memory
  summary: LDS and its banks.
  documents: [gpu_arch/lds.md]
- id: waits
  title: Waits
  summary: Barriers.
  documents: [gpu_arch/barriers.md]
reading_paths:
- id: first
  title: Begin here
  steps: ["gpu_arch/lds.md#size", "fact:gfx950.lds.bytes_per_workgroup"]
synonyms:
- [LDS, shared memory]
- [wavefront, warp]
"""


def make_roots(folder: Path, **documents: str) -> Roots:
    """Write the content root; further documents by stem are named by a topic of their own."""
    named = {"lds.md": LDS, "barriers.md": BARRIERS, **{f"{stem}.md": text for stem, text in documents.items()}}
    extra = "".join(
        f"- {{id: {stem}, title: {stem}, summary: s, documents: [gpu_arch/{stem}.md]}}\n" for stem in documents
    )
    roots = make_content(folder, dict(named), INDEX.replace("reading_paths:", f"{extra}reading_paths:"))
    (folder / "gpu_arch" / "facts" / "lds.yaml").write_text(FACTS, "utf-8")
    return roots
