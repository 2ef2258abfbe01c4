"""Base classes of the typed results: one frozen pydantic object serves text, `--json` and MCP."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A frozen value inside a result; unknown keys are refused, so a misspelt key fails at once."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Result(Record):
    """What an operation returns. Keys may be added later, never renamed."""

    def to_json(self) -> dict[str, Any]:
        """Return the result as JSON-ready data, the same object that MCP calls structured content."""
        return self.model_dump(mode="json")


class SourceRef(Record):
    """One citation: the document, where in it, and an address that can be opened."""

    id: str
    title: str
    locator: str | None = None
    url: str | None = None
    kind: str | None = None
    """vendor | compiler | measured | secondary | derived: the evidence class of the document."""
