"""What an instruction computes: the hand-written entries of `semantics.yaml`, patterns expanded to mnemonics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import Any

from kbserver.core.errors import ContentError, KbError
from kbserver.core.model import SourceRef
from kbserver.core.paths import current_roots
from kbserver.core.sources import cite
from kbserver.core.yamlio import load_yaml
from kbserver.isa.table import FOLDER, instructions

SEMANTICS = "semantics.yaml"
_PLACE = re.compile(r"\{(\w+)\}")
_SMALL = ("src", "f16", "f32", "f64", "bf16", "log2", "op_sel")
"""What keeps its small letter at the beginning of a text."""
_KEYS = {"bases", "encodings", "words", "sections"}

Words = Mapping[str, Mapping[str, str]]


@dataclass(frozen=True)
class Basis:
    """What a section of entries rests on."""

    name: str
    says: str
    sources: tuple[SourceRef, ...]


@dataclass(frozen=True)
class Meaning:
    """What one mnemonic computes, and how that is known."""

    text: str
    basis: Basis


@dataclass(frozen=True)
class Semantics:
    """All meanings by mnemonic; `encodings`: what an encoding suffix adds."""

    meanings: Mapping[str, Meaning]
    encodings: Mapping[str, str]


def meaning_of(name: str) -> Meaning | None:
    """Return what a canonical mnemonic computes, None when that is unknown here. Raises ContentError as `semantics`."""
    return semantics().meanings.get(name)


def semantics() -> Semantics:
    """Return all entries of the content root in force. Raises ContentError naming the file and the entry at fault."""
    return load_semantics(current_roots().content / FOLDER / SEMANTICS)


@lru_cache(maxsize=4)
def load_semantics(path: Path) -> Semantics:
    """Read one file; the instructions are those of the content root in force. Raises ContentError."""
    data = load_yaml(path)
    try:
        if data.keys() != _KEYS:
            raise ContentError(f"the keys are not {', '.join(sorted(_KEYS))}", where=str(path))
        words = {word: _phrases(word, keys, path) for word, keys in data["words"].items()}
        bases = {name: _basis(name, entry, path) for name, entry in data["bases"].items()}
        encodings = {suffix: _text(text, suffix, path) for suffix, text in data["encodings"].items()}
        return Semantics(_meanings(data["sections"], bases, words, path), encodings)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ContentError(f"malformed: {error!r}", where=str(path)) from None


def _basis(name: str, entry: Mapping[str, Any], path: Path) -> Basis:
    try:
        sources = tuple(cite(one["id"], one.get("locator"), where=str(path)) for one in entry["sources"])
    except KbError as error:
        raise ContentError(error.message, where=str(path), hint=error.hint) from None
    return Basis(name, _text(entry["says"], name, path), sources)


def _phrases(word: str, keys: Mapping[str, Any], path: Path) -> dict[str, str]:
    return {key: _text(phrase, f"{word}.{key}", path) for key, phrase in keys.items()}


def _text(text: Any, of: str, path: Path) -> str:
    if not isinstance(text, str) or not text.strip():
        raise ContentError(f"{of}: not a text", where=str(path))
    return text


def _meanings(
    sections: Sequence[Mapping[str, Any]], bases: Mapping[str, Basis], words: Words, path: Path
) -> dict[str, Meaning]:
    meanings: dict[str, Meaning] = {}
    used: set[tuple[str, str]] = set()
    for section in sections:
        if section.keys() != {"basis", "entries"} or section["basis"] not in bases:
            raise ContentError(f"a section needs `entries` and a known `basis`: {list(section)}", where=str(path))
        for pattern, text in section["entries"].items():
            _text(text, pattern, path)
            found = _expanded(pattern, text, words, path)
            if not found:
                raise ContentError(f"{pattern}: no such instruction", where=str(path))
            for name, chosen in found.items():
                if name in meanings:
                    raise ContentError(f"{pattern}: {name} is described twice", where=str(path))
                phrases = {place: words[place][key] for place, key in chosen.items()}
                meanings[name] = Meaning(_filled(text, phrases), bases[section["basis"]])
                used.update(chosen.items())
    idle = [f"basis {name}" for name in bases if all(one.basis.name != name for one in meanings.values())]
    idle += [f"{word}.{key}" for word, keys in words.items() for key in keys if (word, key) not in used]
    if idle:
        raise ContentError(f"nothing uses: {', '.join(idle)}", where=str(path))
    return meanings


def _expanded(pattern: str, text: str, words: Words, path: Path) -> dict[str, dict[str, str]]:
    """Return each existing mnemonic that the pattern stands for, with the key chosen for every word."""
    places = _PLACE.findall(pattern)
    unknown = ({*places} - words.keys()) | ({*_PLACE.findall(text)} - {*places})
    if unknown:
        raise ContentError(f"{pattern}: unknown words: {', '.join(sorted(unknown))}", where=str(path))
    exists = instructions()
    found: dict[str, dict[str, str]] = {}
    for keys in product(*(words[place] for place in places)):
        chosen = dict(zip(places, keys, strict=True))
        name = pattern.format_map(chosen)
        if name in exists:
            if name in found:
                raise ContentError(f"{pattern}: {name} is reached in two ways", where=str(path))
            found[name] = chosen
    return found


def _filled(text: str, phrases: Mapping[str, str]) -> str:
    """Return the text with its phrases, beginning with a capital unless it begins with the name of a thing."""
    told = _PLACE.sub(lambda found: phrases[found[1]], text).strip()
    return told if told.startswith(_SMALL) else told[:1].upper() + told[1:]
