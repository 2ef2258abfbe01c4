"""Targets and products: which name means which gfx target, and how that was decided.

The table is `gpu_arch/facts/products.yaml`. A name that is not in it is an error with near names: nothing falls back
to another target.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from kbserver.core.errors import ContentError, UnknownName, UsageError
from kbserver.core.paths import current_roots
from kbserver.core.store import version_of
from kbserver.core.yamlio import load_yaml

PRODUCTS_FILE = "gpu_arch/facts/products.yaml"
_FEATURE = re.compile(r"(?:sramecc|xnack)[+-]")
"""Features that LLVM lets a target id name (AMDGPUUsage, Target ID)."""


@dataclass(frozen=True)
class Product:
    """One board as sold: its name, its gfx target and the PCI device ids (chip ids) it reports."""

    name: str
    arch: str
    chip_ids: tuple[int, ...]
    virtual_chip_ids: tuple[int, ...]
    marketing: str


@dataclass(frozen=True)
class Targets:
    """The target table: architectures, their generation names, and products."""

    generations: dict[str, str]
    """gfx target -> generation name, for example gfx950 -> CDNA4."""
    products: dict[str, Product]
    aliases: dict[str, str]
    """lower-case name -> gfx target."""

    @property
    def archs(self) -> list[str]:
        return list(self.generations)

    def resolve(self, name: str) -> tuple[str, str]:
        """Return (gfx target, how that was decided) for a target, generation or product name.

        Features behind a name (`gfx942:xnack-`) say how to build for the target: `features_of` returns them. Raises
        UnknownName with near names, UsageError for a feature that no target has.
        """
        features_of(name)
        key = name.strip().lower().removeprefix("amdgcn-amd-amdhsa--").split(":")[0]
        key = key.removeprefix("amd ").removeprefix("instinct ").replace(" ", "")
        arch = self.aliases.get(key)
        if arch is None:
            raise UnknownName("arch", name, [*self.generations, *self.products, *self.generations.values()])
        return arch, "given" if name.strip() == arch else f"{name.strip()} is {arch}"

    def product(self, name: str) -> Product:
        """Return the product of this name, whatever its case. Raises UnknownName."""
        key = name.strip().lower().removeprefix("amd ").removeprefix("instinct ").replace(" ", "")
        for product in self.products.values():
            if product.name.lower().replace(" ", "") == key:
                return product
        raise UnknownName("product", name, self.products)

    def by_chip_id(self, chip_id: int) -> tuple[Product, bool] | None:
        """Return (product, is a virtual function) of a PCI device id, or None when the table lacks it."""
        for product in self.products.values():
            if chip_id in product.chip_ids:
                return product, False
            if chip_id in product.virtual_chip_ids:
                return product, True
        return None


def features_of(name: str) -> str:
    """Return the features of a target id in LLVM's order: ":sramecc+:xnack-", "" without any. Raises UsageError."""
    features = sorted({part.strip().lower() for part in name.split(":")[1:]})
    for feature in features:
        if not _FEATURE.fullmatch(feature):
            raise UsageError(
                f"no feature {feature[:40]!r} of a target", where="arch", hint="sramecc+, sramecc-, xnack+ or xnack-"
            )
    if len({feature[:-1] for feature in features}) < len(features):
        raise UsageError("a feature cannot be both on and off", where="arch", hint=f"one of {', '.join(features)}")
    return "".join(f":{feature}" for feature in features)


def targets() -> Targets:
    """Return the target table of the content root in force, as the file has it now."""
    path = current_roots().content / PRODUCTS_FILE
    return _load(path, version_of(path))


@lru_cache(maxsize=8)
def _load(path: Path, version: tuple[int, int, int]) -> Targets:
    data = load_yaml(path)
    try:
        generations = {arch: entry["generation"] for arch, entry in data["targets"].items()}
        aliases = {arch: arch for arch in generations}
        for arch, entry in data["targets"].items():
            for alias in (entry["generation"], *entry.get("aliases", ())):
                aliases[alias.lower().replace(" ", "")] = arch
        products = {}
        for name, entry in data["products"].items():
            product = Product(
                name=name,
                arch=entry["arch"],
                chip_ids=tuple(entry.get("chip_ids", ())),
                virtual_chip_ids=tuple(entry.get("virtual_chip_ids", ())),
                marketing=entry["marketing"],
            )
            if product.arch not in generations:
                raise ContentError(f"product {name} names an unknown target {product.arch}", where=str(path))
            products[name] = product
            aliases[name.lower().replace(" ", "")] = product.arch
            for alias in entry.get("aliases", ()):
                aliases[alias.lower().replace(" ", "")] = product.arch
    except (KeyError, TypeError, AttributeError) as error:
        raise ContentError(f"products table is malformed: {error!r}", where=str(path)) from None
    return Targets(generations, products, aliases)
