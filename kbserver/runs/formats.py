"""Names of number formats and their widths; what they do with numbers is in `runs.dtypes`, which needs NumPy."""

from __future__ import annotations

from kbserver.core.errors import UnknownName

BITS = {
    "bf16": 16,
    "f16": 16,
    "f32": 32,
    "f64": 64,
    "fp8_e4m3": 8,
    "fp8_e5m2": 8,
    "fp8_e4m3_fnuz": 8,
    "fp8_e5m2_fnuz": 8,
    **{f"{letter}{bits}": bits for bits in (8, 16, 32, 64) for letter in "iu"},
}
ALIASES = {"fp16": "f16", "fp32": "f32", "fp64": "f64", "float": "f32", "double": "f64", "bfloat16": "bf16"}


def canonical(name: str) -> str:
    """Return the name under which a format is known. Raises UnknownName."""
    name = ALIASES.get(name, name)
    if name not in BITS:
        raise UnknownName("number format", name, BITS, where="dtype")
    return name
