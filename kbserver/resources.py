"""MCP resources: the map, documents, lessons and build assembly, all through the same `read` operation as the tool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError

from kbserver.core.errors import KbError, UnresolvedRef, UsageError

# A resource is read whole by clients that cannot page; documents are kept well below this.
RESOURCE_TOKENS = 20_000


def add_resources(server: Any) -> None:
    """Register the map and the templates `kb://doc/...`, `kb://lesson/ID`, `kb://run/ID` and `kb://build/ID/asm`."""

    @server.resource("kb://map", name="map", title="Knowledge map", mime_type="text/plain")
    def knowledge_map_page() -> str:
        """The one-page map: start here and read down."""
        from kbserver.ops import knowledge_map
        from kbserver.render import render, render_plain

        return _guarded(lambda: render_plain(render(knowledge_map())))

    @server.resource("kb://doc/{+ref}", name="document", title="Document or section", mime_type="text/markdown")
    def document(ref: str) -> str:
        """A document of the knowledge base, or one section of it (`...lds.md#anchor`)."""
        return _read(ref)

    @server.resource("kb://lesson/{lesson_id}", name="lesson", title="Lesson", mime_type="text/markdown")
    def lesson(lesson_id: str) -> str:
        """A recorded lesson with its status and evidence."""
        return _read(f"lesson:{lesson_id}")

    @server.resource("kb://run/{run_id}", name="run", title="Recorded run", mime_type="text/plain")
    def run(run_id: str) -> str:
        """A recorded verification or profile: verdict or counts, and what they rest on."""
        return _read(f"run:{run_id}")

    @server.resource("kb://build/{build_id}/asm", name="assembly", title="Build assembly", mime_type="text/plain")
    def assembly(build_id: str) -> str:
        """The assembly text of a build."""
        return _guarded(lambda: _assembly_text(build_id))


def _read(ref: str) -> str:
    from kbserver.ops import read

    return _guarded(lambda: read(ref, max_tokens=RESOURCE_TOKENS).text)


def _assembly_text(build_id: str) -> str:
    from kbserver.toolchain.build import load_build

    return load_build(build_id).assembly_text


def _guarded(produce: Callable[[], str]) -> str:
    """Translate errors to the protocol's; an address is never echoed beyond what the error itself says."""
    try:
        return produce()
    except (UnresolvedRef, UsageError) as error:
        raise ResourceNotFoundError(error.one_line()) from None
    except KbError as error:
        raise ResourceError(error.one_line()) from None
