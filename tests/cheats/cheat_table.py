"""The kernels of `cheats.yaml` and `honest.yaml`, as data and as sources."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import yaml

HERE = Path(__file__).resolve().parent
KERNELS = HERE.parents[1] / "kernels"


@dataclass(frozen=True)
class Fixture:
    """A changed kernel and what must become of it."""

    name: str
    kernel: str
    changes: tuple[tuple[str, str], ...]
    mode: int = 0
    emulator: tuple[str, ...] = ()
    caught_by: str = ""
    state: bool = False

    def source(self) -> str:
        """Return the changed kernel. Each change must apply at exactly one place."""
        text = (KERNELS / f"{self.kernel}.hip").read_text("utf-8")
        for search, replace in self.changes:
            assert text.count(search) == 1, f"{self.name}: {search!r} stands {text.count(search)} times"
            text = text.replace(search, replace)
        return text

    def write(self, folder: Path) -> Path:
        """Write the source to a folder; returns the file."""
        path = folder / f"{self.name}.hip"
        path.write_text(self.source(), "utf-8")
        return path


def fixtures(name: str) -> list[Fixture]:
    """Return the kernels of `cheats` or `honest`."""
    entries = yaml.safe_load((HERE / f"{name}.yaml").read_text("utf-8"))
    for entry in entries:
        entry["changes"] = tuple((search, replace) for search, replace in entry["changes"])
        entry["emulator"] = tuple(entry.get("emulator", ()))
    return [Fixture(**entry) for entry in entries]
