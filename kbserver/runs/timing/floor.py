"""The physics floor: below this time no kernel can have computed the problem, whatever it says.

Bytes: each input read once, each output written once, at the product's peak bandwidth. Operations: at the product's
peak of the unit that the kernel uses. Peaks are facts with sources; a device without them has no floor here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kbserver.core.errors import KbError
from kbserver.core.targets import targets
from kbserver.devices.gpu_api import Identity
from kbserver.hardware.facts import load_facts
from kbserver.runs.problem import Problem
from kbserver.runs.references import Reference

TERA = 1e12
BEYOND_FMA = ("v_mfma", "v_smfmac", "v_dot")


@dataclass(frozen=True)
class Work:
    """What the problem needs at least; no flops: its reference does not say."""

    nbytes: int
    flops: int


@dataclass(frozen=True)
class Floor:
    """Milliseconds below which a time is impossible. `compute_ms` holds with warm caches too, `memory_ms` does not.

    None: not known for this device, and `reason` says why. `facts` are the refs that it rests on.
    """

    memory_ms: float | None
    compute_ms: float | None
    unit: str | None
    product: str | None
    facts: tuple[str, ...]
    reason: str | None

    @property
    def cold_ms(self) -> float | None:
        known = [value for value in (self.memory_ms, self.compute_ms) if value is not None]
        return max(known) if known else None


def work_of(problem: Problem, reference: Reference, sizes: Mapping[str, int]) -> Work:
    """Return the fewest bytes and the operations of a problem."""
    # 8-bit formats run faster than the peaks that the floor knows: no floor of operations for them.
    narrow = any(problem.dtype_of(name).bits == 8 for name in problem.tensors)
    return Work(problem.nbytes(sizes), 0 if narrow else reference.flops(problem, sizes))


def floor_of(identity: Identity, work: Work, assembly: str) -> Floor:
    """Return the floor of some work on a device. `assembly` tells which unit does the arithmetic."""
    if identity.kind != "hip":
        return _unknown(f"{identity.name} is no AMD product: kbserver has no sourced peaks of it")
    try:
        product = targets().product(identity.name)
    except KbError:
        return _unknown(f"{identity.name!r} is not in the product table")
    prefix = f"{identity.arch}.{product.name.lower().replace(' ', '')}"
    # Dot products do more than a multiply-add an instruction: the matrix peak bounds them as well.
    unit = "matrix_bf16" if any(name in assembly for name in BEYOND_FMA) else "vector_fp32"
    bandwidth, peak = f"{prefix}.memory.hbm_bandwidth", f"{prefix}.peak.{unit}"
    found = {name: _value(name) for name in (bandwidth, peak)}
    if not any(found.values()):
        return _unknown(f"no peaks of {product.name} among the facts", product.name)
    return Floor(
        memory_ms=1e3 * work.nbytes / (found[bandwidth] * TERA) if found[bandwidth] else None,
        compute_ms=1e3 * work.flops / (found[peak] * TERA) if found[peak] and work.flops else None,
        unit=unit,
        product=product.name,
        facts=tuple(f"fact:{name}" for name, value in found.items() if value),
        reason=None,
    )


def _value(fact_id: str) -> float | None:
    table = load_facts()
    value = table.get(fact_id).value if fact_id in table else None
    return float(value) if isinstance(value, (int, float)) else None


def _unknown(reason: str, product: str | None = None) -> Floor:
    return Floor(None, None, None, product, (), reason)
