"""A content root with two shipped lessons, typed here, and an empty workspace."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kbserver.core.paths import Roots, use_roots

SHIPPED = {
    "lessons/0001-waves.md": (
        '---\nid: "0001"\ntitle: "A wavefront has 32 lanes on gfx950"\nstatus: refuted\narch: [gfx950]\n'
        'evidence: ["cite:guide, page 3"]\nnote: "It has 64."\ndate: "2026-01-02"\n---\n\nIt has 64 lanes.\n'
    ),
    "lessons/0002-barrier.md": (
        '---\nid: "0002"\ntitle: "s_barrier waits for memory"\nstatus: unverified\n'
        'date: "2026-01-03"\n---\n\nUnknown.\n'
    ),
    "gpu_arch/facts/sources.yaml": (
        "sources:\n  guide: {title: A vendor guide, url: https://example.org/guide, kind: vendor}\n"
        "  timings: {title: Published timings, kind: measured}\n  blog: {title: A blog, kind: secondary}\n"
    ),
    "gpu_arch/facts/products.yaml": (
        "targets:\n  gfx942: {generation: CDNA3}\n  gfx950: {generation: CDNA4}\n"
        "products:\n  MI355X: {arch: gfx950, marketing: AMD Instinct MI355X}\n"
    ),
    "index.yaml": "version: 1\n",
}


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Roots]:
    for name, text in SHIPPED.items():
        path = tmp_path / "content" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    with use_roots(Roots(tmp_path / "content", tmp_path / "workspace", "typed in the test")) as roots:
        yield roots
