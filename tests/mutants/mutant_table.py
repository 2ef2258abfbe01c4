"""The broken kernels of `mutants.yaml`, as data and as sources."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Mutant:
    """One small change of a kernel, and the checks that must find it. right: its results are right all the same."""

    name: str
    kernel: str
    search: str
    replace: str
    expect: tuple[str, ...]
    right: bool = False

    def source(self) -> str:
        """Return the broken kernel. The change must apply at exactly one place."""
        text = (ROOT / "kernels" / f"{self.kernel}.hip").read_text("utf-8")
        assert text.count(self.search) == 1, f"{self.name}: {text.count(self.search)} places"
        changed = text.replace(self.search, self.replace)
        assert changed != text
        return changed


def mutants() -> list[Mutant]:
    entries = yaml.safe_load((Path(__file__).parent / "mutants.yaml").read_text("utf-8"))
    return [Mutant(**{**entry, "expect": tuple(entry["expect"])}) for entry in entries]
