"""The labelled write-ups as texts: which verdicts the checker gives each sentence, in its place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kbserver.core.yamlio import load_yaml
from kbserver.ops.claims import check

WRITE_UPS: dict[str, list[dict[str, Any]]] = load_yaml(Path(__file__).parent / "write_ups.yaml")


@dataclass(frozen=True)
class Judged:
    """A sentence of a write-up, its label, and the verdicts that it got with their findings."""

    name: str
    expect: str
    text: str
    found: tuple[tuple[str, str], ...]

    @property
    def verdicts(self) -> set[str]:
        return {verdict for verdict, _ in self.found}

    @property
    def as_expected(self) -> bool:
        if self.expect == "none":
            return "contradicted" not in self.verdicts
        return self.expect in self.verdicts and (self.expect == "contradicted" or "contradicted" not in self.verdicts)


def judged(part: str) -> Iterator[Judged]:
    """Yield every sentence of a part with the verdicts of its line, the write-up checked as one text."""
    for entry in WRITE_UPS[part]:
        lines = [sentence.get("text", "") for sentence in entry["sentences"]]
        head = [f"# {entry['heading']}", ""] if entry["heading"] else []
        found: dict[int, list[tuple[str, str]]] = {}
        for claim in check("\n".join((*head, *lines))).claims:
            found.setdefault(claim.line, []).append((claim.verdict, claim.finding))
        for number, sentence in enumerate(entry["sentences"], start=len(head) + 1):
            if sentence.get("text"):
                yield Judged(entry["name"], sentence["expect"], sentence["text"], tuple(found.get(number, ())))
