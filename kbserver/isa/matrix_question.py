"""A question about a matrix layout in an engineer's words: "which lane holds C[5][9] of 16x16x32 bf16?"."""

from __future__ import annotations

import re

from kbserver.core.errors import UsageError
from kbserver.isa.table import instructions

MAX_LENGTH = 300
_ELEMENT = re.compile(r"(?<![\w\[])[ABCDabcd]\s*(?:\[\s*\d{1,5}\s*\]\s*){2,3}")
_PLACE = re.compile(
    r"(?:(?<!\w)[ABCDabcd]\s+)?(?<!\w)lane\s*[=:]?\s*\d{1,5}[\s,;]+(?:and\s+)?(?:vgpr|reg|register|v)\s*[=:]?\s*\d{1,5}",
    re.IGNORECASE,
)
_NAME = re.compile(r"\bv_(?:s?mfma|smfmac)\w+", re.IGNORECASE)
_SHAPE = re.compile(r"(?<!\d)(\d{1,3})\s*[xX]\s*(\d{1,3})\s*[xX]\s*(\d{1,3})(?!\d)")
_TYPES = {"bf16": "bf16", "bfloat16": "bf16", "f16": "f16", "fp16": "f16", "half": "f16", "f32": "f32", "fp32": "f32",
          "xf32": "xf32", "f64": "f64", "fp64": "f64", "double": "f64", "i8": "i8", "int8": "i8", "fp8": "fp8",
          "bf8": "bf8", "f8f6f4": "f8f6f4"}  # fmt: skip
_MATRIX = re.compile(r"v_(?P<family>smfmac|mfma_scale|mfma)_(?:f32|f64|i32)_(?P<m>\d+)x(?P<n>\d+)x(?P<k>\d+)"
                     r"(?:_\d+b)?_?(?P<type>f8f6f4|xf32|bf16|f16|f32|f64|fp8|bf8|i8)")  # fmt: skip


def read_matrix_question(text: str, arch: str | None = None) -> tuple[str, str] | None:
    """Return (mnemonic, element) when a text asks where an element of a matrix instruction lies, else None.

    The instruction is named, or given by shape and data type; a dense one is meant unless the text says sparse. With
    `arch`, those of that target come before others. Raises UsageError that lists the candidates when shape and type
    leave several or none.
    """
    if len(text) > MAX_LENGTH or " " not in text.strip():
        return None
    asked = _ELEMENT.search(text) or _PLACE.search(text)
    if asked is None:
        return None
    element = re.sub(r"\band\s+", "", asked[0].strip(), flags=re.IGNORECASE)
    named = _NAME.search(text)
    if named:
        return named[0].lower(), element
    shape = _SHAPE.search(text)
    if shape is None:
        return None
    words = re.findall(r"[a-z0-9]+", text.lower())
    kinds = list(dict.fromkeys(_TYPES[word] for word in words if word in _TYPES))
    family = "smfmac" if {"sparse", "smfmac"} & set(words) else "mfma"
    shaped = _of_shape(tuple(int(size) for size in shape.groups()), family, arch)
    fits = [name for name in shaped if not kinds or _type_of(name) in kinds]
    if len(fits) == 1:
        return fits[0], element
    listed = ", ".join(fits or shaped) or "kb search 'mfma shapes' lists them"
    raise UsageError(
        f"{'several' if fits else 'no'} {family} instructions have shape {shape[0]} and "
        f"{', '.join(kinds) if kinds else 'no data type is named'}",
        where="mnemonic",
        hint=f"name one: {listed}",
    )


def _of_shape(shape: tuple[int, ...], family: str, arch: str | None) -> list[str]:
    """Return the instructions of a shape, those of `arch` if it has any; of two spellings of one, the newer."""
    table = instructions()
    names = []
    for name in table.names:
        match = _MATRIX.match(name)
        if match and match["family"] == family and (int(match["m"]), int(match["n"]), int(match["k"])) == shape:
            names.append(name)
    there = [name for name in names if arch and (known := table.get(name)) and arch in known.targets]
    found: dict[str, str] = {}
    for name in there or names:
        key = name.removesuffix("_1k").replace("_", "")
        newer = not name.endswith("_1k") and f"_{_type_of(name)}" in name
        found[key] = name if newer else found.get(key, name)
    return list(found.values())


def _type_of(name: str) -> str:
    match = _MATRIX.match(name)
    return match["type"] if match else ""
