"""Strict YAML: duplicate keys are errors, scalars keep the type that a reader sees, faults name file and line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import yaml

from kbserver.core.errors import ContentError

MAX_YAML_BYTES = 8 * 1024 * 1024
_BASE = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


class _StrictLoader(_BASE):  # type: ignore[misc, valid-type]
    """SafeLoader with the YAML 1.2 core scalars: `NO`, `2024-01-02`, `010` and `12:30:45` stay strings."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if not isinstance(key, str | int | float | bool) and key is not None:
                raise yaml.constructor.ConstructorError(None, None, "a key must be a scalar", key_node.start_mark)
            if key in seen:
                raise yaml.constructor.ConstructorError(None, None, f"duplicate key {key!r}", key_node.start_mark)
            seen.add(key)
        return super().construct_mapping(node, deep=deep)


_StrictLoader.yaml_implicit_resolvers = {}
for _tag, _pattern, _first in (
    ("tag:yaml.org,2002:bool", r"^(?:true|True|TRUE|false|False|FALSE)$", "tTfF"),
    ("tag:yaml.org,2002:null", r"^(?:~|null|Null|NULL|)$", "~nN\0"),
    ("tag:yaml.org,2002:int", r"^(?:0|[-+]?[1-9][0-9]*|0x[0-9a-fA-F]+)$", "-+0123456789"),
    (
        "tag:yaml.org,2002:float",
        r"^(?:[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?|[-+]?[0-9]+[eE][-+]?[0-9]+)$",
        "-+.0123456789",
    ),
):
    for _ch in _first:
        key = "" if _ch == "\0" else _ch
        _StrictLoader.yaml_implicit_resolvers.setdefault(key, []).append((_tag, re.compile(_pattern)))


def _refuse_aliases(text: str, where: str) -> None:
    """Nested aliases multiply without growing the file ("billion laughs"); our content needs none."""
    if not re.search(r"(?m)(?:^|[\s\[{,])\*[^\s*]", text):
        return
    for event in yaml.parse(text, Loader=_BASE):
        if isinstance(event, yaml.AliasEvent):
            raise ContentError("YAML aliases are not used here", where=f"{where}:{event.start_mark.line + 1}")


def parse_yaml(text: str, where: str) -> Any:
    """Parse one YAML document. Raises ContentError with file and line."""
    if len(text.encode("utf-8", "surrogatepass")) > MAX_YAML_BYTES:
        raise ContentError(f"YAML is larger than {MAX_YAML_BYTES} bytes", where=where)
    try:
        _refuse_aliases(text, where)
        return yaml.load(text.removeprefix("\ufeff"), Loader=_StrictLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f"{where}:{mark.line + 1}" if mark else where
        raise ContentError(f"not valid YAML: {error.problem or error.context}", where=line) from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ContentError(f"not valid YAML: {str(error).splitlines()[0]}", where=where) from None


def load_yaml(path: Path) -> Any:
    """Read and parse a YAML file. Raises ContentError with file and line."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise ContentError(f"cannot read: {error.strerror}", where=str(path)) from None
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ContentError(f"not UTF-8 at byte {error.start}", where=str(path)) from None
    return parse_yaml(text, str(path))
