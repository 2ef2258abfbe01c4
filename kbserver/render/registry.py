"""Which renderer serves which result type: dispatch on the exact type, so that none is rendered by accident."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from kbserver.core.model import Result
from kbserver.render.document import Document

_RENDERERS: dict[type[Result], Callable[[Any], Document]] = {}


def renders(result_type: type[Result]) -> Callable[[Callable[[Any], Document]], Callable[[Any], Document]]:
    """Register a function as the renderer of one result type."""

    def register(function: Callable[[Any], Document]) -> Callable[[Any], Document]:
        _RENDERERS[result_type] = function
        return function

    return register


def render(result: Result, area: str | None = None) -> Document:
    """Return the text form of a result; `area` names the module of its renderer and spares importing the others.

    Raises LookupError when the type has no renderer (a test forbids that).
    """
    importlib.import_module(f"kbserver.render.{area or 'all'}")
    return _RENDERERS[type(result)](result)
